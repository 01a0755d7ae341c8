import { Agent, request } from "node:http";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { endProcesses, pause, provisionFile, type ServiceProcess, startProcess } from "../support/processes.ts";

const OWNER = { email: "owner@example.test", password: "correct horse battery" };
const OWNERS_ADDRESS = "198.51.100.7";
const ATTACKERS_ADDRESS = "203.0.113.9";
const IN_FLIGHT = 300;

interface Answer {
  readonly status: number;
  readonly retryAfter: string | undefined;
}

/** A server in its own process that trusts X-Forwarded-For, so that requests can come from any address. */
let server: ServiceProcess;
let database: Awaited<ReturnType<typeof createTestDatabase>>;
const agent = new Agent({ keepAlive: true, maxSockets: 2 * IN_FLIGHT });

beforeEach(async () => {
  database = await createTestDatabase();
  server = await startProcess({
    TRUST_PROXY: "true",
    PROVISION_FILE: provisionFile({ users: [{ ...OWNER, emailVerified: true }], clients: [] }),
    ...(database && { DATABASE_URL: database.url }),
  });
});
afterEach(async () => {
  await endProcesses();
  await database?.drop();
});
afterAll(() => agent.destroy());

function post(path: string, body: object, address: string, cookie?: string): Promise<Answer> {
  const headers = { "content-type": "application/json", "x-forwarded-for": address, ...(cookie !== undefined && { cookie }) };
  return new Promise((resolve, reject) => {
    const sent = request(`${server.url}${path}`, { method: "POST", agent, headers }, (response) => {
      response.resume();
      response.once("end", () => resolve({ status: response.statusCode ?? 0, retryAfter: response.headers["retry-after"] }));
    });
    sent.once("error", reject);
    sent.end(JSON.stringify(body));
  });
}

const signIn = (email: string, password: string, address: string) => post("/auth/login", { email, password }, address);
const asOwner = (password = OWNER.password) => signIn(OWNER.email, password, OWNERS_ADDRESS);

/** Keeps `inFlight` requests in flight until it is stopped: each response starts the next request. */
function flood(send: (n: number) => Promise<Answer>, inFlight = IN_FLIGHT) {
  const answers: Answer[] = [];
  let [sent, stopped] = [0, false];
  const one = async (): Promise<void> => {
    while (!stopped) answers.push(await send(sent++));
  };
  const all = Promise.all(Array.from({ length: inFlight }, one));
  return {
    /** The passwords that were judged so far. Refusals for want of room or budget cost none. */
    judged: () => answers.filter(({ status }) => status === 401 || status === 201).length,
    async stop(): Promise<readonly Answer[]> {
      stopped = true;
      await all;
      return answers;
    },
  };
}

/** Expects one of the statuses `verdicts`, or 429 or 503 with Retry-After. */
function expectVerdictsOrRetries(answers: readonly Answer[], verdicts: readonly number[]): void {
  const retries = answers.filter(({ status }) => status === 429 || status === 503);
  expect(answers.map(({ status }) => status).filter((status) => ![...verdicts, 429, 503].includes(status))).toEqual([]);
  expect(retries.every(({ retryAfter }) => Number(retryAfter) >= 1)).toBe(true);
}

/** The cookie of a browser in which the owner has signed in. */
async function knownBrowser(): Promise<string> {
  const browser = aBrowser(server.url, { accept: "text/html", "x-forwarded-for": OWNERS_ADDRESS });
  await browser.submit(await browser.follow("/login"), OWNER);
  return `countersign-device=${browser.cookies.get("countersign-device")}`;
}

/**
 * Signs the owner in 20 times. On a machine with other work a password may wait too long: then the owner tries again as Retry-After says,
 * and what is judged until then counts, so that a server that prefers the others is noticed at any speed.
 * @returns the statuses other than 200 and 503, and the most passwords of others that were judged during one of the 20
 */
async function signOwnerIn(judged: () => number, owner: () => Promise<Answer> = asOwner) {
  const refused: number[] = [];
  let most = 0;
  for (let n = 0; n < 20; n++) {
    const before = judged();
    let answer = await owner();
    for (; answer.status === 503; answer = await owner()) await pause(Number(answer.retryAfter) * 1_000);
    most = Math.max(most, judged() - before);
    if (answer.status !== 200) refused.push(answer.status);
  }
  return { refused, most };
}

async function expectFullBudget(): Promise<void> {
  for (let n = 0; n < 9; n++) expect((await asOwner("wrong")).status).toBe(401);
  expect((await asOwner()).status).toBe(200);
}

describe("many requests in flight from one address", () => {
  test.for([
    ["300 wrong passwords for the owner's account", IN_FLIGHT, () => signIn(OWNER.email, "wrong", ATTACKERS_ADDRESS)],
    [
      "300 wrong passwords, each for another account",
      IN_FLIGHT,
      (n: number) => signIn(`user${n}@example.test`, "wrong", ATTACKERS_ADDRESS),
    ],
    [
      "64 sign-ups",
      64,
      (n: number) => post("/auth/register", { email: `new${n}@example.test`, password: "correct horse battery" }, ATTACKERS_ADDRESS),
    ],
  ] as const)(
    "%s: the owner signs in 20 times from another address, each before 40 more passwords are judged, and keeps the full budget of failed sign-ins",
    { timeout: 120_000 },
    async ([, inFlight, send]) => {
      const attack = flood(send, inFlight);
      await pause(500); // until the flood is there
      const { refused, most } = await signOwnerIn(attack.judged);
      const answers = await attack.stop();
      expect(refused).toEqual([]);
      expect(most).toBeLessThan(40);
      expectVerdictsOrRetries(answers, [401, 201]);
      await expectFullBudget();
      expect(server.said()).not.toContain('"event":"fault"');
    },
  );

  test("300 wrong passwords for the owner's account: the owner signs in 20 times from the same address in a known browser", async () => {
    const cookie = await knownBrowser();
    const attack = flood(() => signIn(OWNER.email, "wrong", ATTACKERS_ADDRESS));
    await pause(500);
    const { refused, most } = await signOwnerIn(attack.judged, () => post("/auth/login", OWNER, ATTACKERS_ADDRESS, cookie));
    expectVerdictsOrRetries(await attack.stop(), [401]);
    expect(refused).toEqual([]);
    expect(most).toBeLessThan(40);
  }, 120_000);

  test("300 wrong passwords in flight from many addresses: the owner signs in after waiting as Retry-After says", async () => {
    const attack = flood((n) => signIn(`user${n % 50}@example.test`, "wrong", `10.1.${n % 2}.${n % 250}`));
    await pause(300);
    let tries = 0;
    for (let answer = await asOwner(); answer.status !== 200 && tries < 10; answer = await asOwner(), tries++) {
      expect([answer.status, answer.retryAfter]).toEqual([503, "1"]);
      await pause(1_000);
    }
    expectVerdictsOrRetries(await attack.stop(), [401]);
    await expectFullBudget();
  }, 120_000);
});

describe("1,000 accounts tried from one address", () => {
  test("at most 100 passwords are verified, the other attempts return 429 or 503, and another address signs in", async () => {
    const all: Answer[] = [];
    const judged = () => all.filter(({ status }) => status === 401).length;
    // 20 rounds, and more on a machine that had no time for 100 passwords within them.
    for (let round = 0; round < 20 || judged() < 100; round++) {
      const guesses = Array.from({ length: 50 }, (_, n) => signIn(`user${round}-${n}@example.test`, "Password1", ATTACKERS_ADDRESS));
      all.push(...(await Promise.all(guesses)));
    }
    expectVerdictsOrRetries(all, [401]);
    expect(judged()).toBe(100);
    expect((await signIn(OWNER.email, OWNER.password, ATTACKERS_ADDRESS)).status).toBe(429);
    expect((await asOwner()).status).toBe(200);
  }, 120_000);

  test("addresses of one IPv6 /64 share one budget", async () => {
    const all: Answer[] = [];
    for (let n = 0; n < 110; n++) all.push(await signIn(`user${n}@example.test`, "Password1", `2001:db8:1:2::${n + 1}`));
    expect(all.filter(({ status }) => status === 401)).toHaveLength(100);
    expect((await signIn(OWNER.email, OWNER.password, "2001:db8:1:3::1")).status).toBe(200);
  }, 120_000);
});
