import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret } from "../../src/random.ts";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { type PagesServer, startPagesServer } from "../support/pages-server.ts";

const PASSWORD = "correct horse battery";

let server: PagesServer;
beforeAll(async () => {
  server = await startPagesServer();
});
afterAll(() => server.close());

let count = 0;
const freshEmail = () => `p${++count}@example.test`;
/** A new address for each test, because limits count by address. */
const freshAddress = () => `192.0.2.${++count % 256}`;

/** A browser with its own address. */
function browser(address = freshAddress()) {
  const one = aBrowser(server.url);
  const json = (path: string, body: unknown, method = "POST", headers: Record<string, string> = {}) =>
    one.json(path, body, method, { "x-forwarded-for": address, ...headers });
  return { ...one, json };
}

async function user() {
  const email = freshEmail();
  const { body } = await browser().json("/auth/register", { email, password: PASSWORD });
  return { email, id: String(body.id) };
}

const verify = (token: string, headers: Record<string, string> = {}) => fetch(`${server.url}/auth/verify?token=${token}`, { headers });

describe("docs/protocol.md#accounts: POST /auth/register", () => {
  test("returns 201 with the user of §2.1, times in milliseconds, and sends a verification mail", async () => {
    const email = freshEmail();
    const before = Date.now();
    const { status, body, headers } = await browser().json("/auth/register", { email, password: PASSWORD });
    expect(status).toBe(201);
    expect(headers.get("cache-control")).toBe("no-store");
    const { id, realmId, createdAt } = body;
    for (const uuid of [id, realmId]) expect(uuid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
    expect(body).toEqual({ id, email, emailVerified: false, realmId, createdAt, updatedAt: null });
    expect(createdAt).toSatisfy((at: number) => at >= before - 1_000 && at <= Date.now() + 1_000); // both read the same clock
    expect(Number.isInteger(createdAt)).toBe(true);
    const [mail] = await server.mailsTo(email, 1);
    const link = `${server.url}/auth/verify?token=${await server.tokenFor(email)}`;
    expect(mail).toContain(`\n${link}`);
    expect(mail).toContain(`href="${link}"`);
  });

  test("row 16: Host and X-Forwarded-Host never reach the mail", async () => {
    const headers = { "x-forwarded-host": "evil.test", forwarded: "host=evil.test" };
    const email = freshEmail();
    await browser().json("/auth/register", { email, password: PASSWORD }, "POST", headers);
    const [mail] = await server.mailsTo(email, 1);
    expect(mail).toContain(`${server.url}/auth/verify`);
    expect(mail).not.toContain("evil.test");
  });

  test("a taken address returns 409, in upper or lower case", async () => {
    const { email } = await user();
    const { status, body } = await browser().json("/auth/register", { email: email.toUpperCase(), password: PASSWORD });
    expect([status, body.statusCode, body.error]).toEqual([409, 409, "Conflict"]);
  });

  test.for<[string, unknown, string]>([
    ["a malformed e-mail address", { email: "unknown", password: PASSWORD }, "email"],
    ["no password", { email: "a@example.test" }, "password"],
    ["a number for a password", { email: "a@example.test", password: 12345678 }, "password"],
    ["a short password", { email: "a@example.test", password: "1234567" }, "password"],
    ["a common password", { email: "a@example.test", password: "iloveyou" }, "password"],
    ["the address as password", { email: "long-enough@example.test", password: "Long-Enough" }, "password"],
    ["an unknown realm", { email: "a@example.test", password: PASSWORD, realmId: "01900000-0000-7000-8000-00000000dead" }, "realmId"],
    ["a realm that is not a UUID", { email: "a@example.test", password: PASSWORD, realmId: "x" }, "realmId"],
    ["an unknown member", { email: "a@example.test", password: PASSWORD, emailVerified: true }, "emailVerified"],
    ["an array", [], ""],
    ["null", null, ""],
  ])("%s returns 400 with the path of the error", async ([, body, path]) => {
    const answer = await browser().json("/auth/register", body);
    expect([answer.status, answer.body.statusCode, answer.body.error]).toEqual([400, 400, "Bad Request"]);
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toContain(path);
  });

  test.for(["m\u00fcller@example.test", "a@m\u00fcnchen.test"])("%s is refused as no address in ASCII", async (email) => {
    const answer = await browser().json("/auth/register", { email, password: PASSWORD });
    expect(answer.body.issues).toEqual([{ path: "email", message: "Enter an e-mail address in ASCII, such as name@example.com." }]);
  });

  test("another media type returns 415, malformed JSON 400", async () => {
    const post = (body: string, type: string) =>
      fetch(`${server.url}/auth/register`, { method: "POST", body, headers: { "content-type": type } }).then(({ status }) => status);
    expect(await post("email=a", "application/x-www-form-urlencoded")).toBe(415);
    expect(await post("{", "application/json")).toBe(400);
    expect(await post("{}", "text/plain")).toBe(415);
  });

  test("row 60: a password of 1 MB returns 400", async () => {
    for (const path of ["/auth/register", "/auth/login"]) {
      const { status } = await browser().json(path, { email: "a@example.test", password: "x".repeat(1_000_000) });
      expect(status).toBe(400);
    }
    expect((await browser().json("/auth/login", { email: "a@example.test", password: "x".repeat(2000) })).status).toBe(400);
  });
});

describe("docs/protocol.md#sign-in: POST /auth/login", () => {
  test("returns 200 with exactly the token set of §2.5, and the session cookie", async () => {
    const { email } = await user();
    const one = browser();
    const { status, body, headers } = await one.json("/auth/login", { email, password: PASSWORD });
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(["access_token", "expires_in", "refresh_token", "token_type"]);
    expect(body).toMatchObject({ expires_in: 900, token_type: "Bearer" });
    expect(headers.get("set-cookie")).toMatch(/^countersign=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=28800$/);
    expect((await one.json("/consents/", undefined, "GET")).status).toBe(200);
  });

  test("row 58: an unknown address, a wrong and an empty password return the same 401 and compute one hash each", async () => {
    const { email } = await user();
    /** The number of passwords that were compared with a hash. */
    const compared = async () => {
      const metrics = await (await fetch(`${server.url}/metrics`)).text();
      const counts = [...metrics.matchAll(/^countersign_authentications_total\{surface="login",[^}]*\} (\d+)$/gm)];
      return counts.reduce((sum, [, count]) => sum + Number(count), 0);
    };
    const attempts = [
      { email, password: "wrong password" },
      { email, password: "" },
      { email: "unknown@example.test", password: "wrong password" },
    ];
    const answers: unknown[] = [];
    for (const body of attempts) {
      const before = await compared();
      const { status, body: answer } = await browser().json("/auth/login", body);
      // A hash takes tens of milliseconds, everything else a few: skipping it would stand out.
      answers.push({ status, answer, hashes: (await compared()) - before });
    }
    expect(answers).toEqual(attempts.map(() => ({ status: 401, answer: expect.objectContaining({ statusCode: 401 }), hashes: 1 })));
    expect(new Set(answers.map((answer) => JSON.stringify(answer))).size).toBe(1);
  });

  test("row 59: 64 concurrent guesses: at most 10 are verified, the others return 429 with Retry-After", async () => {
    const { email } = await user();
    const address = freshAddress();
    const guess = () => browser(address).json("/auth/login", { email, password: "wrong password" });
    const answers = await Promise.all(Array.from({ length: 64 }, guess));
    const looked = answers.filter(({ status }) => status === 401);
    const refused = answers.filter(({ status }) => status === 429);
    expect(looked.length).toBeLessThanOrEqual(10);
    expect(looked.length + refused.length).toBe(64);
    expect(Number(refused[0]?.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await browser(address).json("/auth/login", { email, password: PASSWORD })).status).toBe(429);
    // The owner at another address is not locked out.
    expect((await browser().json("/auth/login", { email, password: PASSWORD })).status).toBe(200);
  });

  test("docs/protocol.md#sign-in: a success resets the count of failures", async () => {
    const { email } = await user();
    const one = browser();
    for (let round = 0; round < 2; round++) {
      for (let guess = 0; guess < 8; guess++) await one.json("/auth/login", { email, password: "wrong password" });
      expect((await one.json("/auth/login", { email, password: PASSWORD })).status).toBe(200);
    }
  });

  test("row 13: a sign-in ends the session of the request and sets a new cookie", async () => {
    const { email } = await user();
    const one = browser();
    await one.json("/auth/login", { email, password: PASSWORD });
    const planted = one.cookies.get("countersign") ?? "";
    await one.json("/auth/login", { email, password: PASSWORD });
    expect(one.cookies.get("countersign")).not.toBe(planted);
    expect((await one.json("/consents/", undefined, "GET")).status).toBe(200);
    one.cookies.set("countersign", planted);
    const refused = await one.json("/consents/", undefined, "GET");
    expect([refused.status, refused.headers.get("www-authenticate")]).toEqual([401, `Session realm="${server.url}"`]);
  });

  test("RFC 9110 §11.6.1: a wrong password returns a Password challenge, not a Bearer one", async () => {
    const answer = await browser().json("/auth/login", { email: freshEmail(), password: "wrong password" });
    expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, `Password realm="${server.url}"`]);
  });

  test("docs/protocol.md#users: times have milliseconds", async () => {
    const accounts = [];
    for (let n = 0; n < 4; n++) accounts.push((await browser().json("/auth/register", { email: freshEmail(), password: PASSWORD })).body);
    expect(accounts.some(({ createdAt }) => createdAt % 1000 !== 0)).toBe(true);
  });

  test("row 72: another origin gets no CORS headers", async () => {
    const { headers } = await browser().json("/auth/login", { email: "a@example.test", password: "x" }, "POST", {
      origin: "https://evil.test",
    });
    expect(headers.get("access-control-allow-origin")).toBeNull();
  });
});

describe("docs/protocol.md#sign-out: POST /auth/logout", () => {
  test("ends every session of the user", async () => {
    const { email } = await user();
    const [one, two] = [browser(), browser()];
    const { body } = await one.json("/auth/login", { email, password: PASSWORD });
    await two.json("/auth/login", { email, password: PASSWORD });
    const answer = await one.json("/auth/logout", {}, "POST", { authorization: `Bearer ${body.access_token}` });
    expect([answer.status, answer.body]).toEqual([200, { success: true, message: "Successfully logged out" }]);
    expect(one.cookies.has("countersign")).toBe(false);
    expect((await two.json("/consents/", undefined, "GET")).status).toBe(401);
  });

  test("everywhere=false ends only the session of the cookie; another user's session stays, and a missing cookie returns 400", async () => {
    const { email } = await user();
    const [one, two, other] = [browser(), browser(), browser()];
    const { body } = await one.json("/auth/login", { email, password: PASSWORD });
    await two.json("/auth/login", { email, password: PASSWORD });
    const stranger = await user();
    await other.json("/auth/login", { email: stranger.email, password: PASSWORD });
    const authorization = { authorization: `Bearer ${body.access_token}` };
    const leave = (each: ReturnType<typeof browser>) => each.json("/auth/logout?everywhere=false", {}, "POST", authorization);
    expect((await leave(browser())).status).toBe(400);
    const secret = other.cookies.get("countersign");
    expect((await leave(other)).status).toBe(200);
    other.cookies.set("countersign", secret ?? "");
    expect((await other.json("/consents/", undefined, "GET")).status).toBe(200);
    expect((await leave(one)).status).toBe(200);
    expect((await one.json("/consents/", undefined, "GET")).status).toBe(401);
    expect((await two.json("/consents/", undefined, "GET")).status).toBe(200);
  });

  test.for(["False", "0", "no", "false&everywhere=false"])("everywhere=%s returns 400 and ends no session", async (value) => {
    const { email } = await user();
    const one = browser();
    const { body } = await one.json("/auth/login", { email, password: PASSWORD });
    const authorization = { authorization: `Bearer ${body.access_token}` };
    const refused = await one.json(`/auth/logout?everywhere=${value}`, {}, "POST", authorization);
    expect([refused.status, refused.body.message]).toEqual([
      400,
      value.includes("&") ? "A parameter was sent more than once." : "everywhere must be true or false.",
    ]);
    expect((await one.json("/consents/", undefined, "GET")).status).toBe(200);
    expect((await one.json("/auth/logout?everywhere=", {}, "POST", authorization)).status).toBe(200);
    expect((await one.json("/consents/", undefined, "GET")).status).toBe(401);
  });

  test("session=False returns 400 and starts no session", async () => {
    const { email } = await user();
    const one = browser();
    const { status, body } = await one.json("/auth/login?session=False", { email, password: PASSWORD });
    expect([status, body.message]).toEqual([400, "session must be true or false."]);
    expect(one.cookies.size).toBe(0);
  });

  test("a token set ends with its session, also after another sign-in of its user or of another one in the same browser", async () => {
    const [one, other] = [await user(), await user()];
    const shared = browser();
    const signIn = async ({ email }: { readonly email: string }) => (await shared.json("/auth/login", { email, password: PASSWORD })).body;
    const refreshed = async ({ refresh_token: token }: Record<string, unknown>) => {
      const body = new URLSearchParams({ grant_type: "refresh_token", client_id: "countersign", refresh_token: String(token) });
      return (await fetch(`${server.url}/oauth/token`, { method: "POST", body })).status;
    };
    const [first, second] = [await signIn(one), await signIn(one)];
    const third = await signIn(other);
    expect([await refreshed(first), await refreshed(second)]).toEqual([400, 400]);
    const authorization = { authorization: `Bearer ${third.access_token}` };
    await shared.json("/auth/logout?everywhere=false", {}, "POST", authorization);
    expect(await refreshed(third)).toBe(400);
  });

  test.for([undefined, "Basic YTpi", "Bearer", "Bearer a.b.c", "Bearer ../../x"])(
    "row 63: Authorization %s returns 401 with a Bearer challenge",
    async (authorization) => {
      const answer = await browser().json("/auth/logout", {}, "POST", authorization === undefined ? {} : { authorization });
      expect([answer.status, answer.body.statusCode]).toEqual([401, 401]);
      expect(answer.headers.get("www-authenticate")).toMatch(/^Bearer realm="/);
    },
  );

  test.for(["a.b.c", "x"])("describes an invalid token in the same words: %s", async (token) => {
    const { body } = await browser().json("/auth/logout", {}, "POST", { authorization: `Bearer ${token}` });
    expect(body).toEqual({
      statusCode: 401,
      error: "Unauthorized",
      message: "The access token is not valid here: send one that this server issued to a user and that is bound to no resource.",
    });
  });
});

describe("docs/protocol.md#accounts: GET /auth/verify", () => {
  async function unverified() {
    const { email } = await user();
    return { email, token: await server.tokenFor(email) };
  }

  test("row 61: returns 200 with message and email once, then 400", async () => {
    const { email, token } = await unverified();
    const first = await verify(token);
    expect([first.status, await first.json()]).toEqual([200, { message: expect.any(String), email }]);
    const records = "select event, address from audit_records where request_id = $1";
    expect(await runText(server.database.sql, records, [first.headers.get("x-request-id")])).toEqual([
      { event: "user.verified", address: "127.0.0.1" },
    ]);
    const second = await verify(token);
    expect([second.status, ((await second.json()) as { statusCode: number }).statusCode]).toEqual([400, 400]);
  });

  test("row 61: 64 concurrent requests: exactly one succeeds", async () => {
    const { token } = await unverified();
    const statuses = (await Promise.all(Array.from({ length: 64 }, () => verify(token)))).map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    expect(statuses.filter((status) => status === 400)).toHaveLength(63);
  });

  test("a browser gets a page, and HEAD does not consume the token", async () => {
    const { email, token } = await unverified();
    expect((await fetch(`${server.url}/auth/verify?token=${token}`, { method: "HEAD" })).status).toBe(200);
    const page = await verify(token, { accept: "text/html,application/xhtml+xml,*/*;q=0.8" });
    expect([page.status, page.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
    expect(await page.text()).toContain(email);
  });

  test("a page still confirms after a scanner of mails has opened the link, until the link expires", async () => {
    const { email, token } = await unverified();
    await verify(token);
    const page = await verify(token, { accept: "text/html" });
    expect([page.status, (await page.text()).includes(`${email} belongs to your account.`)]).toEqual([200, true]);
    await runText(server.database.sql, "update verification_tokens set expires_at = now() where token_hash = $1", [hashSecret(token)]);
    expect((await verify(token, { accept: "text/html" })).status).toBe(400);
  });

  test.for(["", "abc", "g".repeat(64), "a".repeat(63), "a".repeat(65), `${"a".repeat(64)}&token=${"b".repeat(64)}`])(
    "token %s returns 400",
    async (token) => {
      expect((await verify(token)).status).toBe(400);
    },
  );
});

describe("docs/protocol.md#accounts: POST /auth/resend-verification", () => {
  const resend = (email: string, address?: string) => browser(address).json("/auth/resend-verification", { email });

  test("row 62: unknown, unverified and verified addresses return the same after at least 240 ms; only the unverified one gets a mail", async () => {
    const unverified = await user();
    const verified = await user();
    expect((await verify(await server.tokenFor(verified.email))).status).toBe(200);
    const answers = [];
    for (const email of ["unknown@example.test", unverified.email, verified.email]) {
      const start = performance.now();
      const { status, body } = await resend(email);
      answers.push({ status, body, floor: performance.now() - start >= 240 });
    }
    expect(answers[0]).toEqual({ status: 200, body: { message: expect.any(String) }, floor: true });
    expect(answers[1]).toEqual(answers[0]);
    expect(answers[2]).toEqual(answers[0]);
    expect(await server.mailsTo("unknown@example.test")).toEqual([]);
    expect(await server.mailsTo(verified.email)).toHaveLength(1);
    expect(await server.mailsTo(unverified.email, 2)).toHaveLength(2);
  });

  test.for([
    ["older", 0],
    ["newer", 1],
  ] as const)("specification §3: the token of the %s mail works, and uses up that of the other one", async ([, which]) => {
    const { email } = await user();
    const tokens = [await server.tokenFor(email)];
    await resend(email);
    tokens.push(await server.tokenFor(email, 2));
    const response = await verify(tokens[which] ?? "");
    expect([response.status, await response.json()]).toEqual([200, { message: expect.any(String), email }]);
    for (const token of tokens) {
      expect((await verify(token)).status).toBe(400);
      expect((await verify(token, { accept: "text/html" })).status).toBe(200);
    }
  });

  test.for(["no-account@example.test", "known"])(
    "row 62: the fourth request in 15 minutes returns 429 with exactly two members: %s",
    async (who) => {
      const email = who === "known" ? (await user()).email : who;
      const allowed = await Promise.all([resend(email), resend(email), resend(email)]);
      expect(allowed.map(({ status }) => status)).toEqual([200, 200, 200]);
      const { status, body, headers } = await resend(email.toUpperCase());
      expect([status, body]).toEqual([429, { error: "Too Many Requests", statusCode: 429 }]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThan(0);
    },
  );

  test("accepts 10 requests in 15 minutes from one network address", async () => {
    const address = freshAddress();
    const answers = await Promise.all(Array.from({ length: 11 }, (_, index) => resend(`some${index}@example.test`, address)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), 429]);
  });

  test("addresses of one IPv6 /64 share one limit", async () => {
    const answers = await Promise.all(
      Array.from({ length: 11 }, (_, index) => resend(`six${index}@example.test`, `2001:db8:1:2::${index + 1}`)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), 429]);
  });
});
