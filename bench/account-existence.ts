/**
 * Whether the time of an answer tells which accounts exist: requests about accounts that exist and about addresses without one take turns in
 * random order, and the area under the ROC curve says how well their times tell them apart (0.5: not at all). And how long a user waits for
 * a sign-in while others try passwords.
 * Usage: npm run bench:accounts -- [--samples 2000] [--only sign-in] [--cheap-hashes]     On PostgreSQL with BENCH_DATABASE_URL, else embedded.
 * Cheap hashes show differences in the other work, which those of production drown.
 */
import { randomBytes, randomInt } from "node:crypto";
import { Agent, request } from "node:http";
import { performance } from "node:perf_hooks";
import { parseArgs } from "node:util";
import { passwordHashing } from "../src/accounts/password-hash.ts";
import { compose } from "../src/compose.ts";
import { loadConfig } from "../src/config.ts";
import { parseProvisionFile } from "../src/management/provision.ts";
import { openDatabase } from "../src/store/orm.ts";
import { statement } from "../src/store/sql.ts";
import { freePort } from "./processes.ts";
import { emptyStorage } from "./storage.ts";

const { values } = parseArgs({
  options: {
    samples: { type: "string", default: "2000" },
    only: { type: "string", default: "" },
    "cheap-hashes": { type: "boolean", default: false },
  },
});
/** Requests of each kind: about accounts, and about addresses without one. */
const samples = Number(values.samples) / 2;
const PASSWORD = "correct horse battery";
/** Wrong passwords in flight at a time, and sign-ins of the owner meanwhile. */
const [FLOOD, SIGN_INS] = [200, 20];
/** Requests in flight whose answers take a fixed time. */
const EVEN = 16;
/** Requests before the measurement: the first are slower. */
const WARM = 100;

const storage = await emptyStorage();
const port = await freePort();
const env = { NODE_ENV: "test", LOG_LEVEL: "error", PORT: String(port), GRPC_PORT: String(await freePort()), TRUST_PROXY: "true" };
const config = loadConfig({ ...env, ...storage.env, SIGN_UP_RATE_LIMIT: "1000000" }, "all");
const database = await openDatabase(config.databaseUrl === undefined ? { dir: config.dataDir } : { url: config.databaseUrl });
const cheap = values["cheap-hashes"] ? { memoryCost: 8, timeCost: 1, parallelism: 1 } : undefined;
const connection = { name: "acme", issuer: "https://login.acme.test", clientId: "us", domains: ["acme.test"] };
const running = await compose(config, "all", {
  database,
  ...(cheap && { passwordCost: cheap }),
  provision: parseProvisionFile(JSON.stringify({ connections: [connection] })),
});

const ACCOUNTS = statement(
  "bench_accounts",
  `with made as (
     insert into users (realm_id, email, email_key, email_verified, role)
     select realms.id, 'user' || n || '@' || $2, 'user' || n || '@' || $2, $3::boolean, 'user'
     from generate_series(1, $1::int) as n, realms where name = 'default' returning id)
   insert into credentials (user_id, type, password_hash) select id, 'password', $4 from made`,
);
const hash = await passwordHashing({ randomBytes, ...(cheap && { cost: cheap }) }).hash(PASSWORD, "bench");
for (const [domain, verified] of [
  ["known.test", true],
  ["fresh.test", false],
  ["acme.test", true],
] as const)
  await database.sql.query(ACCOUNTS, [samples + WARM, domain, verified, hash]);

const agent = new Agent({ keepAlive: true, maxSockets: FLOOD + 1 });
type Answer = { readonly status: number; readonly headers: NodeJS.Dict<string | string[]>; readonly body: string; readonly took: number };

function send(method: string, path: string, address: string, headers: Record<string, string>, body = ""): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const began = performance.now();
    const sent = request({ port, method, path, agent, headers: { "x-forwarded-for": address, ...headers } }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.once("end", () => {
        const took = performance.now() - began;
        resolve({ status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString(), took });
      });
    });
    sent.once("error", reject);
    sent.end(body);
  });
}

let addresses = 0;
/** An address that has spent no limit. */
const anAddress = (): string => `10.${(++addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}`;
const json = (path: string, body: object, address = anAddress()) =>
  send("POST", path, address, { "content-type": "application/json" }, JSON.stringify(body));

/** The sign-in page of one browser. */
const page = await send("GET", "/login", "192.0.2.1", { accept: "text/html" });
const cookie = (page.headers["set-cookie"] as readonly string[]).map((line) => line.split(";")[0]).join("; ");
const formToken = /name="form_token" value="([^"]+)"/.exec(page.body)?.[1] ?? "";
const form = (path: string, fields: Record<string, string>) => {
  const headers = { "content-type": "application/x-www-form-urlencoded", cookie, origin: config.issuer };
  return send("POST", path, anAddress(), headers, new URLSearchParams({ form_token: formToken, ...fields }).toString());
};

interface Question {
  /** Of the accounts. */
  readonly domain: string;
  readonly inFlight: number;
  readonly ask: (email: string) => Promise<Answer>;
}

const about = (domain: string, ask: Question["ask"], inFlight = 1): Question => ({ domain, inFlight, ask });

const QUESTIONS: Readonly<Record<string, Question>> = {
  "sign-in, wrong password": about("known.test", (email) => json("/auth/login", { email, password: "wrong password" })),
  "sign-in page, wrong password": about("known.test", (email) => form("/login", { email, password: "wrong password" })),
  "forgotten password": about("known.test", (email) => json("/auth/forgot-password", { email }), EVEN),
  "verification mail, verified address": about("known.test", (email) => json("/auth/resend-verification", { email }), EVEN),
  "verification mail, address not verified": about("fresh.test", (email) => json("/auth/resend-verification", { email }), EVEN),
  "choice of a provider by domain": about("acme.test", (email) => form("/login", { email, password: "" })),
  "passkey challenge": about("known.test", (email) => form("/login/passkey/options", { email })),
};

/** The chance that a time of the first list is longer than one of the second (Mann-Whitney), and its distance from even. */
function areaUnderCurve(one: readonly number[], other: readonly number[]): number {
  const all = [...one.map((time) => ({ time, mine: true })), ...other.map((time) => ({ time, mine: false }))];
  const ranks = all.toSorted((a, b) => a.time - b.time).reduce((sum, { mine }, index) => sum + (mine ? index + 1 : 0), 0);
  const area = (ranks - (one.length * (one.length + 1)) / 2) / (one.length * other.length);
  return Math.max(area, 1 - area);
}

async function compare(name: string, { domain, inFlight, ask }: Question): Promise<void> {
  const times = { exists: [] as number[], unknown: [] as number[] };
  const statuses = { exists: new Set<number>(), unknown: new Set<number>() };
  const left = { exists: samples + WARM, unknown: samples + WARM };
  let answered = 0;
  const lane = async (): Promise<void> => {
    while (left.exists + left.unknown > 0) {
      const kind = randomInt(left.exists + left.unknown) < left.exists ? "exists" : "unknown";
      const number = left[kind]--;
      const { took, status } = await ask(kind === "exists" ? `user${number}@${domain}` : `none${number}@${domain}`);
      statuses[kind].add(status);
      if (++answered > 2 * WARM) times[kind].push(took);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  const [one, other] = [[...statuses.exists].join(), [...statuses.unknown].join()];
  const status = one === other ? one : `${one} for accounts, ${other} for others`;
  process.stdout.write(`${name.padEnd(42)} AUC ${areaUnderCurve(times.exists, times.unknown).toFixed(3)}  status ${status}\n`);
}

/** Milliseconds of the owner's sign-ins while others keep trying passwords from one address. */
async function underFlood(email: string): Promise<void> {
  let stopped = false;
  const one = async (): Promise<void> => {
    while (!stopped) await json("/auth/login", { email, password: "wrong password" }, "203.0.113.9");
  };
  const flood = Promise.all(Array.from({ length: FLOOD }, one));
  const answers: Answer[] = [];
  for (let n = 0; n < SIGN_INS; n++) answers.push(await json("/auth/login", { email, password: PASSWORD }, "198.51.100.7"));
  stopped = true;
  await flood;
  const good = answers.filter(({ status }) => status === 200);
  const slowest = Math.max(...answers.map(({ took }) => took));
  process.stdout.write(
    `${FLOOD} wrong passwords in flight: ${good.length} of ${SIGN_INS} sign-ins, the slowest after ${Math.round(slowest)} ms\n`,
  );
}

for (const [name, question] of Object.entries(QUESTIONS)) if (name.startsWith(values.only)) await compare(name, question);
await underFlood(`user1@known.test`);
agent.destroy();
await running.close(0);
await database.close();
await storage.drop();
