import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { serverDriver, type TestClient } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { aDirectory, countersign, endProcesses, provisionFile, startProcess } from "../support/processes.ts";
import { freshRedis } from "../support/redis.ts";
import { PROVISIONED } from "../support/server.ts";

const { TEST_DATABASE_URL } = process.env;
const client = (clientId: string): TestClient => ({ clientId, secret: `${clientId}-secret`, redirectUri: "https://app.example.test/cb" });
const [WEB, WORKER] = [client("web"), client("worker")];

/** Two fronts, each with its own core, on one PostgreSQL (and one Redis, where there is one). */
async function startFleet(database: TestDatabase) {
  const redis = await freshRedis();
  const dataDir = aDirectory();
  const [port, otherPort] = [String(await freePort()), String(await freePort())];
  const shared = {
    DATABASE_URL: database.url,
    ...(redis !== undefined && { REDIS_URL: redis }),
    DATA_DIR: dataDir,
    JWT_ISSUER: `http://localhost:${port}`,
    TOKEN_CORE_SECRET: "the secret of the fronts of this test",
    PROVISION_FILE: provisionFile(),
  };
  // All four start at once on an empty database, to test concurrent migration, key generation and provisioning.
  const grpc = [String(await freePort()), String(await freePort())];
  const fronts = [port, otherPort].map((PORT, index) =>
    startProcess({ ...shared, PORT, TOKEN_CORE_URL: `http://127.0.0.1:${grpc[index]}` }, "front"),
  );
  const cores = grpc.map((GRPC_PORT) => startProcess({ ...shared, GRPC_PORT }, "core"));
  const [one, other] = await Promise.all(fronts);
  const processes = [one, other, ...(await Promise.all(cores))];
  const driver = (url = "") => serverDriver(url, join(dataDir, "outbox"));
  return { one: driver(one?.url), other: driver(other?.url), shared, processes };
}
type Fleet = Awaited<ReturnType<typeof startFleet>>;

function fleet(): void {
  let database: TestDatabase | undefined;
  let running: Fleet;
  beforeAll(async () => {
    database = await createTestDatabase();
    if (database === undefined) throw new Error("TEST_DATABASE_URL is not set");
    running = await startFleet(database);
  });
  afterAll(async () => {
    await endProcesses();
    await database?.drop();
  });

  test("both fronts serve the same keys and accept each other's tokens", async () => {
    const [one, other] = await Promise.all([running.one, running.other].map(({ get }) => get("/.well-known/jwks.json")));
    expect(other?.body).toEqual(one?.body);
    const { access_token } = (await running.one.token(WORKER, { grant_type: "client_credentials", scope: "notes:read" })).body;
    expect((await running.other.introspect(WORKER, access_token)).body.active).toBe(true);
  });

  test("a revocation takes effect at the other front from the first request after the response", async () => {
    const { browser } = await running.one.signedInUser();
    for (let round = 0; round < 10; round++) {
      const tokens = await running.one.tokens(WEB, browser, { scope: "openid" });
      expect((await running.other.introspect(WEB, tokens.access_token)).body.active).toBe(true);
      expect((await running.other.userinfo(tokens.access_token)).status).toBe(200);
      await running.one.revoke(WEB, round % 2 === 0 ? tokens.refresh_token : tokens.access_token);
      expect((await running.other.introspect(WEB, tokens.access_token)).body).toEqual({ active: false });
      expect((await running.other.userinfo(tokens.access_token)).status).toBe(401);
      if (round % 2 === 0) expect((await running.other.refresh(WEB, tokens.refresh_token)).body.error).toBe("invalid_grant");
    }
  });

  test("a deleted consent revokes its tokens and codes at the other front at once", async () => {
    const { browser } = await running.one.signedInUser();
    const tokens = await running.one.tokens(WEB, browser, { scope: "openid" });
    const code = await running.one.code(WEB, browser, { scope: "openid" });
    const { consents, csrfToken } = (await browser.json("/consents/", undefined, "GET")).body;
    const deleted = await browser.request(`/consents/${consents[0].id}`, { method: "DELETE", headers: { "x-csrf-token": csrfToken } });
    expect(deleted.status).toBe(204);
    expect((await running.other.introspect(WEB, tokens.access_token)).body).toEqual({ active: false });
    expect((await running.other.refresh(WEB, tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect((await running.other.token(WEB, code)).body.error).toBe("invalid_grant");
  });

  test("a sign-out ends sessions and revokes refresh families at the other front at once", async () => {
    const { browser, login } = await running.one.signedInUser();
    const tokens = await running.one.tokens(WEB, browser, { scope: "openid" });
    const cookie = `countersign=${browser.cookies.get("countersign")}`;
    expect((await running.other.get("/consents/", { cookie })).status).toBe(200);
    const out = await fetch(`${running.one.url}/auth/logout`, {
      method: "POST",
      headers: { authorization: `Bearer ${login.access_token}` },
    });
    expect(out.status).toBe(200);
    expect((await running.other.get("/consents/", { cookie })).status).toBe(401);
    expect((await running.other.refresh(WEB, tokens.refresh_token)).body.error).toBe("invalid_grant");
    const own = { clientId: "countersign", redirectUri: "" };
    expect((await running.other.refresh(own, login.refresh_token, { client_id: "countersign" })).body.error).toBe("invalid_grant");
  });

  test("both fronts refuse a disabled client and a replaced secret at once", async () => {
    const { access_token } = (await running.other.token(WORKER, { grant_type: "client_credentials", scope: "notes:read" })).body;
    const change = async (members: object) => {
      const clients = PROVISIONED.clients.map((each) => (each.clientId === "worker" ? { ...each, ...members } : each));
      const done = await countersign(["provision", provisionFile({ clients })], running.shared);
      expect([done.code, done.said]).toEqual([0, expect.stringContaining("1 changed")]);
    };
    await change({ enabled: false });
    for (const front of [running.one, running.other]) {
      const refused = await front.token(WORKER, { grant_type: "client_credentials", scope: "notes:read" });
      expect([refused.status, refused.body.error]).toEqual([401, "invalid_client"]);
    }
    await change({ enabled: true, clientSecret: "another-secret" });
    for (const front of [running.one, running.other]) {
      expect((await front.token(WORKER, { grant_type: "client_credentials", scope: "notes:read" })).status).toBe(401);
      const renewed = { ...WORKER, secret: "another-secret" };
      expect((await front.token(renewed, { grant_type: "client_credentials", scope: "notes:read" })).status).toBe(200);
      expect((await front.introspect(renewed, access_token)).status).toBe(200);
    }
  });

  test("abuse 19, 24: 64 concurrent redemptions or refreshes over both fronts: exactly one succeeds, and its tokens are revoked", async () => {
    const { browser } = await running.one.signedInUser();
    const both = Array.from({ length: 64 }, (_, index) => (index % 2 === 0 ? running.one : running.other));
    for (let round = 0; round < 4; round++) {
      const code = await running.one.code(WEB, browser, { scope: "openid" });
      const redeemed = (await Promise.all(both.map((front) => front.token(WEB, code)))).filter(({ status }) => status === 200);
      expect(redeemed).toHaveLength(1);
      expect((await running.other.introspect(WEB, redeemed[0]?.body.access_token)).body).toEqual({ active: false });
      expect((await running.one.refresh(WEB, redeemed[0]?.body.refresh_token)).status).toBe(400);

      const { refresh_token } = await running.other
        .token(WEB, await running.one.code(WEB, browser, { scope: "openid" }))
        .then(({ body }) => body);
      const refreshed = (await Promise.all(both.map((front) => front.refresh(WEB, refresh_token)))).filter(({ status }) => status === 200);
      expect(refreshed).toHaveLength(1);
      expect((await running.one.refresh(WEB, refreshed[0]?.body.refresh_token)).body.error).toBe("invalid_grant");
      expect((await running.other.introspect(WEB, refreshed[0]?.body.access_token)).body).toEqual({ active: false });
    }
  });

  test("no process logs a fault", () => {
    for (const { said } of running.processes.filter((each) => each !== undefined))
      expect(said()).not.toMatch(/"event":"(?:fault|uncaught)"/);
  });
}

if (TEST_DATABASE_URL !== undefined) describe("two fronts and two cores in separate processes", fleet);

describe("a database that is not there", () => {
  test("serve with MIGRATE_ON_START=false exits with 1 and one line that suggests countersign migrate", async () => {
    const DATA_DIR = join(aDirectory(), "data");
    const { code, said } = await countersign(["serve"], {
      DATA_DIR,
      MIGRATE_ON_START: "false",
      PORT: String(await freePort()),
      GRPC_PORT: String(await freePort()),
    });
    expect(code).toBe(1);
    expect(said).toBe(
      `DATA_DIR: there is no database under ${DATA_DIR}; \`countersign migrate\` makes one, or the start with MIGRATE_ON_START=true.\n`,
    );
    await endProcesses();
  });

  test("provision --dry-run exits with 1, and makes and migrates nothing", async () => {
    const settings = { DATA_DIR: join(aDirectory(), "data") };
    const file = join(aDirectory(), "provision.json");
    writeFileSync(file, "{}");
    for (const _ of ["first", "again"]) {
      const { code, said } = await countersign(["provision", file, "--dry-run"], settings);
      expect([code, said]).toEqual([1, expect.stringContaining(`there is no database under ${settings.DATA_DIR};`)]);
    }
    expect(existsSync(settings.DATA_DIR)).toBe(false);
    await endProcesses();
  });
});
