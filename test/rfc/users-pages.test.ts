import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { authorizePath, type PagesServer, startPagesServer } from "../support/pages-server.ts";

const PASSWORD = "correct horse battery";

let server: PagesServer;
beforeAll(async () => {
  server = await startPagesServer();
});
afterAll(() => server.close());

let count = 0;
async function signedIn() {
  const email = `q${++count}@example.test`;
  const browser = aBrowser(server.url);
  await browser.json("/auth/register", { email, password: PASSWORD, firstName: "Ada" }, "POST", { "x-forwarded-for": `192.0.2.${count}` });
  await browser.json("/auth/login", { email, password: PASSWORD });
  return { email, browser };
}

async function consented() {
  const user = await signedIn();
  await user.browser.submit(await user.browser.follow(authorizePath()), { decision: "approve" });
  return user;
}

describe("static files of the pages", () => {
  test("are immutable for a year under a name with their hash", async () => {
    const { html } = await aBrowser(server.url).follow("/login");
    const path = /href="(\/assets\/style\.[0-9a-f]{16}\.css)"/.exec(html)?.[1] ?? "";
    const response = await fetch(server.url + path);
    expect([response.status, response.headers.get("content-type")]).toEqual([200, "text/css; charset=utf-8"]);
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(await response.text()).not.toMatch(/url\(|@import/);
    const etag = response.headers.get("etag") ?? "";
    // A proxy that compresses answers makes the tag a weak one.
    for (const held of [etag, `W/${etag}`, `"other", ${etag}`])
      expect((await fetch(server.url + path, { headers: { "if-none-match": held } })).status).toBe(304);
  });
});

describe("sign-up", () => {
  test("errors are listed with links to their fields, and input is kept except the password", async () => {
    const browser = aBrowser(server.url);
    const page = await browser.submit(await browser.follow("/signup"), { email: 'x"@', password: "short" });
    expect(page.status).toBe(400);
    expect(page.html).toContain('role="alert"');
    expect(page.html.match(/<li><a href="#[^<]*/g)).toEqual([
      '<li><a href="#email">Enter an e-mail address, such as name@example.com.',
      '<li><a href="#password">Choose a password of at least 8 characters.',
    ]);
    expect(page.html).toContain('aria-invalid="true"');
    expect(page.html).toContain('value="x&quot;@"');
    expect(page.html).not.toContain('value="short"');
    const weak = await browser.submit(page, { email: `w${++count}@example.test`, password: "iloveyou" });
    expect([weak.status, weak.html.includes('<a href="#password">')]).toEqual([400, true]);
  });

  test("a taken address returns 409; a new one leads to the account page, gets a mail and can request another", async () => {
    const { email } = await signedIn();
    const browser = aBrowser(server.url);
    const taken = await browser.submit(await browser.follow("/signup"), { email, password: "another horse battery" });
    expect([taken.status, taken.html.includes("already")]).toEqual([409, true]);
    const fresh = `w${++count}@example.test`;
    const joined = await browser.submit(taken, { email: fresh, password: PASSWORD });
    expect([joined.status, joined.url, joined.html.includes(fresh)]).toEqual([
      200,
      expect.stringMatching(/\/account\?done=joined\.[\w-]{43}$/),
      true,
    ]);
    const again = await browser.submit(await browser.follow("/signup/sent"), { email: fresh });
    expect([again.status, again.html.includes("on its way")]).toEqual([200, true]);
    expect(await server.mailsTo(fresh, 2)).toHaveLength(2);
  });
});

describe("sign-in without an application", () => {
  test("leads to the account page; wrong credentials return 401, too many of them 429 with Retry-After", async () => {
    const { email } = await signedIn();
    const browser = aBrowser(server.url);
    let page = await browser.follow("/login");
    for (let guess = 0; guess < 10; guess++) {
      page = await browser.submit(page, { email, password: "wrong" });
      expect([page.status, page.html.includes("Wrong e-mail address or password.")]).toEqual([401, true]);
    }
    page = await browser.submit(page, { email, password: PASSWORD });
    expect(page.status).toBe(429);
    expect(Number(page.headers.get("retry-after"))).toBeGreaterThan(0);
    const { email: other } = await signedIn();
    const account = await browser.submit(page, { email: other, password: PASSWORD });
    expect([account.status, new URL(account.url).pathname]).toEqual([200, "/account"]);
    expect((await browser.request("/login")).headers.get("location")).toBe("/account");
  });

  test("an oversized form, a repeated parameter and a malformed encoding return 4xx", async () => {
    const post = (body: string) =>
      fetch(`${server.url}/login`, { method: "POST", body, headers: { "content-type": "application/x-www-form-urlencoded" } });
    expect((await post("email=a&email=b")).status).toBe(400);
    expect((await post(`email=${"a".repeat(70_000)}`)).status).toBe(413);
    expect((await post("%ff")).status).toBe(400);
  });
});

describe("the account page", () => {
  test("shows consents and removes them", async () => {
    const { browser, email } = await consented();
    const page = await browser.follow("/account");
    expect(page.html).toContain(email);
    expect(page.html).toContain("Field Notes");
    expect(page.html).toContain("Not confirmed");
    const id = /name="consent" value="([^"]+)"/.exec(page.html)?.[1] ?? "";
    const { browser: other } = await consented();
    const foreign = await other.submit(await other.follow("/account"), { consent: id });
    expect(foreign.url).toMatch(/\/account\?done=revoked\.[\w-]{43}$/);
    expect((await browser.follow("/account")).html).toContain(`value="${id}"`);
    const done = await browser.submit(page, { consent: id });
    expect(done.html).toContain("Access removed.");
    expect(done.html).toContain("No application has access");
    expect((await browser.submit(page, { consent: id })).html).toContain("Access removed.");
    expect((await browser.follow(authorizePath())).url).toContain("/consent?");
  });

  test("signs out this browser or all of them", async () => {
    const { browser, email } = await signedIn();
    const elsewhere = aBrowser(server.url);
    await elsewhere.json("/auth/login", { email, password: PASSWORD });
    await elsewhere.submit(await elsewhere.follow("/logout"), { form_token: "" }).catch(() => undefined);
    const page = await browser.follow("/logout");
    const kept = browser.cookies.get("countersign") ?? "";
    const out = await browser.submit(page, { form_token: /name="form_token" value="([^"]+)"/.exec(page.html)?.[1] ?? "" });
    expect(out.html).toContain("You are signed out");
    expect(browser.cookies.has("countersign")).toBe(false);
    browser.cookies.set("countersign", kept);
    expect((await browser.json("/consents", undefined, "GET")).status).toBe(401);
    expect((await elsewhere.json("/consents", undefined, "GET")).status).toBe(200);

    await browser.json("/auth/login", { email, password: PASSWORD });
    await browser.submit(await browser.follow("/account/security"), { everywhere: "yes" });
    expect((await elsewhere.json("/consents", undefined, "GET")).status).toBe(401);
  });

  test("redirects to sign-in without a session", async () => {
    for (const [path, query] of [
      ["/account", ""],
      ["/account?done=named", ""],
      ["/account/agents", "?next=%2Faccount%2Fagents"],
      ["/account/security?done=x", "?next=%2Faccount%2Fsecurity"],
      ["/account/delete", "?next=%2Faccount%2Fdelete"],
    ] as const) {
      const response = await aBrowser(server.url).request(path);
      expect([response.status, response.headers.get("location")]).toEqual([302, `/login${query}`]);
    }
  });

  test("is shown after sign-in at the requested section, also after a wrong password", async () => {
    const { email } = await signedIn();
    const browser = aBrowser(server.url);
    const wrong = await browser.submit(await browser.follow("/account/agents"), { email, password: "wrong" });
    expect(wrong.status).toBe(401);
    const page = await browser.submit(wrong, { email, password: PASSWORD });
    expect([page.status, page.url]).toEqual([200, `${server.url}/account/agents`]);
    expect((await browser.follow("/login?next=/account/security")).url).toBe(`${server.url}/account/security`);
  });

  test("a form that is sent after the session ended redirects to sign-in and back to its page", async () => {
    const { browser, email } = await signedIn();
    const page = await browser.follow("/account/delete");
    const elsewhere = aBrowser(server.url);
    await elsewhere.json("/auth/login", { email, password: PASSWORD });
    await elsewhere.submit(await elsewhere.follow("/account/security"), { everywhere: "yes" });
    const again = await browser.submit(page, {});
    expect(again.url).toBe(`${server.url}/login?next=%2Faccount%2Fdelete`);
    expect((await browser.submit(again, { email, password: PASSWORD })).url).toBe(`${server.url}/account/delete`);
  });

  test("a form that is sent after the user signed out in another tab redirects to sign-in too, and sign-out is confirmed", async () => {
    const { email } = await signedIn();
    const browser = aBrowser(server.url);
    await browser.submit(await browser.follow("/login"), { email, password: PASSWORD });
    const [account, signOut] = [await browser.follow("/account"), await browser.follow("/logout")];
    await browser.submit(await browser.follow("/logout"), {});
    const saved = await browser.submit(account, { firstName: "Ada" });
    expect([saved.status, saved.url]).toEqual([200, `${server.url}/login`]);
    const out = await browser.submit(signOut, {});
    expect([out.status, out.html.includes("You are signed out")]).toEqual([200, true]);
  });

  test("a name of a bidirectional character alone has one fault", async () => {
    const browser = aBrowser(server.url);
    const issues = [{ path: "firstName", message: "Use no control or bidirectional characters." }];
    const account = { email: "bidi@example.test", password: PASSWORD, firstName: "\u202e" };
    expect(await browser.json("/auth/register", account)).toMatchObject({ status: 400, body: { issues } });
  });

  test.for(["\u200b", "\u2800", "\u3164", "\u00ad\u2060"])(
    "a name of %j alone is refused at the form and the endpoint",
    async (firstName) => {
      const { email } = await signedIn();
      const browser = aBrowser(server.url);
      await browser.submit(await browser.follow("/login"), { email, password: PASSWORD });
      const answer = await browser.submit(await browser.follow("/account"), { firstName });
      expect([answer.status, answer.html.includes("Invisible characters are not allowed.")]).toEqual([400, true]);
      const other = { email: `other-${email}`, password: PASSWORD, firstName };
      expect(await browser.json("/auth/register", other)).toMatchObject({
        status: 400,
        body: { issues: [{ path: "firstName", message: "Use at least one visible character." }] },
      });
    },
  );

  test.for([
    "https://evil.example/",
    "//evil.example/account",
    "/\\evil.example",
    "/account/agents/../../logout",
    "/account/agents?done=ended",
    "/account/wallet",
    "/logout",
    "account",
    "",
  ])("sign-in does not redirect to next=%j", async (next) => {
    const { email } = await signedIn();
    const browser = aBrowser(server.url);
    const shown = await browser.follow(`/login?next=${encodeURIComponent(next)}`);
    expect((await browser.submit(shown, { email, password: PASSWORD, next })).url).toBe(`${server.url}/account`);
    expect((await browser.request(`/login?next=${encodeURIComponent(next)}`)).headers.get("location")).toBe("/account");
  });
});

describe("docs/protocol.md#consent: consents", () => {
  test("the list contains the active consents and a CSRF token, and DELETE removes one", async () => {
    const begun = Date.now();
    const { browser } = await consented();
    for (const path of ["/consents", "/consents/"]) {
      const { status, body } = await browser.json(path, undefined, "GET");
      expect(status).toBe(200);
      const [{ id, createdAt }] = body.consents;
      expect(body).toEqual({
        consents: [
          {
            id,
            clientId: "web",
            clientName: "Field Notes",
            scopes: ["openid", "notes:read"],
            resources: [],
            createdAt,
            updatedAt: null,
            lastUsedAt: null,
          },
        ],
        csrfToken: expect.stringMatching(/^[\w-]{43}$/),
      });
      expect(createdAt).toSatisfy((at: number) => at >= begun - 1_000 && at <= Date.now() + 1_000);
    }
    const { consents, csrfToken } = (await browser.json("/consents/", undefined, "GET")).body;
    const remove = (id: string, headers = { "x-csrf-token": csrfToken }) => browser.json(`/consents/${id}`, undefined, "DELETE", headers);
    expect((await remove(consents[0].id)).status).toBe(204);
    expect((await remove(consents[0].id)).status).toBe(404);
    expect((await browser.json("/consents/", undefined, "GET")).body.consents).toEqual([]);
  });

  test("row 64: another user's consent returns 404, a missing or wrong CSRF token 403, no session 401", async () => {
    const { browser: ada } = await consented();
    const { browser: bob } = await consented();
    const adas = (await ada.json("/consents/", undefined, "GET")).body;
    const bobs = (await bob.json("/consents/", undefined, "GET")).body;
    const id = adas.consents[0].id;
    const remove = (browser: typeof ada, path: string, token?: string) =>
      browser.json(`/consents/${path}`, undefined, "DELETE", token === undefined ? {} : { "x-csrf-token": token });
    const foreign = await remove(bob, id, bobs.csrfToken);
    expect([foreign.status, foreign.body.statusCode]).toEqual([404, 404]);
    for (const path of ["no-uuid", "%00", "01900000-0000-7000-8000-00000000dead"]) {
      expect((await remove(bob, path, bobs.csrfToken)).status).toBe(404);
    }
    expect((await remove(ada, id)).status).toBe(403);
    expect((await remove(ada, id, bobs.csrfToken)).status).toBe(403);
    expect((await remove(aBrowser(server.url), id, adas.csrfToken)).status).toBe(401);
    expect((await aBrowser(server.url).json("/consents/", undefined, "GET")).status).toBe(401);
    expect((await ada.json("/consents/", undefined, "GET")).body.consents).toHaveLength(1);
  });

  test("two session cookies count as none", async () => {
    const { browser } = await signedIn();
    const cookie = `countersign=${browser.cookies.get("countersign")}`;
    const ask = (value: string) => fetch(`${server.url}/consents`, { headers: { cookie: value } }).then(({ status }) => status);
    expect(await ask(cookie)).toBe(200);
    expect(await ask(`${cookie}; ${cookie}`)).toBe(401);
  });
});
