import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { createGuard } from "@countersign/guard";
import { afterEach, describe, expect, test } from "vitest";
import { openDatabase } from "../../src/store/orm.ts";
import { runText } from "../support/database.ts";
import { headerOf, serverDriver } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { serve } from "../support/guard-servers.ts";
import { emptyPostgresDatabase, TEST_DATABASE_URL } from "../support/postgres.ts";
import {
  aDataDirectory,
  aDirectory,
  countersign,
  endProcesses,
  provisionFile,
  type ServiceProcess,
  startProcess,
} from "../support/processes.ts";

afterEach(endProcesses);

function keyPair() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  return {
    privatePem: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    publicPem: publicKey.export({ type: "spki", format: "pem" }).toString(),
  };
}

const stop = async ({ child, ended }: ServiceProcess) => {
  child.kill("SIGINT");
  expect(await ended).toBe(0);
};

/** Several processes start one after the other, which is slow on a busy machine. */
const PATIENCE = { timeout: 120_000 };

describe("contract: signing keys", () => {
  /** Moves the publication times of the keys of a stopped server into the past. */
  async function pass(dataDir: string, seconds: number) {
    const database = await openDatabase({ dir: dataDir });
    await runText(database.sql, "update signing_keys set published_at = published_at - make_interval(secs => $1::int)", [seconds]);
    await database.close();
  }

  if (TEST_DATABASE_URL !== undefined) {
    test(
      "R9: without the previous key the token endpoint returns 503 for 300 s while introspection works; a key published ahead signs at once",
      PATIENCE,
      async () => {
        const [old, young, third] = [keyPair(), keyPair(), keyPair()];
        const { url, drop } = await emptyPostgresDatabase(TEST_DATABASE_URL ?? "");
        const pass = async (seconds: number) => {
          const database = await openDatabase({ url });
          await runText(database.sql, "update signing_keys set published_at = published_at - make_interval(secs => $1::int)", [seconds]);
          await database.close();
        };
        const shared = { DATABASE_URL: url, PORT: String(await freePort()), PROVISION_FILE: provisionFile() };
        const agent = { clientId: "agent", secret: "agent-secret", redirectUri: "" };
        const ask = (server: ServiceProcess) =>
          serverDriver(server.url, "").token(agent, { grant_type: "client_credentials", scope: "crm:read" });

        const before = await startProcess({ ...shared, JWT_PRIVATE_KEY: old.privatePem });
        const early = (await ask(before)).body.access_token;
        await stop(before);

        const waiting = await startProcess({ ...shared, JWT_PRIVATE_KEY: young.privatePem });
        const refused = await ask(waiting);
        expect([refused.status, refused.body.error]).toEqual([503, "temporarily_unavailable"]);
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(200);
        expect((await serverDriver(waiting.url, "").introspect(agent, early)).body).toMatchObject({ active: true });
        expect(waiting.said()).toContain("signing_key_waits");
        await stop(waiting);
        await pass(300);

        const ready = await startProcess({ ...shared, JWT_PRIVATE_KEY: young.privatePem, JWT_RETIRED_PUBLIC_KEYS: third.publicPem });
        const late = (await ask(ready)).body.access_token;
        expect(headerOf(late).kid).not.toBe(headerOf(early).kid);
        await stop(ready);
        await pass(300);

        const next = await startProcess({ ...shared, JWT_PRIVATE_KEY: third.privatePem });
        expect(headerOf((await ask(next)).body.access_token).kid).not.toBe(headerOf(late).kid);
        expect((await serverDriver(next.url, "").get("/.well-known/jwks.json")).body.keys).toHaveLength(3);
        await stop(next);
        await drop();
      },
    );
    return; // the others use the embedded database in any case: npm test runs them
  }

  test(
    "R9: after a key change both keys are published and verify tokens, and the new key signs once it has been published for 300 s",
    PATIENCE,
    async () => {
      const [old, young] = [keyPair(), keyPair()];
      const dataDir = await aDataDirectory();
      const shared = { DATA_DIR: dataDir, PORT: String(await freePort()), PROVISION_FILE: provisionFile() };
      const agent = { clientId: "agent", secret: "agent-secret", redirectUri: "" };
      const resource = "https://crm.example.test/mcp";
      const ask = async (server: ServiceProcess): Promise<string> => {
        const answer = await serverDriver(server.url, "").token(agent, { grant_type: "client_credentials", scope: "crm:read", resource });
        return answer.body.access_token;
      };

      const before = await startProcess({ ...shared, JWT_PRIVATE_KEY: old.privatePem, JWT_PUBLIC_KEY: old.publicPem });
      const early = await ask(before);
      await stop(before);

      const keys = { JWT_PRIVATE_KEY: young.privatePem, JWT_PUBLIC_KEY: young.publicPem };
      const interim = await startProcess({ ...shared, ...keys, JWT_PREVIOUS_PRIVATE_KEY: old.privatePem });
      expect(headerOf(await ask(interim)).kid).toBe(headerOf(early).kid);
      expect((await serverDriver(interim.url, "").get("/.well-known/jwks.json")).body.keys).toHaveLength(2);
      await stop(interim);
      await pass(dataDir, 300);

      const after = await startProcess({ ...shared, ...keys, JWT_RETIRED_PUBLIC_KEYS: old.publicPem });
      const { get, introspect } = serverDriver(after.url, "");
      const published = (await get("/.well-known/jwks.json")).body.keys.map(({ kid }: { kid: string }) => kid);
      const late = await ask(after);
      expect(new Set(published)).toEqual(new Set([headerOf(early).kid, headerOf(late).kid]));
      expect(published).toHaveLength(2);
      const guarded = await serve("node:http", createGuard({ resource, authorizationServers: [after.url], scopes: ["crm:read"] }));
      for (const token of [early, late]) {
        expect((await introspect(agent, token)).body).toMatchObject({ active: true, aud: resource });
        const response = await fetch(`${guarded.origin}/mcp`, { headers: { authorization: `Bearer ${token}` } });
        expect(response.status).toBe(200);
      }
      await guarded.close();
    },
  );

  test("R9: on the embedded database, which has no other core, a new key signs at once", PATIENCE, async () => {
    const [old, young] = [keyPair(), keyPair()];
    const shared = { DATA_DIR: await aDataDirectory(), PORT: String(await freePort()), PROVISION_FILE: provisionFile() };
    const agent = { clientId: "agent", secret: "agent-secret", redirectUri: "" };
    const kids: string[] = [];
    for (const settings of [
      { JWT_PRIVATE_KEY: old.privatePem },
      { JWT_PRIVATE_KEY: young.privatePem, JWT_RETIRED_PUBLIC_KEYS: old.publicPem },
    ]) {
      const server = await startProcess({ ...shared, ...settings });
      const { token, get } = serverDriver(server.url, "");
      kids.push(headerOf((await token(agent, { grant_type: "client_credentials", scope: "crm:read" })).body.access_token).kid);
      expect((await get("/.well-known/jwks.json")).body.keys).toHaveLength(kids.length);
      await stop(server);
    }
    expect(new Set(kids).size).toBe(2);
  });

  test("production behind a proxy serves the https issuer, sets a __Host- cookie and limits registrations by forwarded address", async () => {
    const { privatePem, publicPem } = keyPair();
    const issuer = "https://id.example.test";
    const server = await startProcess({
      NODE_ENV: "production",
      DATA_DIR: await aDataDirectory(),
      JWT_PRIVATE_KEY: privatePem,
      JWT_PUBLIC_KEY: publicPem,
      JWT_ISSUER: issuer,
      TRUST_PROXY: "true",
      REGISTER_CLIENT_RATE_LIMIT: "2",
      LOG_LEVEL: "info",
    });
    const proxied = (path: string, body?: object, address = "203.0.113.7") =>
      fetch(server.url + path, {
        ...(body && { method: "POST", body: JSON.stringify(body) }),
        headers: {
          ...(body && { "content-type": "application/json" }),
          "x-forwarded-for": `198.51.100.1, ${address}`,
          "x-forwarded-proto": "https",
          "x-forwarded-host": "id.example.test",
        },
      });
    const metadata = (await (await proxied("/.well-known/openid-configuration")).json()) as Record<string, string>;
    expect([metadata.issuer, metadata.token_endpoint]).toEqual([issuer, `${issuer}/oauth/token`]);
    const user = { email: "ada@example.test", password: "correct horse battery staple" };
    expect((await proxied("/auth/register", user)).status).toBe(201);
    const [session = ""] = (await proxied("/auth/login", user)).headers.getSetCookie();
    expect(session).toMatch(/^__Host-countersign=[A-Za-z0-9_-]{43}; /);
    const attributes = session
      .split("; ")
      .slice(1)
      .map((each) => each.toLowerCase());
    expect(new Set(attributes)).toEqual(new Set(["path=/", "httponly", "samesite=lax", "secure", "max-age=28800"]));
    const client = { redirect_uris: ["https://a.example.test/cb"] };
    const statuses = [];
    for (const address of ["203.0.113.7", "203.0.113.7", "203.0.113.7", "203.0.113.8"]) {
      statuses.push((await proxied("/oauth/register", client, address)).status);
    }
    expect(statuses).toEqual([201, 201, 429, 201]);
    expect(server.said()).toContain("embedded_database_in_production");
    expect(server.said()).toContain("sign_up_open");
    expect(server.said()).toMatch(/"path":"[^"]*\/outbox","event":"mail_goes_to_files"/);
    expect(server.said()).not.toContain("token=");
  });

  test("production with invalid settings exits with 1 and one line for each setting, without their values", async () => {
    const { code, said } = await countersign(["serve"], {
      NODE_ENV: "production",
      JWT_ISSUER: "http://id.example.test",
      TOKEN_CORE_SECRET: "hunter22",
      JWT_PRIVTE_KEY: "hunter33",
      DATA_DIR: join(aDirectory(), "data"),
    });
    expect(code).toBe(1);
    const faulty = said
      .trim()
      .split("\n")
      .map((line) => line.split(":")[0]);
    expect(new Set(faulty)).toEqual(new Set(["JWT_ISSUER", "TOKEN_CORE_SECRET", "JWT_PRIVATE_KEY", "JWT_PRIVTE_KEY"]));
    expect(said).not.toMatch(/hunter/);
  });
});
