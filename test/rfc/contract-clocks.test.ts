import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimsOf, serverDriver, type TestClient } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { createTestDatabase, type TestDatabase } from "../support/postgres.ts";
import { aDirectory, endProcesses, provisionFile, shiftedClock, startProcess } from "../support/processes.ts";

const { TEST_DATABASE_URL } = process.env;
const client = (clientId: string): TestClient => ({ clientId, secret: `${clientId}-secret`, redirectUri: "https://app.example.test/cb" });
const [WEB, WORKER] = [client("web"), client("worker")];
const A_DAY = 86_400;

/** A front and its core, whose clocks are wrong by a day, beside others whose clocks are wrong the other way round; one PostgreSQL. */
async function startApart(database: TestDatabase) {
  const dataDir = aDirectory();
  const [port, otherPort, grpc, otherGrpc] = await Promise.all([1, 2, 3, 4].map(async () => String(await freePort())));
  const shared = {
    DATABASE_URL: database.url,
    DATA_DIR: dataDir,
    JWT_ISSUER: `http://localhost:${port}`,
    TOKEN_CORE_SECRET: "the secret of the fronts of this test",
    PROVISION_FILE: provisionFile(),
  };
  const start = async (PORT = "", GRPC_PORT = "", seconds = 0) => {
    const core = await startProcess({ ...shared, GRPC_PORT, ...shiftedClock(seconds) }, "core");
    const front = await startProcess(
      { ...shared, PORT, TOKEN_CORE_URL: `http://127.0.0.1:${GRPC_PORT}`, ...shiftedClock(-seconds) },
      "front",
    );
    return { core, ...serverDriver(front.url, join(dataDir, "outbox")) };
  };
  return { early: await start(port, grpc, A_DAY), late: await start(otherPort, otherGrpc, -A_DAY) };
}

// Clocks of several processes can only differ from a database that is none of them.
if (TEST_DATABASE_URL !== undefined)
  describe("processes whose clocks are wrong by a day", () => {
    let database: TestDatabase | undefined;
    let running: Awaited<ReturnType<typeof startApart>>;
    beforeAll(async () => {
      database = await createTestDatabase();
      if (database === undefined) throw new Error("TEST_DATABASE_URL is not set");
      running = await startApart(database);
    });
    afterAll(async () => {
      await endProcesses();
      await database?.drop();
    });

    test("issue and introspect tokens by the database's time, revoke them, and say so in health and log", async () => {
      const { early, late } = running;
      for (const [here, there] of [
        [early, late],
        [late, early],
      ] as const) {
        expect((await here.get("/health")).body).toMatchObject({ status: "ok", clock: "corrected" });
        const { access_token } = (await here.token(WORKER, { grant_type: "client_credentials", scope: "notes:read" })).body;
        const { iat, exp } = claimsOf(access_token);
        expect([Math.abs(iat - Date.now() / 1_000) < 3, exp - iat]).toEqual([true, 900]);
        expect((await there.introspect(WORKER, access_token)).body).toMatchObject({ active: true, iat, exp });
        expect((await here.revoke(WORKER, access_token)).status).toBe(200);
        expect((await there.introspect(WORKER, access_token)).body).toEqual({ active: false });
        expect(here.core.said()).toContain("clock_offset");
      }
    });

    test("a session, its code and its refresh token work across them", async () => {
      const { early, late } = running;
      const { browser } = await early.signedInUser();
      const { id_token, refresh_token } = await early.tokens(WEB, browser, { scope: "openid offline_access", max_age: "60" });
      expect(Math.abs(claimsOf(id_token).auth_time - Date.now() / 1_000)).toBeLessThan(5);
      const second = await late.refresh(WEB, refresh_token);
      expect((await early.refresh(WEB, second.body.refresh_token)).status).toBe(200);
      expect((await late.refresh(WEB, refresh_token)).status).toBe(400);
    });
  });
