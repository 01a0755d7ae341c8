import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { Client, credentials, status as grpcStatus, Metadata } from "@grpc/grpc-js";
import pg from "pg";
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { type Browser, formsOf, type Visit } from "../support/browser.ts";
import { basicAuth, PASSWORD, serverDriver, type TestClient } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { createTestDatabase } from "../support/postgres.ts";
import { aDirectory, endProcesses, provisionFile, type ServiceProcess, startProcess, until } from "../support/processes.ts";
import { freshRedis } from "../support/redis.ts";
import { type Wire, wireTo } from "../support/wire.ts";

const WEB: TestClient = { clientId: "web", secret: "web-secret", redirectUri: "https://app.example.test/cb" };
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
const { TEST_DATABASE_URL, TEST_REDIS_URL } = process.env;
const SHAPES = ["one process", "front and core"] as const;

/** A wire to the server of a URL, and the URL that goes through the wire. */
async function wired(url: string): Promise<readonly [Wire, string]> {
  const { hostname, port, protocol } = new URL(url);
  const wire = await wireTo(hostname, Number(port || (protocol === "redis:" ? 6379 : 5432)));
  const by = new URL(url);
  [by.hostname, by.port] = ["127.0.0.1", String(wire.port)];
  return [wire, by.href];
}

/** The service in its own processes, with every dependency behind a wire. */
async function startWired(shape: (typeof SHAPES)[number]) {
  const [database, redisUrl] = [await createTestDatabase(), await freshRedis()];
  if (database === undefined || redisUrl === undefined) throw new Error("TEST_DATABASE_URL and TEST_REDIS_URL are not both set");
  const [postgres, databaseUrl] = await wired(database.url);
  const [redis, byRedis] = await wired(redisUrl);
  const dataDir = aDirectory();
  const shared = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: byRedis,
    DATA_DIR: dataDir,
    TOKEN_CORE_SECRET: "the secret of the fronts of this test",
    TRUST_PROXY: "true",
    LOG_LEVEL: "info",
  };
  const first = { ...shared, PROVISION_FILE: provisionFile() };
  const wires = [postgres, redis];
  let front: ServiceProcess;
  let core: Wire | undefined;
  if (shape === "one process") front = await startProcess(first);
  else {
    const port = String(await freePort());
    const behind = await startProcess({ ...first, JWT_ISSUER: `http://localhost:${port}` }, "core");
    core = await wireTo("127.0.0.1", Number(behind.grpc.split(":")[1]));
    wires.push(core);
    front = await startProcess({ ...shared, PORT: port, TOKEN_CORE_URL: `http://127.0.0.1:${core.port}` }, "front");
    front = { ...front, grpc: behind.grpc };
  }
  return {
    ...serverDriver(front.url, join(dataDir, "outbox")),
    front,
    postgres,
    redis,
    core,
    /** Lets the database take writes, or none, on new connections, and ends the others. */
    async writable(isWritable: boolean) {
      const client = new pg.Client({ connectionString: database.url });
      await client.connect();
      await client.query("begin read write");
      await client.query(`alter database ${new URL(database.url).pathname.slice(1)} set default_transaction_read_only = ${!isWritable}`);
      await client.query("commit");
      const others = "datname = current_database() and pid <> pg_backend_pid()";
      await client.query(`select pg_terminate_backend(pid) from pg_stat_activity where ${others}`);
      await client.end();
    },
    async close() {
      await endProcesses();
      for (const wire of wires) await wire.close();
      await database.drop();
    },
  };
}
type Service = Awaited<ReturnType<typeof startWired>>;

/** Codes, tokens, sessions and forms that an outage must not consume. */
async function issuedBefore(service: Service) {
  const { browser, login, email } = await service.signedInUser();
  const tokens = await service.tokens(WEB, browser, { scope: "openid email" });
  const code = await service.code(WEB, browser, { scope: "openid email" });
  const consent = await browser.follow(service.authorizeUrl(WEB, { code_challenge: CHALLENGE, scope: "openid email notes:read" }));
  expect(consent.html).toContain('name="decision"');
  // One address for the link and one for a resent mail, which would replace the link.
  const [fresh, waiting] = [`new-${email}`, `waiting-${email}`];
  for (const address of [fresh, waiting]) await browser.json("/auth/register", { email: address, password: PASSWORD });
  const signIn = await service.signedInUser().then(async ({ browser: other, email: address }) => {
    other.cookies.delete("countersign");
    return { browser: other, email: address, page: await other.follow("/login") };
  });
  return { browser, login, email, tokens, code, consent, waiting, verification: await service.verificationToken(fresh), signIn };
}
type IssuedBefore = Awaited<ReturnType<typeof issuedBefore>>;

/** Submits the form of a page without following redirects. */
function send(browser: Browser, page: Visit, entries: Record<string, string>): Promise<Response> {
  const form = formsOf(page.html, page.url).find(({ fields }) => "form_token" in fields);
  const body = new URLSearchParams({ ...form?.fields, ...entries });
  return browser.request(form?.action ?? "", { method: "POST", body, headers: { origin: new URL(page.url).origin } });
}

/** Sends one request to every endpoint, all concurrently. */
async function requestAll(service: Service, have: IssuedBefore): Promise<Record<string, Response>> {
  const { browser, tokens, login } = have;
  const post = (path: string, fields: Record<string, string>) =>
    fetch(service.url + path, {
      method: "POST",
      body: new URLSearchParams(fields),
      headers: { authorization: basicAuth("web", "web-secret") },
    });
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
  // A new address for each outage, because limits count by address.
  const address = `2001:db8:0:${Math.floor(Math.random() * 65_536).toString(16)}::1`;
  const json = (path: string, body: object) =>
    fetch(service.url + path, {
      method: "POST",
      body: JSON.stringify(body),
      headers: { "content-type": "application/json", "x-forwarded-for": address },
    });
  const fields = Object.fromEntries(Object.entries(have.code).map(([name, value]) => [name, String(value)]));
  const worker = { grant_type: "client_credentials", scope: "notes:read", client_id: "poster", client_secret: "poster-secret" };
  const query = service.authorizeUrl(WEB, { code_challenge: CHALLENGE, scope: "openid email" });
  const calls: Record<string, () => Promise<Response>> = {
    greeting: () => fetch(`${service.url}/`),
    docs: () => fetch(`${service.url}/docs`),
    metrics: () => fetch(`${service.url}/metrics`),
    metadata: () => fetch(`${service.url}/.well-known/oauth-authorization-server`),
    jwks: () => fetch(`${service.url}/.well-known/jwks.json`),
    live: () => fetch(`${service.url}/health/live`),
    authorize: () => browser.request(query),
    consent: () => send(browser, have.consent, { decision: "approve" }),
    "token by code": () => post("/oauth/token", fields),
    "token by refresh": () => post("/oauth/token", { grant_type: "refresh_token", refresh_token: tokens.refresh_token }),
    "token by credentials": () => fetch(`${service.url}/oauth/token`, { method: "POST", body: new URLSearchParams(worker) }),
    introspect: () => post("/oauth/introspect", { token: tokens.access_token }),
    revoke: () => post("/oauth/revoke", { token: tokens.refresh_token }),
    userinfo: () => fetch(`${service.url}/oauth/userinfo`, { headers: bearer(tokens.access_token) }),
    logout: () => fetch(`${service.url}/auth/logout`, { method: "POST", headers: bearer(login.access_token) }),
    register: () => json("/oauth/register", { redirect_uris: ["https://a.example.test/cb"] }),
    login: () => json("/auth/login", { email: have.signIn.email, password: PASSWORD }),
    "login page": () => send(have.signIn.browser, have.signIn.page, { email: have.signIn.email, password: PASSWORD }),
    account: () => browser.request("/account"),
    consents: () => browser.request("/consents/"),
    "sign-up": () => json("/auth/register", { email: `late-${Math.random()}@example.test`, password: PASSWORD }),
    resend: () => json("/auth/resend-verification", { email: have.waiting }),
    "resend to an unknown address": () => json("/auth/resend-verification", { email: `unknown-${have.email}` }),
    verify: () => fetch(`${service.url}/auth/verify?token=${have.verification}`),
  };
  return Object.fromEntries(await Promise.all(Object.entries(calls).map(async ([name, call]) => [name, await call()] as const)));
}

const statuses = (answers: Record<string, Response>) =>
  Object.fromEntries(Object.entries(answers).map(([name, { status }]) => [name, status]));
const open = ["greeting", "docs", "metrics", "metadata", "jwks", "live"];
const all = (names: readonly string[], status: number) => Object.fromEntries(names.map((name) => [name, status]));
const coreEndpoints = [
  "authorize",
  "consent",
  "token by code",
  "token by refresh",
  "token by credentials",
  "introspect",
  "revoke",
  "userinfo",
  "logout",
];
const users = ["account", "consents", "sign-up", "resend", "resend to an unknown address", "verify", "login page"];

/** Expects Retry-After, no Location and no Set-Cookie in every 503. */
function assertPlain503(answers: Record<string, Response>): void {
  for (const [name, answer] of Object.entries(answers)) {
    if (answer.status !== 503) continue;
    expect([name, answer.headers.get("retry-after") !== null, answer.headers.get("location")]).toEqual([name, true, null]);
    expect([name, answer.headers.getSetCookie()]).toEqual([name, []]);
  }
}

/** Expects that everything issued before the outage still works. */
async function assertNothingUsedUp(service: Service, have: IssuedBefore): Promise<void> {
  const { browser, tokens } = have;
  expect((await service.introspect(WEB, tokens.access_token)).body.active).toBe(true);
  expect((await service.userinfo(tokens.access_token)).status).toBe(200);
  expect((await service.token(WEB, have.code)).status).toBe(200);
  expect((await service.refresh(WEB, tokens.refresh_token)).status).toBe(200);
  const approved = await send(browser, have.consent, { decision: "approve" });
  expect([approved.status, approved.headers.get("location")]).toEqual([303, expect.stringContaining("code=")]);
  expect((await service.get(`/auth/verify?token=${have.verification}`)).status).toBe(200);
  expect((await browser.request("/account")).status).toBe(200);
}

const health = async (service: Service) => (await service.get("/health")).body;
const healthy = (service: Service) => until("healthy", async () => (await health(service)).status === "ok");

async function grpcIntrospection(service: Service): Promise<number> {
  const client = new Client(service.front.grpc, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("authorization", basicAuth("web", "web-secret"));
  const raw = (bytes: Buffer) => bytes;
  const path = "/countersign.introspection.v1.IntrospectionService/Introspect";
  try {
    return await new Promise((resolve) => {
      client.makeUnaryRequest(path, raw, raw, Buffer.from([0x0a, 1, 0x78]), metadata, {}, (error) => resolve(error?.code ?? grpcStatus.OK));
    });
  } finally {
    client.close();
  }
}

/** What the front's process has logged about its database and its work in the background. */
const eventsOf = ({ front }: Service): readonly string[] =>
  Array.from(front.said().matchAll(/"event":"(database_away|database_back|background_work_failed)"/g), ([, event = ""]) => event);

const OUTAGES = ["cut", "hold"] as const;

function outages(shape: (typeof SHAPES)[number]): void {
  let service: Service;
  beforeAll(async () => {
    service = await startWired(shape);
  });
  afterAll(() => service.close());
  afterEach(async () => {
    for (const wire of [service.postgres, service.redis, service.core]) await wire?.mend();
  });

  test.for(OUTAGES)(
    "PostgreSQL down (%s): endpoints that need it return 503 with Retry-After, nothing is consumed, and the service recovers by itself",
    async (how) => {
      const have = await issuedBefore(service);
      await service.postgres[how]();
      const answers = await requestAll(service, have);
      expect(statuses(answers)).toEqual({ ...all(open, 200), ...all([...coreEndpoints, ...users, "register", "login"], 503) });
      assertPlain503(answers);
      expect(await answers.introspect?.json()).toEqual({ error: "temporarily_unavailable" });
      expect(answers.account?.headers.get("content-type")).toContain("text/html");
      expect(await answers.login?.json()).toMatchObject({ statusCode: 503, error: "Service Unavailable" });
      expect(await grpcIntrospection(service)).toBe(grpcStatus.UNAVAILABLE);
      await until("reported by health", async () => (await health(service)).services.database === "disconnected");
      expect((await service.get("/health")).status).toBe(503);
      await until("logged", async () => eventsOf(service).at(-1) === "database_away");
      await setTimeout(3_000); // work of every second fails more than once
      expect(eventsOf(service).at(-1)).toBe("database_away");
      await service.postgres.mend();
      await healthy(service);
      await until("logged", async () => eventsOf(service).at(-1) === "database_back");
      await assertNothingUsedUp(service, have);
    },
  );

  test("PostgreSQL takes no writes: reported by health, and logged once", async () => {
    await service.writable(false);
    await until("logged", async () => eventsOf(service).at(-1) === "database_away");
    expect((await service.get("/health")).status).toBe(503);
    await setTimeout(3_000); // work of every second fails more than once
    expect(eventsOf(service).at(-1)).toBe("database_away");
    await service.writable(true);
    await healthy(service);
    await until("logged", async () => eventsOf(service).at(-1) === "database_back");
  });

  test.for(OUTAGES)("Redis down (%s): every endpoint works, and health reports degraded", async (how) => {
    await service.redis[how]();
    const have = await issuedBefore(service);
    await until("reported by health", async () => (await health(service)).status === "degraded");
    expect((await service.get("/health")).status).toBe(200);
    await assertNothingUsedUp(service, have);
    const answers = await requestAll(service, await issuedBefore(service));
    const works = [
      "register",
      "login",
      "sign-up",
      "resend",
      "resend to an unknown address",
      "token by credentials",
      "introspect",
      "revoke",
    ];
    for (const name of [...open, ...works])
      expect([name, answers[name]?.status]).toEqual([name, name === "register" || name === "sign-up" ? 201 : 200]);
    await service.redis.mend();
    await healthy(service);
  });

  if (shape === "front and core") {
    test.for(OUTAGES)("core down (%s): endpoints that need the core return 503, the others work", async (how) => {
      const have = await issuedBefore(service);
      await service.core?.[how]();
      const answers = await requestAll(service, have);
      const works = {
        account: 200,
        consents: 200,
        register: 201,
        "sign-up": 201,
        resend: 200,
        "resend to an unknown address": 200,
        "login page": 303,
        verify: 200,
      };
      expect(statuses(answers)).toEqual({ ...all(open, 200), ...all([...coreEndpoints, "login"], 503), ...works });
      assertPlain503(answers);
      await until("reported by health", async () => (await health(service)).services.core === "disconnected");
      expect(await health(service)).toMatchObject({ status: "error", services: { database: "connected" } });
      await service.core?.mend();
      await healthy(service);
      expect((await service.token(WEB, have.code)).status).toBe(200);
      expect((await service.refresh(WEB, have.tokens.refresh_token)).status).toBe(200);
    });
  }
}

if (TEST_DATABASE_URL !== undefined && TEST_REDIS_URL !== undefined) {
  for (const shape of SHAPES) describe(`outage of a dependency: ${shape}`, () => outages(shape));
}

describe("start without a dependency", () => {
  if (TEST_DATABASE_URL !== undefined)
    test("a process does not start on a database that takes no writes, and says so", async () => {
      const database = await createTestDatabase();
      const url = `${database?.url}?options=${encodeURIComponent("-c default_transaction_read_only=on")}`;
      onTestFinished(async () => database?.drop());
      const provisioned = { DATABASE_URL: url, PROVISION_FILE: provisionFile() };
      await expect(startProcess(provisioned)).rejects.toThrow(/^DATABASE_URL: the database takes no writes; [^\n]+$/m);
    });

  test("a process does not start while PostgreSQL refuses connections, and names the database without its password", async () => {
    const wire = await wireTo("127.0.0.1", 9);
    await wire.cut();
    const url = `postgresql://someone:hunter22secret@127.0.0.1:${wire.port}/none`;
    const said = await startProcess({ DATABASE_URL: url }).then(
      () => "started",
      (error: Error) => error.message,
    );
    expect(said).not.toBe("started");
    expect(said).not.toContain("hunter22secret");
    expect(said).toMatch(/did not start:\n.*(database|DATABASE_URL|PostgreSQL|storage)/i);
  });
});
