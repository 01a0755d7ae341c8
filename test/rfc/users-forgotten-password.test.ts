import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { type PagesServer, startPagesServer } from "../support/pages-server.ts";

const PASSWORD = "correct horse battery";
const NEW = "a brand new battery";

let server: PagesServer;
beforeAll(async () => {
  server = await startPagesServer();
});
afterAll(() => server.close());

let count = 0;
const freshEmail = () => `f${++count}@example.test`;
/** A new address for each caller, because limits count by address. */
const from = (address = `198.51.100.${++count % 256}`) => ({ "x-forwarded-for": address });

async function user() {
  const email = freshEmail();
  const browser = aBrowser(server.url, from());
  await browser.json("/auth/register", { email, password: PASSWORD });
  await server.mailsTo(email, 1);
  const login = await browser.json("/auth/login", { email, password: PASSWORD });
  return { email, browser, tokens: login.body };
}

const api = (path: string, body: unknown, headers: Record<string, string> = from()) =>
  aBrowser(server.url).json(path, body, "POST", headers);
const forgot = (email: string, headers?: Record<string, string>) => api("/auth/forgot-password", { email }, headers);
const reset = (token: string, password = NEW) => api("/auth/reset-password", { token, password });
const signIn = async (email: string, password: string) => (await api("/auth/login", { email, password })).status;

/** A user with a reset link, which is in their second mail; the first one verifies the address. */
async function withLink() {
  const one = await user();
  expect((await forgot(one.email)).status).toBe(200);
  return { ...one, token: await server.resetTokenFor(one.email, 2) };
}

describe("POST /auth/forgot-password", () => {
  test("known and unknown addresses return the same status, body and headers", async () => {
    const { email } = await user();
    const known = await forgot(email);
    const unknown = await forgot(freshEmail());
    expect(unknown.body).toEqual(known.body);
    const shape = ({ status, headers }: typeof known) => [status, [...headers.keys()].sort()];
    expect(shape(unknown)).toEqual(shape(known));
    expect(await server.mailsTo(email, 2)).toHaveLength(2);
  });

  test("accepts 3 requests in 15 minutes for one email address, known or not, in upper or lower case", async () => {
    for (const email of [(await user()).email, freshEmail()]) {
      const statuses: number[] = [];
      for (const spelling of [email, email.toUpperCase(), email]) statuses.push((await forgot(spelling)).status);
      const refused = await forgot(email);
      expect([...statuses, refused.status]).toEqual([200, 200, 200, 429]);
      expect(refused.body).toMatchObject({ statusCode: 429, error: "Too Many Requests" });
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    }
  });

  test("accepts 10 requests in 15 minutes from one network address", async () => {
    const address = from();
    const answers = await Promise.all(Array.from({ length: 11 }, () => forgot(freshEmail(), address)));
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), 429]);
  });

  test("the mail has text and HTML in the language of the request, and a link built only from the issuer", async () => {
    const { email } = await user();
    await forgot(email, { ...from(), "accept-language": "de", host: "evil.test", "x-forwarded-host": "evil.test" });
    const mail = (await server.mailsTo(email, 2)).find((one) => one.includes("/reset?token=")) ?? "";
    expect(mail).toContain("Jemand hat für Ihr Konto");
    expect(mail).toContain('<html lang="de">');
    expect(mail).toMatch(/text\/plain[\s\S]+text\/html/);
    expect(mail).toContain(`\n${server.url}/reset?token=`);
    expect(mail).toContain(`href="${server.url}/reset?token=`);
    expect(mail).not.toContain("evil.test");
  });

  test("only the hash of the token is stored", async () => {
    const { token } = await withLink();
    const dump = JSON.stringify(await runText(server.database.sql, "select encode(token_hash, 'hex') as hash from password_resets"));
    expect(token).toMatch(/^[0-9a-f]{64}$/);
    expect(dump).not.toContain(token);
  });
});

describe("POST /auth/reset-password", () => {
  test("sets the password, ends sessions and refresh families, and notifies the owner by mail", async () => {
    const { email, browser, tokens, token } = await withLink();
    expect((await reset(token)).status).toBe(200);
    expect([await signIn(email, PASSWORD), await signIn(email, NEW)]).toEqual([401, 200]);
    expect((await browser.json("/consents", undefined, "GET")).status).toBe(401);
    const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: tokens.refresh_token, client_id: "countersign" });
    expect((await fetch(`${server.url}/oauth/token`, { method: "POST", body })).status).toBe(400);
    const news = (await server.mailsTo(email, 3)).find((mail) => mail.includes("Your password was changed")) ?? "";
    expect(news).toContain(`${server.url}/forgot`);
    expect(news).not.toContain(token);
  });

  test("64 concurrent resets with one token: exactly one succeeds and sets the password", async () => {
    const { email, token } = await withLink();
    const passwords = Array.from({ length: 64 }, (_, n) => `a brand new battery ${n}`);
    const answers = await Promise.all(passwords.map((password) => reset(token, password)));
    const statuses = answers.map(({ status }) => status);
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
    // Hashing has its own concurrency limit; a caller who finds it full gets a 503, and nothing has happened.
    expect(statuses.filter((status) => ![200, 400, 503].includes(status))).toEqual([]);
    expect(await signIn(email, passwords[statuses.indexOf(200)] ?? "")).toBe(200);
    expect((await reset(token)).status).toBe(400);
  });

  test("only the newest link works", async () => {
    const { email, token } = await withLink();
    await forgot(email);
    await server.mailsTo(email, 3);
    expect((await reset(token)).status).toBe(400);
    expect(await signIn(email, PASSWORD)).toBe(200);
  });

  test("a link expires after 30 minutes", async () => {
    const { token } = await withLink();
    const [row] = await runText<{ minutes: number }>(
      server.database.sql,
      "select max(extract(epoch from expires_at - created_at))::float8 / 60 as minutes from password_resets",
    );
    expect(row?.minutes).toBeCloseTo(30, 1);
    await runText(server.database.sql, "update password_resets set expires_at = now()");
    expect((await reset(token)).status).toBe(400);
  });

  test.for([
    ["malformed", "x"],
    ["unknown", "a".repeat(64)],
    ["empty", ""],
    ["oversized", "a".repeat(201)],
  ] as const)("a token that is %s returns 400", async ([, token]) => {
    const { status, body } = await reset(token);
    expect([status, body.statusCode, body.error]).toEqual([400, 400, "Bad Request"]);
  });

  test("a refused password does not consume the link", async () => {
    const { email, token } = await withLink();
    const weak = await reset(token, "iloveyou");
    expect([weak.status, weak.body.issues]).toEqual([400, [expect.objectContaining({ path: "password" })]]);
    expect((await reset(token, email)).status).toBe(400);
    expect((await reset(token.toUpperCase())).status).toBe(200);
  });

  test("a reset lifts the limit of failed sign-ins", async () => {
    const { email, token } = await withLink();
    const address = from();
    const attempt = async (password: string) => (await api("/auth/login", { email, password }, address)).status;
    for (let failure = 0; failure < 10; failure++) await attempt("wrong");
    expect(await attempt(PASSWORD)).toBe(429);
    expect((await api("/auth/reset-password", { token, password: NEW }, address)).status).toBe(200);
    expect(await attempt(NEW)).toBe(200);
  });
});

describe("the pages", () => {
  test("lead from sign-in to a new password, and keep the link until the password is set", async () => {
    const { email } = await user();
    const browser = aBrowser(server.url, from());
    const login = await browser.follow("/login");
    expect(login.html).toContain('href="/forgot"');
    const sent = await browser.submit(await browser.follow("/forgot"), { email });
    expect([sent.status, sent.html.includes("Check your mail"), sent.html.includes(email)]).toEqual([200, true, false]);
    const unknown = await browser.submit(await browser.follow("/forgot"), { email: freshEmail() });
    expect(unknown.html).toBe(sent.html);

    const link = `/reset?token=${await server.resetTokenFor(email, 2)}`;
    expect((await browser.request(link, { method: "HEAD" })).status).toBe(200);
    const choose = await browser.follow(link);
    expect([choose.status, choose.html.includes(email)]).toEqual([200, true]);
    const weak = await browser.submit(choose, { password: "short" });
    expect([weak.status, weak.html.includes('<a href="#password">')]).toEqual([400, true]);
    const done = await browser.submit(weak, { password: NEW });
    expect([done.status, done.html.includes("Your password has been changed")]).toEqual([200, true]);
    expect((await browser.follow(`${done.url}&lang=de`)).html).toContain("Ihr Passwort wurde geändert");
    await browser.follow(`${done.url}&lang=en`);
    for (const forged of [done.url, "/reset?done=changed"])
      expect((await aBrowser(server.url, from()).follow(forged)).html).not.toContain("Your password has been changed");
    expect((await browser.submit(weak, { password: NEW })).html).toMatch(/If you have chosen a new password with it[\s\S]+href="\/login"/);
    const again = await browser.follow(link);
    expect([again.status, again.html.includes("This link no longer works"), again.html.includes('href="/forgot"')]).toEqual([
      400,
      true,
      true,
    ]);
    const account = await browser.submit(await browser.follow("/login"), { email, password: NEW });
    expect(new URL(account.url).pathname).toBe("/account");
  });

  test("a form without its token returns 403 and changes nothing", async () => {
    const { email, token } = await withLink();
    const post = (path: string, fields: Record<string, string>) =>
      aBrowser(server.url).request(path, { method: "POST", body: new URLSearchParams({ form_token: "x", ...fields }) });
    expect((await post("/forgot", { email })).status).toBe(403);
    expect((await post("/reset", { token, password: NEW })).status).toBe(403);
    expect(await signIn(email, PASSWORD)).toBe(200);
  });
});
