import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { csrfToken } from "../../src/front/http/cookies.ts";
import { aBrowser, type Browser, formsOf, type Visit } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { authorizePath, type PagesServer, startPagesServer } from "../support/pages-server.ts";

const PASSWORD = "correct horse battery";

let server: PagesServer;
beforeAll(async () => {
  server = await startPagesServer();
});
afterAll(() => server.close());

let count = 0;
async function account() {
  const email = `p${++count}@example.test`;
  await aBrowser(server.url).json("/auth/register", { email, password: PASSWORD }, "POST", { "x-forwarded-for": `192.0.2.${count}` });
  return email;
}

async function signedIn() {
  const email = await account();
  const browser = aBrowser(server.url);
  await browser.json("/auth/login", { email, password: PASSWORD });
  return { email, browser };
}

/** A signed-in user who has allowed the request. */
async function consented(members: Parameters<typeof authorizePath>[0] = {}) {
  const user = await signedIn();
  const visit = await user.browser.submit(await user.browser.follow(authorizePath(members)), { decision: "approve" });
  expect(visit.status).toBe(303);
  return user;
}

/** The parameters of the redirect to the client, each with all its values. */
function redirectParams({ url }: Pick<Visit, "url">): Record<string, string[]> {
  expect(url).toMatch(/^https:\/\/app\.example\.test\/cb\?/);
  const query = new URLSearchParams(url.slice(url.indexOf("?") + 1));
  return Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)]));
}

const paramsOf302 = async (browser: Browser, path: string) => {
  const visit = await browser.follow(path);
  expect(visit.status).toBe(302);
  return redirectParams(visit);
};

describe("docs/protocol.md#authorization-request: sign-in and consent", () => {
  test("row 10: the redirect has code, state and iss, each exactly once", async () => {
    const email = await account();
    const browser = aBrowser(server.url);
    const form = await browser.follow(authorizePath());
    expect(form.url).toContain("/login?request=");
    expect(form.html).toContain("Field Notes");
    expect(form.html).toContain("app.example.test");
    const consent = await browser.submit(form, { email, password: PASSWORD });
    expect(consent.url).toContain("/consent?request=");
    const done = await browser.submit(consent, { decision: "approve" });
    expect(done.status).toBe(303);
    expect(redirectParams(done)).toEqual({ code: [expect.stringMatching(/^[\w-]{43}$/)], state: ["st&1"], iss: [server.url] });
  });

  test("HEAD of the consent page issues no code to a request that is covered by a consent", async () => {
    const { email } = await consented();
    const browser = aBrowser(server.url);
    const form = await browser.follow(authorizePath());
    await browser.json("/auth/login", { email, password: PASSWORD });
    const path = new URL(form.url.replace("/login?", "/consent?"));
    const head = await browser.request(path.pathname + path.search, { method: "HEAD" });
    expect([head.status, head.headers.get("location")]).toEqual([200, null]);
    expect(await paramsOf302(browser, path.pathname + path.search)).toMatchObject({ state: ["st&1"] });
  });

  test("a request that is covered by a consent redirects at once without a page", async () => {
    const { browser } = await consented();
    const response = await browser.request(authorizePath());
    expect([response.status, response.headers.get("cache-control")]).toEqual([302, "no-store"]);
    expect(redirectParams({ url: response.headers.get("location") ?? "" })).toMatchObject({ state: ["st&1"], iss: [server.url] });
  });

  test("denying returns access_denied and stores no consent", async () => {
    const { browser } = await signedIn();
    const done = await browser.submit(await browser.follow(authorizePath()), { decision: "deny" });
    expect(done.status).toBe(303);
    expect(redirectParams(done)).toEqual({
      error: ["access_denied"],
      error_description: [expect.any(String)],
      state: ["st&1"],
      iss: [server.url],
    });
    expect((await browser.json("/consents", undefined, "GET")).body.consents).toEqual([]);
  });

  test("row 14: a wider scope or another resource requires consent again, and the page separates what is new", async () => {
    const { browser } = await consented();
    const wider = await browser.follow(authorizePath({ scope: "openid notes:read notes:write" }));
    expect(wider.html).toContain("asks for more access");
    const [asked = "", known = ""] = wider.html.split("Already allowed");
    expect(asked).toContain("notes:write");
    expect(asked).not.toContain("notes:read");
    expect(known).toContain("notes:read");
    const elsewhere = await browser.follow(authorizePath({ resource: "https://mail.example.test/mcp" }));
    expect(elsewhere.html).toContain("mail.example.test/mcp");
    expect(elsewhere.html).toContain('name="decision"');
  });

  test("row 14: a scope that is allowed at one resource requires consent again at another and without a resource", async () => {
    const { browser } = await signedIn();
    const allow = async (fields: Parameters<typeof authorizePath>[0]) => {
      const page = await browser.follow(authorizePath(fields));
      expect(page.html).toContain('name="decision"');
      expect((await browser.submit(page, { decision: "approve" })).status).toBe(303);
    };
    const [notes, mail] = ["https://notes.example.test/mcp", "https://mail.example.test/mcp"] as const;
    await allow({ scope: "openid notes:read", resource: notes });
    await allow({ scope: "openid", resource: mail });
    await allow({ scope: "notes:read", resource: mail });
    await allow({ scope: "notes:read" });
    for (const resource of [notes, mail, undefined]) {
      const skipped = await browser.request(authorizePath({ scope: "notes:read", resource }));
      expect([resource, skipped.status, skipped.headers.get("location")]).toEqual([resource, 302, expect.stringContaining("code=")]);
    }
  });

  test("a consent that is full takes no further resource: the client gets invalid_target, and what was allowed stays", async () => {
    const notes = "https://notes.example.test/mcp";
    const { email, browser } = await consented({ resource: notes });
    await runText(
      server.database.sql,
      `update consents set allowed = allowed || (select jsonb_object_agg('https://' || n || '.example.test/' || repeat('r', 1000), '["openid"]'::jsonb) from generate_series(1, 64) n)
       where user_id = (select id from users where email = $1)`,
      [email],
    );
    const page = await browser.follow(authorizePath({ resource: "https://mail.example.test/mcp" }));
    expect(redirectParams(await browser.submit(page, { decision: "approve" }))).toEqual({
      error: ["invalid_target"],
      error_description: [expect.stringContaining("as many resources as one consent holds")],
      state: ["st&1"],
      iss: [server.url],
    });
    expect(await paramsOf302(browser, authorizePath({ resource: notes }))).toHaveProperty("code");
  });

  test("a decision is accepted once and for the offer that was shown; another decision or one 31 s later returns 400", async () => {
    const { browser } = await signedIn();
    const page = await browser.follow(authorizePath());
    const again = await browser.submit(page, { decision: "approve", offer: "something else" });
    expect(again.url).toContain("/consent?ask=yes&request=");
    expect((await browser.submit(page, { decision: "approve" })).status).toBe(303);
    const other = await browser.submit(page, { decision: "deny" });
    expect([other.status, other.headers.get("location")]).toEqual([400, null]);
    const wait = "update pending_requests set expires_at = expires_at - interval '31 seconds'";
    await server.database.sql.query({ name: "wait_for_answers", text: wait }, []);
    const late = await browser.submit(page, { decision: "approve" });
    expect([late.status, late.headers.get("location")]).toEqual([400, null]);
    expect((await browser.submit(await browser.follow(authorizePath({ prompt: "consent" })), { decision: "maybe" })).status).toBe(400);
  });

  test("a decision does not count for another name of the application than was shown", async () => {
    const { browser } = await signedIn();
    const rename = (name: string) => runText(server.database.sql, "update clients set name = $1 where client_id = 'web'", [name]);
    const page = await browser.follow(authorizePath());
    await rename("Your Bank");
    const again = await browser.submit(page, { decision: "approve" });
    expect([again.status, again.html.includes("Your Bank")]).toEqual([200, true]);
    await rename("Field Notes");
    expect((await browser.json("/consents", undefined, "GET")).body.consents).toEqual([]);
  });

  test.for(["approve", "deny"] as const)(
    "%s sent twice, as by a double click, returns the same redirect and is recorded once",
    async (decision) => {
      const { browser, email } = await signedIn();
      const page = await browser.follow(authorizePath({ scope: "openid offline_access", prompt: "consent" }));
      const [first, second] = [await browser.submit(page, { decision }), await browser.submit(page, { decision })];
      expect([second.status, second.url]).toEqual([first.status, first.url]);
      expect(redirectParams(first)).toHaveProperty(decision === "approve" ? "code" : "error");
      const event = decision === "approve" ? "consent.given" : "consent.denied";
      const { consents } = (await browser.json("/consents", undefined, "GET")).body;
      expect(consents).toHaveLength(decision === "approve" ? 1 : 0);
      const records = "select 1 from audit_records where event = $1 and user_id = (select id::text from users where email = $2)";
      expect(await server.database.sql.query({ name: "decisions_of_a_user", text: records }, [event, email])).toHaveLength(1);
    },
  );

  test("denying returns access_denied although the user has allowed the same in another tab", async () => {
    const { browser } = await signedIn();
    const [one, other] = [await browser.follow(authorizePath()), await browser.follow(authorizePath())];
    await browser.submit(other, { decision: "approve" });
    expect(redirectParams(await browser.submit(one, { decision: "deny" }))).toMatchObject({ error: ["access_denied"] });
  });

  test("32 concurrent approvals and 32 denials: one decision returns the same redirect each time, the other 400", async () => {
    const { browser } = await signedIn();
    const page = await browser.follow(authorizePath());
    const decisions = Array.from({ length: 64 }, (_, index) => (index % 2 === 0 ? "approve" : "deny"));
    const answers = await Promise.all(decisions.map(async (decision) => ({ decision, ...(await browser.submit(page, { decision })) })));
    const accepted = new Set(answers.filter(({ status }) => status === 303).map(({ decision }) => decision));
    expect(answers.filter(({ decision, status }) => accepted.has(decision) && status !== 303)).toEqual([]);
    expect(accepted.size).toBe(1);
    expect(new Set(answers.filter(({ status }) => status === 303).map(({ url }) => url)).size).toBe(1);
    expect(answers.filter(({ status }) => status === 400)).toHaveLength(32);
  });

  test("a decision counts after the same user has signed in again in another tab, and not for another user", async () => {
    const { browser, email } = await signedIn();
    const page = await browser.follow(authorizePath());
    const other = await account();
    await browser.json("/auth/login", { email: other, password: PASSWORD });
    const asked = await browser.submit(page, { decision: "approve" });
    expect([asked.status, asked.html.includes(other)]).toEqual([200, true]);
    expect((await browser.json("/consents", undefined, "GET")).body.consents).toEqual([]);
    await browser.json("/auth/login", { email, password: PASSWORD });
    expect((await browser.submit(page, { decision: "approve" })).url).toContain("code=");
  });

  test("two requests that ask a signed-in user to sign in again are answered in two tabs", async () => {
    const { browser, email } = await signedIn();
    const [one, two] = [await browser.follow(authorizePath({ prompt: "login" })), await browser.follow(authorizePath({ prompt: "login" }))];
    for (const page of [one, two]) {
      const asked = await browser.submit(page, { email, password: PASSWORD });
      expect([asked.status, new URL(asked.url).pathname]).toEqual([200, "/consent"]);
    }
  });

  test("Deny on the page of another user refuses, also where the present one has consented before", async () => {
    const { browser } = await signedIn();
    const other = await account();
    const page = await browser.follow(authorizePath());
    await browser.json("/auth/login", { email: other, password: PASSWORD });
    expect((await browser.submit(await browser.follow(authorizePath()), { decision: "approve" })).url).toContain("code=");
    expect((await browser.submit(page, { decision: "deny" })).url).toContain("error=access_denied");
  });

  test("Allow on the page of another user asks the present one, also one who has consented before", async () => {
    const { browser } = await signedIn();
    const other = await account();
    const page = await browser.follow(authorizePath());
    await browser.json("/auth/login", { email: other, password: PASSWORD });
    expect((await browser.submit(await browser.follow(authorizePath()), { decision: "approve" })).url).toContain("code=");
    const asked = await browser.submit(page, { decision: "approve" });
    expect([asked.status, asked.html.includes(other), asked.html.includes('name="decision"')]).toEqual([200, true, true]);
    expect((await browser.follow(`${asked.url}&lang=de`)).html).toContain('name="decision"');
    expect((await browser.submit(asked, { decision: "approve" })).url).toContain("code=");
  });

  test("another user in the same browser cannot repeat a decision", async () => {
    const [{ browser }, other] = [await signedIn(), await account()];
    const page = await browser.follow(authorizePath());
    await browser.submit(page, { decision: "approve" });
    await browser.json("/auth/login", { email: other, password: PASSWORD });
    const form_token = csrfToken(browser.cookies.get("countersign") ?? "", `consent ${new URL(page.url).searchParams.get("request")}`);
    expect((await browser.submit(page, { decision: "approve", form_token })).status).toBe(400);
    expect((await browser.json("/consents", undefined, "GET")).body.consents).toEqual([]);
  });

  test("the consent page requires a session, and an unknown request returns a page with 400", async () => {
    const { browser } = await signedIn();
    const page = await browser.follow(authorizePath());
    browser.cookies.delete("countersign");
    expect((await browser.follow(page.url)).url).toContain("/login?request=");
    for (const path of ["/consent", "/consent?request=unknown", "/login?request=unknown"]) {
      const answer = await browser.request(path);
      expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
      expect(answer.headers.get("content-type")).toContain("text/html");
    }
  });

  test("a pending request returns 400 in another browser than the one that started it, signed in or not", async () => {
    const { browser } = await signedIn();
    const page = await browser.follow(authorizePath());
    const id = new URL(page.url).searchParams.get("request") ?? "";
    const { browser: thief } = await signedIn();
    const own = await thief.follow(authorizePath());
    for (const other of [thief, aBrowser(server.url)]) {
      for (const path of [`/consent?request=${id}`, `/login?request=${id}`, `/login?request=${id}&switch=1`]) {
        const answer = await other.request(path);
        expect([path, answer.status, answer.headers.get("location")]).toEqual([path, 400, null]);
      }
    }
    const form_token = csrfToken(thief.cookies.get("countersign") ?? "", `consent ${id}`);
    const taken = await thief.submit(own, { decision: "approve", request: id, form_token });
    expect([taken.status, taken.headers.get("location")]).toEqual([400, null]);
    expect((await browser.submit(page, { decision: "approve" })).status).toBe(303);
  });

  test("concurrent requests of a signed-in browser all lead to the consent page", async () => {
    const { browser } = await signedIn();
    const begun = await Promise.all([1, 2, 3].map(() => browser.request(authorizePath())));
    for (const { headers } of begun) expect((await browser.follow(headers.get("location") ?? "")).html).toContain('name="decision"');
  });

  test("concurrent requests of a known browser without a session all lead to the sign-in page", async () => {
    const email = await account();
    const browser = aBrowser(server.url);
    await browser.submit(await browser.follow("/login"), { email, password: PASSWORD });
    for (const name of browser.cookies.keys()) if (name !== "countersign-device") browser.cookies.delete(name);
    const begun = await Promise.all([1, 2, 3].map(() => browser.request(authorizePath())));
    for (const { headers } of begun) expect((await browser.follow(headers.get("location") ?? "")).html).toContain('name="password"');
  });

  test("a pending request stores only known parameters", async () => {
    const browser = aBrowser(server.url);
    await browser.follow(authorizePath({ nonce: "only-here", unknown: "x".repeat(8000) }));
    const text = "select query from pending_requests where query like '%only-here%'";
    const rows = await server.database.sql.query<{ query: string }>({ name: "kept_of_a_request", text }, []);
    expect(rows.map(({ query }) => query.length < 500 && query.includes("state=st%261"))).toEqual([true]);
  });

  test.for([
    ["state", "s".repeat(2049)],
    ["nonce", "n".repeat(513)],
    ["nonce", "ü".repeat(100)],
    ["login_hint", "h".repeat(513)],
    ["id_token_hint", "h".repeat(3201)],
    ["resource", Array.from({ length: 9 }, (_, n) => `https://r${n}.example.test/${"r".repeat(450)}`)],
  ] as const)("%s that is too long returns invalid_request by redirect to the client", async ([name, value]) => {
    const error = await paramsOf302(aBrowser(server.url), authorizePath({ [name]: value }));
    expect(error).toMatchObject({ error: ["invalid_request"], error_description: [expect.stringMatching(/is too long: at most \d+/)] });
  });

  test("another account can be chosen on the consent page", async () => {
    const other = await account();
    const { email, browser } = await signedIn();
    const page = await browser.follow(authorizePath());
    expect(page.html).toContain(email);
    const form = await browser.follow(`${page.url}&switch=1`.replace("/consent?", "/login?"));
    const consent = await browser.submit(form, { email: other, password: PASSWORD });
    expect(consent.html).toContain(other);
  });

  test("POST redirects with 303 to a GET, which has the session cookie", async () => {
    const { browser } = await consented();
    const query = authorizePath().split("?")[1] ?? "";
    const body = new URLSearchParams(query);
    const response = await fetch(`${server.url}/oauth/authorize`, { method: "POST", body, redirect: "manual" });
    expect(response.status).toBe(303);
    expect(redirectParams(await browser.follow(response.headers.get("location") ?? ""))).toMatchObject({ code: [expect.any(String)] });
  });
});

describe("a request without a valid client or redirect URI", () => {
  const wrong = [
    [authorizePath({ client_id: "unknown" }), "invalid_client", "This client is not known here."],
    [authorizePath({ redirect_uri: "https://evil.test/<b>" }), "invalid_request", "redirect_uri is not registered for this client."],
    [authorizePath({ redirect_uri: undefined }), "invalid_request", "redirect_uri is missing."],
  ] as const;

  test.for(wrong)("%s returns a page with the error of the JSON in the language of the browser", async ([path, error, description]) => {
    for (const [language, title] of [
      ["en", error === "invalid_client" ? "Unknown application" : "This app&#39;s link does not work"],
      ["de", error === "invalid_client" ? "Unbekannte Anwendung" : "Der Link dieser App funktioniert nicht"],
    ] as const) {
      const headers = { accept: "text/html,application/xhtml+xml,*/*;q=0.8", "accept-language": language };
      const page = await fetch(server.url + path, { headers, redirect: "manual" });
      expect([page.status, page.headers.get("location"), page.headers.get("www-authenticate")]).toEqual([400, null, null]);
      expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
      const text = await page.text();
      for (const fact of [title, error, description]) expect(text).toContain(fact);
      expect(text).not.toMatch(/href="[^"]*evil|<b>/);
    }
  });

  test.for<[name: string, sent: string, shown: string, remedy: string]>([
    ["redirect_uri", "https://evil.test/<b> call us", "https://evil.test/&lt;b&gt;%20call%20us", "or add this one"],
    ["redirect_uri", `https://evil.test/${"a".repeat(500)}`, `https://evil.test/${"a".repeat(282)}…<`, "or add this one"],
    ["redirect_uri", "custom:kö\u202e", "custom:k%C3%B6%E2%80%AE", "or add this one"],
    ["client_id", "un known", "un%20known", "Compare it"],
  ])("the page shows the %s that was sent, %s, as text without blanks, and the remedy", async ([name, sent, shown, remedy]) => {
    const query = authorizePath({ [name]: sent }).split("?")[1] ?? "";
    const headers = { accept: "text/html" };
    const request = { method: "POST", body: new URLSearchParams(query), headers } as const;
    const pages = [
      await fetch(`${server.url}/oauth/authorize?${query}`, { headers }),
      await fetch(`${server.url}/oauth/authorize`, request),
    ];
    for (const page of await Promise.all(pages.map((each) => each.text()))) {
      for (const part of [`${name}: <`, shown, remedy]) expect(page).toContain(part);
      expect(page).not.toMatch(/href="[^"]*evil|<b>/);
    }
  });

  test.for(wrong)("%s returns JSON to other clients", async ([path, error, error_description]) => {
    for (const accept of [undefined, "*/*", "application/json", "application/json, text/html;q=0.9", "image/png"]) {
      const response = await fetch(server.url + path, { headers: accept === undefined ? {} : { accept }, redirect: "manual" });
      expect([accept, response.status, response.headers.get("content-type")]).toEqual([accept, 400, "application/json"]);
      expect(await response.json()).toEqual({ error, error_description });
    }
  });
});

describe("OIDC Core §3.1.2.1", () => {
  test("prompt=none returns login_required, consent_required or a code, never a page", async () => {
    expect(await paramsOf302(aBrowser(server.url), authorizePath({ prompt: "none" }))).toMatchObject({ error: ["login_required"] });
    const { browser } = await signedIn();
    expect(await paramsOf302(browser, authorizePath({ prompt: "none" }))).toMatchObject({ error: ["consent_required"], state: ["st&1"] });
    const { browser: ready } = await consented();
    expect(await paramsOf302(ready, authorizePath({ prompt: "none" }))).toMatchObject({ code: [expect.any(String)] });
    expect(await paramsOf302(ready, authorizePath({ prompt: "none login" }))).toMatchObject({ error: ["invalid_request"] });
  });

  test.for<[string, Parameters<typeof authorizePath>[0]]>([
    ["prompt=login", { prompt: "login" }],
    ["max_age=0", { max_age: "0" }],
  ])("%s requires the password again", async ([, members]) => {
    const { browser, email } = await consented();
    const before = browser.cookies.get("countersign");
    const form = await browser.follow(authorizePath(members));
    expect(form.html).toContain("Confirm that it is you");
    expect(form.html).not.toContain("Create an account");
    expect(form.html).toContain(`value="${email}"`);
    expect((await browser.follow(form.url.replace("/login?", "/consent?"))).url).toBe(form.url);
    const wrong = await browser.submit(form, { email, password: "wrong" });
    expect(wrong.status).toBe(401);
    const done = await browser.submit(wrong, { email, password: PASSWORD });
    expect(redirectParams(done)).toMatchObject({ code: [expect.any(String)] });
    expect(browser.cookies.get("countersign")).not.toBe(before);
  });

  test("login_hint fills in the address, and a recent sign-in satisfies max_age", async () => {
    const form = await aBrowser(server.url).follow(authorizePath({ login_hint: 'a"b@example.test' }));
    expect(form.html).toContain('value="a&quot;b@example.test"');
    const { browser } = await consented();
    expect(await paramsOf302(browser, authorizePath({ max_age: "10000" }))).toMatchObject({ code: [expect.any(String)] });
  });
});

describe("errors of the authorization request", () => {
  const CLIENT_UNKNOWN = { client_id: "unknown" };
  test.for<[string, Parameters<typeof authorizePath>[0], string]>([
    ["an unknown client_id", CLIENT_UNKNOWN, "invalid_client"],
    ["a missing client_id", { client_id: undefined }, "invalid_request"],
    ["a repeated client_id", { client_id: ["web", "web"] }, "invalid_request"],
    ["an unknown client_id with a redirect_uri", { ...CLIENT_UNKNOWN, redirect_uri: "https://evil.test/cb" }, "invalid_client"],
    ["a missing redirect_uri", { redirect_uri: undefined }, "invalid_request"],
    ["a redirect_uri with an additional slash", { redirect_uri: "https://app.example.test/cb/" }, "invalid_request"],
    ["a redirect_uri with an additional query", { redirect_uri: "https://app.example.test/cb?x=1" }, "invalid_request"],
    ["a redirect_uri on a longer host", { redirect_uri: "https://app.example.test.evil.test/cb" }, "invalid_request"],
    ["a redirect_uri with the host as its user", { redirect_uri: "https://app.example.test@evil.test/cb" }, "invalid_request"],
  ])("rows 1, 2, 6, 17: returns 400 JSON without a redirect for %s", async ([, members, error]) => {
    for (const browser of [aBrowser(server.url), (await signedIn()).browser]) {
      const response = await browser.request(authorizePath(members));
      expect([response.status, response.headers.get("location")]).toEqual([400, null]);
      expect(response.headers.get("content-type")).toContain("application/json");
      expect(await response.json()).toMatchObject({ error });
    }
  });

  test.for<[string, Parameters<typeof authorizePath>[0], string]>([
    ["a missing code_challenge", { code_challenge: undefined }, "invalid_request"],
    ["a missing code_challenge_method", { code_challenge_method: undefined }, "invalid_request"],
    ["code_challenge_method=plain", { code_challenge_method: "plain" }, "invalid_request"],
    ["code_challenge_method=s256", { code_challenge_method: "s256" }, "invalid_request"],
    ["a missing response_type", { response_type: undefined }, "invalid_request"],
    ["response_type=token", { response_type: "token" }, "unsupported_response_type"],
    ["response_type=id_token", { response_type: "id_token" }, "unsupported_response_type"],
    ["response_type=code token", { response_type: "code token" }, "unsupported_response_type"],
    ["an unknown scope", { scope: "admin" }, "invalid_scope"],
    ["a repeated scope", { scope: ["openid", "openid"] }, "invalid_request"],
    ["a resource with a fragment", { resource: "https://x.test/#f" }, "invalid_target"],
    ["a request object", { request: "x" }, "request_not_supported"],
    ["authorization_details", { authorization_details: '[{"type":"x"}]' }, "invalid_authorization_details"],
    ["response_mode=form_post", { response_mode: "form_post" }, "invalid_request"],
    ["response_mode=fragment without a response_type", { response_mode: "fragment", response_type: undefined }, "invalid_request"],
    ["a repeated response_mode", { response_mode: ["query", "query"] }, "invalid_request"],
    ["an id_token_hint that is not a token", { id_token_hint: "x" }, "invalid_request"],
  ])(
    "rows 7, 8, docs/protocol.md#authorization-request-errors: refuses %s by redirect with state and iss, before sign-in",
    async ([, members, error]) => {
      const answer = await paramsOf302(aBrowser(server.url), authorizePath(members));
      expect(answer).toMatchObject({ error: [error], state: ["st&1"], iss: [server.url] });
      expect(answer).not.toHaveProperty("code");
    },
  );

  test("row 17: a repeated state returns invalid_request", async () => {
    expect(await paramsOf302(aBrowser(server.url), authorizePath({ state: ["a", "b"] }))).toMatchObject({ error: ["invalid_request"] });
  });

  test.for(["\r\nSet-Cookie: x=1", '"><script>alert(1)</script>', "ü €"])("row 9: state %j is returned percent-encoded", async (state) => {
    const { browser } = await consented();
    const response = await browser.request(authorizePath({ state }));
    const location = response.headers.get("location") ?? "";
    expect(location).toMatch(/^[\x21-\x7e]+$/);
    expect(location).not.toContain("<");
    expect(redirectParams({ url: location }).state).toEqual([state]);
    expect(response.headers.getSetCookie()).toEqual([]);
  });
});

describe("row 12: cross-site form submissions", () => {
  const FOREIGN: readonly Record<string, string>[] = [
    { origin: "https://evil.test" },
    { origin: "null" },
    { origin: "null", "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ];

  async function send(browser: Browser, page: Visit, entries: Record<string, string>, headers: Record<string, string>) {
    const [form] = formsOf(page.html, page.url);
    const body = new URLSearchParams({ ...form?.fields, ...entries });
    return browser.request(form?.action ?? "", { method: "POST", body, headers });
  }

  test("sign-in without the form token, with that of another browser or from another origin returns 403 and no session", async () => {
    const email = await account();
    const browser = aBrowser(server.url);
    const other = await aBrowser(server.url).follow("/login");
    const page = await browser.follow("/login");
    const entries = { email, password: PASSWORD };
    const foreign = await Promise.all(FOREIGN.map((headers) => send(browser, page, entries, headers)));
    const bare = await send(browser, page, { ...entries, form_token: "" }, {});
    const borrowed = await send(browser, other, entries, {});
    for (const response of [...foreign, bare, borrowed]) {
      expect([response.status, response.headers.get("location")]).toEqual([403, null]);
      expect(response.headers.getSetCookie()).toEqual([]);
      expect(response.headers.get("content-type")).toContain("text/html");
    }
    expect((await send(browser, page, entries, { origin: "null", "sec-fetch-site": "same-origin" })).status).toBe(303);
  });

  test("consent without the form token or from another origin returns 403 and no code", async () => {
    const { browser } = await signedIn();
    const page = await browser.follow(authorizePath());
    for (const headers of FOREIGN) expect((await send(browser, page, { decision: "approve" }, headers)).status).toBe(403);
    expect((await send(browser, page, { decision: "approve", form_token: "x" }, {})).status).toBe(403);
    expect((await browser.json("/consents", undefined, "GET")).body.consents).toEqual([]);
    const { browser: another } = await signedIn();
    expect((await send(another, page, { decision: "approve" }, {})).status).toBe(403);
  });

  test("account forms without the form token return 403, and sign-out asks for confirmation", async () => {
    const { browser } = await consented();
    const page = await browser.follow("/account");
    const sent = await browser.request("/logout", { method: "POST", body: new URLSearchParams({ email: "a@example.test" }) });
    expect([sent.status, sent.headers.get("location")]).toEqual([303, expect.stringMatching(/^\/logout\?/)]); // the page that asks for confirmation
    for (const path of ["/account/revoke", "/account/resend", "/signup", "/signup/resend"]) {
      const response = await browser.request(path, { method: "POST", body: new URLSearchParams({ email: "a@example.test" }) });
      expect(response.status).toBe(403);
    }
    expect((await browser.follow("/account")).html).toBe(page.html);
  });
});

describe("row 13", () => {
  test("a session planted before sign-in is replaced and ended", async () => {
    const { browser: attacker } = await signedIn();
    const planted = attacker.cookies.get("countersign") ?? "";
    const email = await account();
    const victim = aBrowser(server.url);
    victim.cookies.set("countersign", planted);
    const form = await victim.follow(`${(await victim.follow(authorizePath())).url.replace("/consent?", "/login?")}&switch=1`);
    await victim.submit(form, { email, password: PASSWORD });
    expect(victim.cookies.get("countersign")).not.toBe(planted);
    expect((await attacker.json("/consents", undefined, "GET")).status).toBe(401);
  });
});

describe("row 15: names that clients give themselves", () => {
  test("are escaped, without control characters, and shown with hosts in punycode", async () => {
    const { browser } = await signedIn();
    const members = { client_id: await server.registerDeceiver(), redirect_uri: "https://xn--pple-43d.example/cb", scope: "openid" };
    const stranger = await aBrowser(server.url).follow(authorizePath(members));
    const page = await browser.follow(authorizePath(members));
    for (const { html } of [stranger, page]) {
      expect(html).toContain("&lt;img src=x onerror=alert(1)&gt;knaB");
      for (const gone of ["<img src=x", "\u202e", "\u200d", "\u0007"]) expect(html).not.toContain(gone);
      expect(html).toContain("xn--pple-43d.example");
    }
    expect(page.html).toContain("We have not verified who made this app");
    expect(page.html).toContain("not verified");
    expect((await browser.follow(authorizePath())).html).not.toContain("not verified");
  });

  test("are shown with one caution, and with scopes without a description in one item", async () => {
    const { browser } = await signedIn();
    const members = { client_id: "device", redirect_uri: "http://127.0.0.1:49152/cb", scope: "openid notes:read notes:write" };
    const { html } = await browser.follow(authorizePath(members));
    expect(html.match(/role="note"/g)).toHaveLength(1);
    expect(html).toMatch(
      /<summary[^>]*><bdi>notes:read<\/bdi>, <bdi>notes:write<\/bdi><\/summary>\s*<ul class="known"><li><bdi>notes:read<\/bdi><\/li><li><bdi>notes:write<\/bdi><\/li><\/ul>/,
    );
  });

  test("are shown with a redirect to the user's own device and with the stage of the client", async () => {
    const { browser } = await signedIn();
    const page = await browser.follow(authorizePath({ client_id: "device", redirect_uri: "http://127.0.0.1:49152/cb" }));
    expect(page.html).toContain("127.0.0.1:49152");
    expect(page.html).toContain("The app runs on this device");
    expect((await browser.follow(authorizePath({ client_id: "draft" }))).html).toContain("Preview version");
  });
});
