import { describe, expect } from "vitest";
import { operatorAt, refusedWith } from "../support/admin.ts";
import { codeOf, setUpAt, tokenIn, withApp, withForm } from "../support/authenticator-app.ts";
import { aBrowser, type Browser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { claimsOf, PASSWORD } from "../support/flow.ts";
import { PROVISIONED, type TestServer, testOn } from "../support/server.ts";

const [MFA, PHR] = ["urn:countersign:mfa", "phr"] as const;
const VAULT = "https://vault.example.test/mcp";
const test = testOn({
  provision: {
    ...PROVISIONED,
    resources: [{ resource: VAULT, scopes: [{ name: "notes:write", stepUp: { acr: MFA, maxAge: 600 } }] }],
  },
});

/** A browser at the page that asks for the code. */
async function afterPassword(browser: Browser, email: string, path = "/login") {
  const page = await browser.submit(await browser.follow(path), { email, password: PASSWORD });
  expect(page.url).toContain("/login/code?step=");
  return page;
}

const codesLeft = async (server: TestServer, userId: string): Promise<number> =>
  (await runText(server.database.sql, "select 1 from recovery_codes where user_id = $1::uuid", [userId])).length;

/** Runs `work` while a statement is run after each one of a kind, as another tab might. */
async function afterChange(change: string, server: TestServer, text: string, work: () => Promise<void>): Promise<void> {
  const { sql } = server.database;
  await runText(sql, `create function another_tab() returns trigger language plpgsql as $$ begin ${text}; return null; end $$`);
  await runText(sql, `create trigger another_tab after ${change} for each statement execute function another_tab()`);
  try {
    await work();
  } finally {
    await runText(sql, "drop function another_tab() cascade");
  }
}

describe("docs/protocol.md#second-factor", () => {
  test("a form whose session ends while it waits for the user's row leads to sign-in", async ({ server }) => {
    const { id, setUp } = await withApp(server);
    const form = withForm(await setUp.follow("/account/security"), "/account/security/app/codes");
    const { kind, sql } = server.database;
    let sent = Promise.resolve(form);
    await sql.transaction(async (tx) => {
      await runText(tx, "select 1 from users where id = $1::uuid for no key update", [id]);
      sent = setUp.submit(form, { form_token: tokenIn(form.html) });
      // The embedded database has one connection: there the form waits for it, and then finds no session.
      const waits = "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
      while (kind === "postgresql" && (await runText(tx, waits)).length === 0);
      await runText(tx, "update sessions set ended_at = now() where user_id = $1::uuid", [id]);
    });
    expect((await sent).url).toContain("/login?next=");
  });

  test("after the password a user with an app is asked for a code, which counts once; tokens then say mfa", async ({ server }) => {
    const { email, browser, secret } = await withApp(server);
    browser.cookies.clear();
    const path = server.authorizeUrl(server.clients.web, { code_challenge: CHALLENGE, scope: "openid", acr_values: MFA });
    const page = await afterPassword(browser, email, path);
    const code = codeOf(secret, 1);
    expect(page.html).not.toContain("inputmode"); // recovery codes have letters
    expect(page.html).toContain("neither the app nor a recovery code? Ask an administrator of ");
    const wrong = await browser.submit(page, { code: "123456" });
    expect([wrong.status, wrong.url]).toEqual([401, `${server.url}/login/code`]);
    const consent = await browser.submit(wrong, { code });
    expect(consent.html).toContain('name="decision"');
    const back = await browser.submit(consent, { decision: "approve" });
    const redeemed = new URL(back.url).searchParams.get("code") ?? "";
    const fields = {
      grant_type: "authorization_code",
      code: redeemed,
      redirect_uri: server.clients.web.redirectUri,
      code_verifier: VERIFIER,
    };
    const { body } = await server.token(server.clients.web, fields);
    expect(claimsOf(body.id_token)).toMatchObject({ acr: MFA, amr: ["pwd", "otp", "mfa"] });
    browser.cookies.clear();
    const again = await browser.submit(await afterPassword(browser, email), { code });
    expect(again.status).toBe(401);
  });

  test("a reload of the page with the recovery codes leads to the security page, where new ones can be made", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const form = withForm(await browser.follow("/account/security"), "/account/security/app/begin");
    const page = await browser.submit(form, { form_token: tokenIn(form.html) });
    const secret = /secret=([A-Z2-7]+)/.exec(page.html)?.[1] ?? "";
    const send = () => browser.submit(page, { code: codeOf(secret) });
    expect((await send()).html).toContain("Your recovery codes");
    const reloaded = await send();
    expect([reloaded.status, reloaded.url]).toEqual([200, `${server.url}/account/security`]);
    expect(reloaded.html).toContain("Make new codes");
  });

  test("new recovery codes are shown as such", async ({ server }) => {
    const { setUp } = await withApp(server);
    const form = withForm(await setUp.follow("/account/security"), "/account/security/app/codes");
    const { html } = await setUp.submit(form, { form_token: tokenIn(form.html) });
    expect(/<h1[^>]*>([^<]+)</.exec(html)?.[1]).toBe("New recovery codes");
  });

  test("an app is not confirmed by what is no code", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const form = withForm(await browser.follow("/account/security"), "/account/security/app/begin");
    const page = await browser.submit(form, { form_token: tokenIn(form.html) });
    expect(page.html).toContain('autocomplete="one-time-code" inputmode="numeric"');
    expect(page.html).toMatch(/<a href="otpauth:\/\/totp\/[^"]+secret=[A-Z2-7]+/);
    expect(page.html).not.toContain("autofocus"); // the code to scan comes first
    for (const code of ["", "12345", "1234567", "12345a", "000000"]) {
      const answer = await browser.submit(page, { code });
      expect(answer.html).toMatch(/<input id="code"[^>]* autofocus/);
      expect([code, answer.status, answer.html.includes("That code is not right.")]).toEqual([code, 401, true]);
      expect(answer.html).not.toContain("use a recovery code");
    }
  });

  test("an app that waits for its first code is shown and confirmed in its own session alone", async ({ server }) => {
    const { email, browser: thief } = await server.signedInUser();
    const form = withForm(await thief.follow("/account/security"), "/account/security/app/begin");
    const begun = await thief.submit(form, { form_token: tokenIn(form.html) });
    const secret = /secret=([A-Z2-7]+)/.exec(begun.html)?.[1] ?? "";
    const browser = aBrowser(server.url);
    await browser.json("/auth/login", { email, password: PASSWORD });
    const security = await browser.follow("/account/security/app");
    expect([new URL(security.url).pathname, security.html.includes(secret)]).toEqual(["/account/security", false]);
    const sent = await browser.submit(begun, { form_token: tokenIn(security.html), code: codeOf(secret) });
    expect(new URL(sent.url).pathname).toBe("/account/security");
    expect((await thief.submit(begun, { code: codeOf(secret) })).html).toContain("recovery codes");
  });

  test("an app whose session another tab has replaced has to be begun again, and the page says so", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const form = withForm(await browser.follow("/account/security"), "/account/security/app/begin");
    const begun = await browser.submit(form, { form_token: tokenIn(form.html) });
    const secret = /secret=([A-Z2-7]+)/.exec(begun.html)?.[1] ?? "";
    await browser.submit(await browser.follow("/account/security/password"), { password: "another long password" });
    const over = "The set-up of your authenticator app was not completed. Begin it again.";
    const reloaded = await browser.follow(begun.url);
    expect([new URL(reloaded.url).pathname, reloaded.html.includes(over)]).toEqual(["/account/security", true]);
    expect(reloaded.html).toMatch(/href="\/account\/security\?done=appOver\.[^"]+&amp;lang=de"/);
    const sent = await browser.submit(begun, { form_token: tokenIn(reloaded.html), code: codeOf(secret) });
    expect([new URL(sent.url).pathname, sent.html.includes(over)]).toEqual(["/account/security", true]);
    const again = withForm(reloaded, "/account/security/app/begin");
    await setUpAt(browser, await browser.submit(again, { form_token: tokenIn(again.html) }));
    const back = await browser.follow(begun.url);
    expect([back.url, back.html.includes(over)]).toEqual([`${server.url}/account/security`, false]);
  });

  test("an app that another tab has begun again is to be scanned again, and the page says so", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const form = withForm(await browser.follow("/account/security"), "/account/security/app/begin");
    const begin = () => browser.submit(form, { form_token: tokenIn(form.html) });
    const [one, two] = [await begin(), await begin()];
    const secret = /secret=([A-Z2-7]+)/.exec(one.html)?.[1] ?? "";
    const replaced = "The set-up was begun again in another tab. Scan this code instead of the one before.";
    const sent = await browser.submit(one, { code: codeOf(secret) });
    expect([sent.status, sent.html.includes(replaced), sent.html.includes("That code is not right.")]).toEqual([401, true, false]);
    const wrong = await browser.submit(two, { code: "000000" });
    expect([wrong.html.includes(replaced), wrong.html.includes("That code is not right.")]).toEqual([false, true]);
    await setUpAt(browser, sent);
  });

  test("recovery codes are shown also where the session ends just after the app was confirmed", async ({ server }) => {
    const { id, browser } = await server.signedInUser();
    const form = withForm(await browser.follow("/account/security"), "/account/security/app/begin");
    const begun = await browser.submit(form, { form_token: tokenIn(form.html) });
    const ended = `update sessions set ended_at = now() where user_id = '${id}'`;
    await afterChange("update on authenticator_apps", server, ended, async () => void (await setUpAt(browser, begun)));
  });

  test("recovery codes are shown also where the database cannot raise the session just after the app was confirmed", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const form = withForm(await browser.follow("/account/security"), "/account/security/app/begin");
    const begun = await browser.submit(form, { form_token: tokenIn(form.html) });
    const busy = "raise exception 'busy' using errcode = 'lock_not_available'";
    await afterChange("insert on sessions", server, busy, async () => void (await setUpAt(browser, begun)));
  });

  test("two tabs are asked side by side, and each goes on to its own request", async ({ server }) => {
    const { email, browser, recovery } = await withApp(server);
    browser.cookies.clear();
    const request = (state: string) =>
      server.authorizeUrl(server.clients.web, { code_challenge: CHALLENGE, scope: "openid", state, prompt: "login" });
    const one = await afterPassword(browser, email, request("one"));
    const two = await afterPassword(browser, email, request("two"));
    for (const [page, code, state] of [
      [two, recovery[0], "two"],
      [one, recovery[1], "one"],
    ] as const) {
      let visit = await browser.submit(page, { code: code ?? "" });
      if (visit.html.includes('name="decision"')) visit = await browser.submit(visit, { decision: "approve" });
      expect(new URL(visit.url).searchParams.get("state")).toBe(state);
    }
  });

  test("a sign-in that waits for the code belongs to its browser", async ({ server }) => {
    const { email, browser, recovery } = await withApp(server);
    browser.cookies.clear();
    const page = await afterPassword(browser, email);
    const visitor = browser.cookies.get("countersign-visitor");
    browser.cookies.clear();
    expect((await browser.submit(page, { code: recovery[0] ?? "" })).status).toBe(403);
    expect((await browser.follow(page.url)).html).toContain("That took too long. Sign in again.");
    browser.cookies.set("countersign-visitor", visitor ?? "");
    expect((await browser.submit(page, { code: recovery[0] ?? "" })).url).toBe(`${server.url}/account`);
  });

  test("a sign-in that waits for the code is completed once, also by several right codes at once", async ({ server }) => {
    const { id, email, browser, recovery } = await withApp(server);
    browser.cookies.clear();
    const page = await afterPassword(browser, email);
    await Promise.all(recovery.map((code) => browser.submit(page, { code })));
    const started = "select 1 from audit_records where user_id = $1 and event = 'session.started' and reason = 'second_factor'";
    expect(await runText(server.database.sql, started, [id])).toHaveLength(1);
    expect(await codesLeft(server, id)).toBe(9);
  });

  test.for(["the app", "recovery"])(
    "a form with a code of %s that is sent several times at once is nowhere called wrong",
    async (kind, { server }) => {
      const { id, email, browser, secret, recovery } = await withApp(server);
      browser.cookies.clear();
      const page = await afterPassword(browser, email);
      const code = kind === "recovery" ? (recovery[0] ?? "") : codeOf(secret, 1);
      const answers = await Promise.all(Array.from({ length: 4 }, () => browser.submit(page, { code })));
      for (const { html } of answers) expect(html).not.toContain("That code is not right");
      const refused = "select 1 from audit_records where user_id = $1 and event = 'session.refused'";
      expect(await runText(server.database.sql, refused, [id])).toEqual([]);
    },
  );

  test("a code that comes too late leads back to the sign-in, which says so and leads on as before", async ({ server }) => {
    const { email, browser, recovery } = await withApp(server);
    browser.cookies.clear();
    const page = await afterPassword(browser, email, "/login?next=/account/security/password");
    await runText(server.database.sql, "update proof_challenges set expires_at = now()");
    const late = await browser.submit(page, { code: recovery[0] ?? "" });
    expect([new URL(late.url).pathname, late.html.includes("That took too long. Sign in again.")]).toEqual(["/login", true]);
    const code = await browser.submit(late, { email, password: PASSWORD });
    expect((await browser.submit(code, { code: recovery[0] ?? "" })).url).toBe(`${server.url}/account/security/password`);
  });

  test.for(["right", "wrong"])("a %s code whose sign-in ends leads to a new one, and is no failure", async (kind, { server }) => {
    const { id, email, browser, recovery } = await withApp(server);
    browser.cookies.clear();
    const page = await afterPassword(browser, email, "/login?next=/account/security/password");
    const failures = () => runText(server.database.sql, "select key, failures from sign_in_failures where failures > 0 order by key");
    const before = await failures();
    await afterChange("insert or update on sign_in_failures", server, "delete from proof_challenges", async () => {
      const late = await browser.submit(page, { code: kind === "right" ? (recovery[0] ?? "") : "AAAA-AAAA-AAAA-AAAA" });
      expect(late.html).toContain("That took too long. Sign in again.");
      expect(new URL(late.url).searchParams.get("next")).toBe("/account/security/password");
    });
    expect(await failures()).toEqual(before);
    const refused = "select reason from audit_records where user_id = $1 and event = 'session.refused'";
    expect(await runText(server.database.sql, refused, [id])).toEqual([]);
    expect(await codesLeft(server, id)).toBe(10);
  });

  test.for(["right", "wrong"])("a %s code whose session ends leads to the sign-in", async (kind, { server }) => {
    const { id, browser, recovery } = await withApp(server);
    const page = await browser.follow("/account/security/password");
    expect(page.url).toContain("/login/code?step=&");
    await afterChange(
      "insert or update on sign_in_failures",
      server,
      `update sessions set ended_at = now() where user_id = '${id}'`,
      async () => {
        const late = await browser.submit(page, { code: kind === "right" ? (recovery[0] ?? "") : "AAAA-AAAA-AAAA-AAAA" });
        expect(late.html).toContain("That took too long. Sign in again.");
      },
    );
    expect(await codesLeft(server, id)).toBe(10);
  });

  test("a code that was to prove the user again comes too late: the page says so, and asks for everything", async ({ server }) => {
    const { id, browser, recovery } = await withApp(server);
    const page = await browser.follow("/account/security/password");
    expect(page.url).toContain("/login/code?step=&");
    await runText(server.database.sql, "update sessions set proved_at = now() - interval '1 hour' where user_id = $1::uuid", [id]);
    const late = await browser.submit(page, { code: recovery[0] ?? "" });
    expect([late.html.includes("Confirm that it is you"), late.html.includes("That took too long. Sign in again.")]).toEqual([true, true]);
  });

  test.for(["the app", "recovery"])("64 uses of one code, of %s: one sign-in", async (kind, { server }) => {
    const { email, browser, secret, recovery } = await withApp(server);
    const code = kind === "recovery" ? recovery[0] : codeOf(secret, 1);
    const answers = await Promise.all(Array.from({ length: 64 }, () => browser.json("/auth/login", { email, password: PASSWORD, code })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const { status } of answers) expect([200, 401, 429, 503]).toContain(status);
  });

  test("POST /auth/login needs the code too, and takes a recovery code once", async ({ server }) => {
    const { email, browser, recovery } = await withApp(server);
    const login = (code?: string) => browser.json("/auth/login", { email, password: PASSWORD, ...(code !== undefined && { code }) });
    expect([(await login()).status, (await login("AAAA-AAAA-AAAA-AAAA")).status]).toEqual([401, 401]);
    expect([(await login(recovery[0]?.toLowerCase())).status, (await login(recovery[0])).status]).toEqual([200, 401]);
    await expect.poll(() => server.mailTo(email) ?? "").toContain("recovery code");
    const once = (code?: string) =>
      browser.json("/auth/login?session=false", { email, password: PASSWORD, ...(code !== undefined && { code }) });
    expect([(await once()).status, (await once(recovery[1])).status, (await once(recovery[1])).status]).toEqual([401, 200, 401]);
  });

  test("eleven wrong codes from any addresses are one too many, and the right password does not clear them", async ({ server }) => {
    const { email, browser, recovery } = await withApp(server);
    const login = (code: string) => browser.json("/auth/login", { email, password: PASSWORD, code });
    const statuses = [];
    for (let n = 0; n < 10; n++) statuses.push((await login(`${100_000 + n}`)).status);
    expect(new Set(statuses)).toEqual(new Set([401]));
    expect((await login(recovery[0] ?? "")).status).toBe(429);
  });

  test("a new password by mail keeps the second factor", async ({ server }) => {
    const { email, browser } = await withApp(server);
    browser.cookies.clear();
    await browser.json("/auth/forgot-password", { email });
    const { verificationToken } = server;
    const token = await verificationToken(email, "/reset");
    const password = "another long password";
    expect((await browser.json("/auth/reset-password", { token, password })).status).toBe(200);
    expect((await browser.json("/auth/login", { email, password })).status).toBe(401);
  });

  test("a scope that demands mfa is granted after the second step, and no lesser session passes", async ({ server }) => {
    const { email, browser, recovery } = await withApp(server);
    const asked = { resource: VAULT, scope: "notes:write", code_challenge: CHALLENGE };
    expect((await browser.follow(server.authorizeUrl(server.clients.web, { ...asked, prompt: "none" }))).url).toContain(
      "error=login_required",
    );
    const code = await browser.follow(server.authorizeUrl(server.clients.web, asked));
    expect(code.url).toContain("/login/code?step=&request="); // the password was proved a moment ago
    const consent = await browser.submit(code, { code: recovery[0] ?? "" });
    const back = await browser.submit(consent, { decision: "approve" });
    expect(back.url).toContain("code=");
    expect((await browser.follow(server.authorizeUrl(server.clients.web, { ...asked, acr_values: PHR }))).url).toContain("code=");
    expect(email).toBeTruthy();
  });

  test("an operator sees factors and sessions and removes the app, which is mailed; a realm can demand a second factor", async ({
    server,
  }) => {
    const { email, id: userId, browser, recovery } = await withApp(server);
    const operator = await operatorAt(server.url);
    const app = { addedAt: expect.any(Number), recoveryCodes: 10 };
    expect(await operator.factors.list.query({ userId })).toEqual({ authenticatorApp: app, passkeys: [] });
    const { realms } = await operator.realms.list.query();
    const id = realms.find(({ name }) => name === "default")?.id ?? "";
    await operator.realms.setRequiredAcr.mutate({ id, requiredAcr: MFA });
    const asked = server.authorizeUrl(server.clients.web, { code_challenge: CHALLENGE, scope: "openid" });
    const code = await browser.follow(asked);
    expect(code.url).toContain("/login/code?step=&request=");
    expect((await browser.submit(code, { code: recovery[0] ?? "" })).html).toContain('name="decision"');
    await operator.realms.setRequiredAcr.mutate({ id, requiredAcr: null });
    await operator.factors.removeApp.mutate({ userId });
    expect(await refusedWith(operator.factors.removeApp.mutate({ userId }))).toMatchObject({ error: "not_found" });
    expect((await browser.json("/auth/login", { email, password: PASSWORD })).status).toBe(200);
    await expect.poll(() => server.mailTo(email) ?? "").toContain("turned off");
    const { records } = await operator.audit.list.query({ userId, event: "second_factor.removed" });
    expect(records).toMatchObject([{ reason: "by_operator" }]);
    expect((await operator.sessions.list.query({ userId })).sessions).toHaveLength(2);
    await operator.sessions.end.mutate({ userId });
    expect((await operator.sessions.list.query({ userId })).sessions).toEqual([]);
  });

  test("turning it off needs a proof with the code, is mailed, and is recorded", async ({ server }) => {
    const { email, browser, recovery } = await withApp(server);
    const submit = async () => {
      const form = withForm(await browser.follow("/account/security"), "/account/security/app/remove");
      return browser.submit(form, { form_token: tokenIn(form.html) });
    };
    const { html } = await browser.follow("/account/security");
    expect(html).toContain("To use another phone, turn this off and set it up again.");
    // Neither is done by the first touch.
    for (const step of ["codes", "remove"])
      expect(html).toMatch(new RegExp(`<details><summary>[^<]+</summary>\\s*<p [^>]*>[^<]+</p>\\s*<form [^>]*/app/${step}"`));
    const asked = await submit();
    expect(asked.url).toContain("/login/code?step=");
    expect((await browser.submit(asked, { code: recovery[0] ?? "" })).url).toContain("/account/security");
    expect((await submit()).html).toContain("Two-step sign-in has been turned off.");
    expect((await browser.json("/auth/login", { email, password: PASSWORD })).status).toBe(200);
    await expect.poll(() => server.mailTo(email) ?? "").toContain("turned off");
  });
});

describe("docs/protocol.md#step-up: a user without the class that is demanded", () => {
  const asked = (server: TestServer, more: object = {}) =>
    server.authorizeUrl(server.clients.web, { resource: VAULT, scope: "notes:write", code_challenge: CHALLENGE, ...more });

  test("sets it up within the application's request, in two tabs, and gets the code without another one", async ({ server }) => {
    const { browser, id, email } = await server.signedInUser();
    const tabs = [await browser.follow(asked(server, { state: "one" })), await browser.follow(asked(server, { state: "two" }))] as const;
    for (const { url, html } of tabs) {
      expect(url).toContain("/login/set-up?request=");
      for (const words of ["Set up a stronger sign-in", "Set up an authenticator app", "Not now"]) expect(html).toContain(words);
    }
    const [one, two] = tabs;
    await runText(server.database.sql, "update sessions set proved_at = now() - interval '1 hour' where user_id = $1::uuid", [id]);
    const proof = await browser.submit(withForm(two, "/account/security/app/begin"), {});
    expect([proof.url.includes("/login?again=yes&request="), proof.html.includes("Confirm")]).toEqual([true, true]);
    const offered = await browser.submit(proof, { email, password: PASSWORD });
    expect(offered.url).toContain("/login/set-up?request=");
    const page = await browser.submit(withForm(offered, "/account/security/app/begin"), {});
    expect(page.url).toContain("/account/security/app?request=");
    const { codes } = await setUpAt(browser, page);
    const consent = await browser.follow(/href="(\/consent\?request=[^"]+)"/.exec(codes.html)?.[1] ?? "");
    const ends = [await browser.submit(consent, { decision: "approve" }), await browser.follow(one.url)];
    expect(ends.map(({ url }) => [new URL(url).searchParams.get("state"), url.includes("code=")])).toEqual([
      ["two", true],
      ["one", true],
    ]);
  });

  test("whose session is replaced during the set-up begins it again within the application's request", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const offered = await browser.follow(asked(server, { state: "one" }));
    const begun = await browser.submit(withForm(offered, "/account/security/app/begin"), {});
    await browser.submit(await browser.follow("/account/security/password"), { password: "another long password" });
    const reloaded = await browser.follow(begun.url);
    expect(new URL(reloaded.url).pathname).toBe("/login/set-up");
    expect(reloaded.html).toContain("The set-up of your authenticator app was not completed. Begin it again.");
    await setUpAt(browser, await browser.submit(withForm(reloaded, "/account/security/app/begin"), {}));
    const back = await browser.follow(begun.url);
    expect(back.html).toContain('name="decision"');
  });

  test("can go back to the application, which gets the reason", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const page = await browser.follow(asked(server));
    const back = await browser.submit(page, { later: "yes" });
    expect(new URL(back.url).searchParams.get("error")).toBe("unmet_authentication_requirements");
    expect((await aBrowser(server.url).follow(page.url)).status).toBe(400); // another browser knows no such request
    expect((await browser.follow(asked(server, { prompt: "none" }))).url).toContain("error=login_required");
  });

  test("of a realm that demands it is led there by the next sign-in, and gets no token before", async ({ server }) => {
    const { browser, email } = await server.signedInUser();
    const operator = await operatorAt(server.url);
    const { realms } = await operator.realms.list.query();
    const id = realms.find(({ name }) => name === "default")?.id ?? "";
    await operator.realms.setRequiredAcr.mutate({ id, requiredAcr: MFA });
    browser.cookies.clear();
    const page = await browser.submit(await browser.follow("/login?next=/account/agents"), { email, password: PASSWORD });
    expect(page.url).toBe(`${server.url}/login/set-up?next=%2Faccount%2Fagents`);
    expect((await browser.submit(page, { later: "yes" })).url).toBe(`${server.url}/account/agents`);
    expect((await browser.follow(server.authorizeUrl(server.clients.web, { code_challenge: CHALLENGE, scope: "openid" }))).url).toContain(
      "/login/set-up?request=",
    );
    const login = await aBrowser(server.url).json("/auth/login", { email, password: PASSWORD });
    expect([login.status, login.body.access_token]).toEqual([403, undefined]);
    expect(login.body.message).toContain("Sign in through a browser, which helps to set it up.");
    await setUpAt(browser, await browser.submit(withForm(page, "/account/security/app/begin"), {}));
    expect((await browser.follow(server.authorizeUrl(server.clients.web, { code_challenge: CHALLENGE, scope: "openid" }))).html).toContain(
      'name="decision"',
    );
    await operator.realms.setRequiredAcr.mutate({ id, requiredAcr: null });
  });
});

const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";
