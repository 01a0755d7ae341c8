import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Redis } from "ioredis";
import { expect } from "vitest";
import { statement } from "../../src/store/sql.ts";
import { basicAuth, PASSWORD } from "../support/flow.ts";
import { rawBytes, rawExchange } from "../support/raw.ts";
import { describe, type TestServer, testOn } from "../support/server.ts";

const test = testOn({ env: { LOG_LEVEL: "debug" } });

/** Every row of every table, as text; bytes as hexadecimal. */
async function dump({ database: { sql } }: TestServer): Promise<string> {
  const TABLES = "select table_name as name from information_schema.tables where table_schema = 'public' and table_type = 'BASE TABLE'";
  const tables = await sql.query<{ name: string }>(statement("dump_tables", TABLES), []);
  expect(tables.map(({ name }) => name)).toContain("audit_records");
  const rows = tables.map(({ name }) =>
    sql.query<{ row: string }>(statement(`dump_${name}`, `select to_jsonb(t)::text as row from ${name} t`), []),
  );
  return (await Promise.all(rows))
    .flat()
    .map(({ row }) => row)
    .join("\n");
}

/** Every key and value in Redis; empty without Redis. */
async function dumpRedis({ config: { redisUrl: url } }: TestServer): Promise<string> {
  if (url === undefined) return "";
  const redis = new Redis(url);
  try {
    const keys = await redis.keys("*");
    return (await Promise.all(keys.map(async (key) => `${key} ${(await redis.dumpBuffer(key))?.toString("latin1")}`))).join("\n");
  } finally {
    redis.disconnect();
  }
}

/** The secret in each encoding that storage may use. */
const spellings = (secret: string): readonly string[] => [
  secret,
  Buffer.from(secret).toString("hex"),
  Buffer.from(secret).toString("base64url"),
  ...(/^[0-9a-f]{64}$/.test(secret) ? [Buffer.from(secret, "hex").toString("base64url")] : []),
];

function assertNowhere(text: string, secrets: Readonly<Record<string, string>>): void {
  for (const [what, secret] of Object.entries(secrets)) {
    expect([what, secret.length > 7]).toEqual([what, true]);
    for (const spelling of spellings(secret)) expect([what, text.includes(spelling)]).toEqual([what, false]);
  }
}

describe("secrets in storage, logs and responses", () => {
  test("abuse 74: database, Redis, log and metrics contain no secret in clear after every flow ran", async ({ server }) => {
    const { web, publicApp } = server.clients;
    const email = "tour@example.test";
    const { browser, login } = await server.signedInUser({ email });
    const verification = await server.verificationToken(email);
    const redeemed = await server.code(web, browser, { scope: "openid email", nonce: "n-0S6_WzA2Mj" });
    const tokens = (await server.token(web, redeemed)).body;
    const refreshed = (await server.refresh(web, tokens.refresh_token)).body;
    const unredeemed = await server.code(publicApp, browser, { scope: "openid" });
    const form = await browser.follow("/account");
    const made = await fetch(`${server.url}/oauth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ redirect_uris: ["https://a.example.test/cb"] }),
    });
    const { client_secret } = (await made.json()) as { client_secret: string };
    const waiting = /request=([^&]+)/.exec(
      (await server.get(server.authorizeUrl(web, { code_challenge: "a".repeat(43) }))).headers.get("location") ?? "",
    );
    await server.introspect(web, refreshed.access_token);
    await server.revoke(web, refreshed.refresh_token);
    expect((await server.refresh(web, refreshed.refresh_token)).status).toBe(400);
    const secrets = {
      code: redeemed.code,
      "code that no one redeemed": unredeemed.code,
      verifier: String(redeemed.code_verifier),
      "access token": tokens.access_token,
      "refreshed access token": refreshed.access_token,
      "refresh token": tokens.refresh_token,
      "current refresh token": refreshed.refresh_token,
      "ID token": tokens.id_token,
      "login's access token": login.access_token,
      "login's refresh token": login.refresh_token,
      session: browser.cookies.get("countersign") ?? "",
      password: PASSWORD,
      "verification token": verification,
      "client secret": "web-secret",
      "registered client's secret": client_secret,
      "form token": /name="form_token" value="([^"]+)"/.exec(form.html)?.[1] ?? "",
      "waiting request": decodeURIComponent(waiting?.[1] ?? "").split(".")[0] ?? "",
      "private key": readFileSync(join(server.dataDir, "keys/ed25519.pem"), "utf8").split("\n")[1] ?? "",
      "front's secret": server.config.tokenCore.secret ?? "",
    };
    assertNowhere(await dump(server), secrets);
    assertNowhere(await dumpRedis(server), secrets);
    assertNowhere(server.logged.join("\n"), secrets);
    assertNowhere((await server.get("/metrics")).body, secrets);
    expect(server.logged.length).toBeGreaterThan(15);
  });

  test("abuse 73, 29: a canary sent in every field that takes a secret appears in no log line, metric, table or response", async ({
    server,
  }) => {
    const canary = randomBytes(32).toString("hex");
    const before = server.logged.length;
    const basic = basicAuth("web", canary);
    const answers: string[] = [];
    const note = async (sent: Promise<{ text: string; headers: Headers }>) => {
      const { text, headers } = await sent;
      answers.push(text, ...[...headers].map(([, value]) => value));
    };
    const post = (target: string, media: string, body: string, headers: readonly (readonly [string, string])[] = []) =>
      note(rawExchange(server.url, { method: "POST", target, headers: [["Content-Type", media], ...headers], body }));
    const FORM = "application/x-www-form-urlencoded";
    const SECRETS = [
      "client_secret",
      "client_assertion",
      "code",
      "code_verifier",
      "refresh_token",
      "subject_token",
      "assertion",
      "token",
      "password",
    ];
    const fields = SECRETS.map((name) => `${name}=${canary}`).join("&");
    for (const grant of ["authorization_code", "refresh_token", "client_credentials"]) {
      const body = `grant_type=${grant}&client_id=web&redirect_uri=https%3A%2F%2Fapp.example.test%2Fcb&${fields}`;
      await post("/oauth/token", FORM, body);
      await post("/oauth/token", FORM, body, [["Authorization", basic]]);
      await post(
        "/oauth/token",
        FORM,
        `grant_type=${grant}&code=${canary}&redirect_uri=x&refresh_token=${canary}&code_verifier=${canary}`,
        [["Authorization", basicAuth("web", "web-secret")]],
      );
    }
    for (const path of ["/oauth/introspect", "/oauth/revoke"]) {
      await post(path, FORM, `token=${canary}`, [["Authorization", basicAuth("web", "web-secret")]]);
      await post(path, FORM, `token=${canary}`, [["Authorization", basic]]);
    }
    for (const name of [...SECRETS, "access_token"]) {
      for (const path of ["/oauth/token", "/oauth/introspect", "/oauth/revoke"])
        await post(`${path}?${name}=${canary}`, FORM, "grant_type=x&token=x");
      await note(rawExchange(server.url, { method: "GET", target: `/oauth/userinfo?${name}=${canary}` }));
    }
    const cookie = ["Cookie", `countersign=${canary}; countersign-visitor=${canary}`] as const;
    for (const path of ["/auth/register", "/auth/login"]) {
      await post(path, "application/json", JSON.stringify({ email: "canary@example.test", password: canary.slice(0, 5) }));
      await post(path, "application/json", JSON.stringify({ email: "canary@example.test", password: canary, passwords: canary }));
      await post(path, "application/json", `{"password":"${canary}`);
    }
    await post("/auth/login", "application/json", JSON.stringify({ email: "tour@example.test", password: canary }));
    for (const path of ["/login", "/signup", "/consent", "/logout", "/account/revoke", "/signup/resend"]) {
      await post(path, FORM, `form_token=${canary}&password=${canary}&email=tour%40example.test`, [cookie]);
    }
    for (const path of ["/oauth/userinfo", "/auth/logout"]) {
      await post(path, FORM, "", [["Authorization", `Bearer ${canary}`], cookie]);
      await post(path, FORM, "", [["Authorization", `Bearer ${canary}.${canary}.${canary}`]]);
    }
    const csrf = ["X-CSRF-Token", canary] as const;
    await note(rawExchange(server.url, { method: "DELETE", target: `/consents/${canary}`, headers: [cookie, csrf] }));
    for (const path of ["/auth/verify?token=", "/login?request=", "/signup?token=", `/${canary}?x=`, "/account?code="]) {
      const asked = rawExchange(server.url, { method: "GET", target: path + canary, headers: [cookie, ["Accept", "text/html"]] });
      // The sign-in form contains the id of its pending request, which the browser itself sent.
      if (path !== "/login?request=") await note(asked);
    }
    const grpcWeb = ["Authorization", basic] as const;
    await post("/countersign.introspection.v1.IntrospectionService/Introspect", "application/json", `{"token":"${canary}"}`, [grpcWeb]);

    const audit = await dump(server);
    const metrics = (await server.get("/metrics")).body;
    for (const spelling of [...spellings(canary), canary.slice(0, 16)]) {
      expect(server.logged.slice(before).filter((line) => line.includes(spelling))).toEqual([]);
      expect([audit.includes(spelling), metrics.includes(spelling)]).toEqual([false, false]);
      expect(answers.filter((answer) => answer.includes(spelling))).toEqual([]);
    }
    expect(server.logged.length - before).toBeGreaterThan(50);
    expect(server.faults()).toEqual([]);
  });

  test("abuse 75: 10 000 requests with random client ids, paths and User-Agent headers add at most two series to the metrics", async ({
    server,
  }) => {
    const random = () => randomBytes(9).toString("base64url");
    /** One request as raw text, because an HTTP client would use more CPU than the server. */
    const line = (method: string, path: string, headers: Readonly<Record<string, string>>, body = "") =>
      [
        `${method} ${path} HTTP/1.1`,
        "host: x",
        `content-length: ${body.length}`,
        ...Object.entries(headers).map(([name, value]) => `${name}: ${value}`),
        `\r\n${body}`,
      ].join("\r\n");
    const form = { "content-type": "application/x-www-form-urlencoded" };
    const BATCH = 16;
    /** Sixteen requests on one connection. */
    const oneOfEach = async () => {
      const requests = Array.from({ length: 5 }, () => [
        line("GET", `/${random()}/${random()}`, { "user-agent": random() }),
        line("DELETE", `/consents/${random()}`, { "user-agent": random(), referer: `https://${random()}.test/` }),
        line("GET", `/.well-known/oauth-authorization-server?${random()}`, { "user-agent": random(), origin: `https://${random()}` }),
      ]).flat();
      const credentials = `grant_type=client_credentials&client_id=${random()}&client_secret=x`;
      const last = line("POST", "/oauth/token", { ...form, connection: "close" }, credentials);
      const answer = await rawBytes(server.url, Buffer.from([...requests, last].join("")));
      expect(answer.match(/HTTP\/1\.1 \d{3} /g)).toHaveLength(BATCH);
    };
    const series = async () =>
      (await server.get("/metrics")).body.split("\n").filter((line: string) => line !== "" && !line.startsWith("#")).length;
    // The first batch creates the series of the statuses that these requests return.
    await oneOfEach();
    const before = await series();
    const worker = async () => {
      for (let index = 0; index < 40; index++) await oneOfEach();
    };
    await Promise.all(Array.from({ length: 16 }, worker));
    // The limit of failed authentications may start to return 429, which is one more status of one route.
    expect((await series()) - before).toBeLessThanOrEqual(2);
    expect(server.faults()).toEqual([]);
  }, 90_000);
});
