import { expect } from "vitest";
import type { Browser, Visit } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { expired } from "../support/expired.ts";
import { claimsOf, PASSWORD } from "../support/flow.ts";
import { describe, type TestServer, test } from "../support/server.ts";

type Fields = Record<string, string | undefined>;
const authorizePath = (server: TestServer, fields: Fields) =>
  server.authorizeUrl(server.clients.web, { code_challenge: server.pkce().challenge, scope: "openid", ...fields });

/** The parameters of the redirect to the client. */
const redirectParams = ({ url }: Pick<Visit, "url">) => Object.fromEntries(new URLSearchParams(url.slice(url.indexOf("?") + 1)));
const ask = async (server: TestServer, browser: Browser, fields: Fields) =>
  redirectParams(await browser.follow(authorizePath(server, fields)));

/** A signed-in user who has allowed `openid`, with an ID token. */
async function ready(server: TestServer) {
  const user = await server.signedInUser();
  const tokens = await server.tokens(server.clients.web, user.browser, { scope: "openid" });
  return { ...user, tokens, idToken: tokens.id_token as string };
}

// Some of these wait for another second of the clock, each with a user of its own: they wait together.
describe("OIDC Core §3.1.2.1", { concurrent: true }, () => {
  test("display, ui_locales, claims_locales, acr_values, claims and unknown parameters are ignored", async ({ server }) => {
    const { browser } = await ready(server);
    const ignored = {
      display: "wap",
      ui_locales: "tlh",
      claims_locales: "fr",
      acr_values: "urn:x gold",
      claims: '{"userinfo":{}}',
      foo: "bar",
    };
    expect(await ask(server, browser, ignored)).toMatchObject({ code: expect.any(String), state: "st" });
    expect(await ask(server, browser, { prompt: "create" })).toMatchObject({ code: expect.any(String) });
  });

  test("a repeated parameter is reported to the client, also beside ui_locales", async ({ server }) => {
    const { browser } = await ready(server);
    const { url } = await browser.follow(`${authorizePath(server, { ui_locales: "de" })}&nonce=a&nonce=b`);
    expect(redirectParams({ url })).toMatchObject({ error: "invalid_request", state: "st" });
  });

  test("id_token_hint of the same user is accepted, expired or not; that of another user returns login_required", async ({ server }) => {
    const [one, other] = [await ready(server), await ready(server)];
    for (const id_token_hint of [one.idToken, expired(server, one.idToken)]) {
      expect(await ask(server, one.browser, { id_token_hint })).toHaveProperty("code");
      expect(await ask(server, one.browser, { id_token_hint, prompt: "none" })).toHaveProperty("code");
      expect(await ask(server, other.browser, { id_token_hint })).toMatchObject({ error: "login_required", state: "st" });
    }
  });

  test("id_token_hint may be an ID token with the longest nonce and name", async ({ server }) => {
    const { browser, email } = await server.signedInUser({ email: `${"a".repeat(50)}@example.test` });
    await runText(server.database.sql, "update users set first_name = $1, last_name = $1 where email = $2", ["名".repeat(100), email]);
    const fields = { scope: "openid profile email", nonce: "n".repeat(512), acr_values: "1" };
    const { id_token: idToken } = await server.tokens(server.clients.web, browser, fields);
    expect(idToken.length).toBeGreaterThan(2048);
    expect(await ask(server, browser, { ...fields, id_token_hint: idToken })).toHaveProperty("code");
  });

  test("id_token_hint that is not an ID token of this server returns invalid_request", async ({ server }) => {
    const { browser, tokens, idToken } = await ready(server);
    for (const id_token_hint of [tokens.access_token as string, `${idToken.slice(0, -4)}AAAA`, "x"])
      expect(await ask(server, browser, { id_token_hint })).toMatchObject({ error: "invalid_request" });
  });

  test("login_hint fills in the address, also while another user is signed in", async ({ server }) => {
    const { browser, email } = await ready(server);
    const filled = async (fields: Fields) => {
      const { html } = await browser.follow(authorizePath(server, { prompt: "select_account", ...fields }));
      return [/<h1[^>]*>([^<]*)/.exec(html)?.[1], /name="email"[^>]* value="([^"]*)"/.exec(html)?.[1]];
    };
    expect(await filled({ login_hint: "other@example.test" })).toEqual(["Sign in", "other@example.test"]);
    for (const login_hint of [email, email.toUpperCase()]) expect(await filled({ login_hint })).toEqual(["Confirm that it is you", email]);
    expect(await filled({})).toEqual(["Confirm that it is you", email]);
  });

  test.for([
    ["prompt=login", { prompt: "login" }],
    ["prompt=select_account", { prompt: "select_account" }],
    ["max_age=0", { max_age: "0" }],
  ] as const)("%s requires a new sign-in, and the ID token has its auth_time", async ([, fields], { server }) => {
    const { browser, email, idToken } = await ready(server);
    const { verifier, challenge } = server.pkce();
    const before = claimsOf(idToken).auth_time;
    await new Promise((resolve) => setTimeout(resolve, 1_100));
    const page = await browser.follow(authorizePath(server, { ...fields, code_challenge: challenge }));
    expect(page.url).toContain("/login?request=");
    const { code = "" } = redirectParams(await browser.submit(page, { email, password: PASSWORD }));
    const redirect = { redirect_uri: server.clients.web.redirectUri, code_verifier: verifier };
    const { body } = await server.token(server.clients.web, { grant_type: "authorization_code", code, ...redirect });
    expect(claimsOf(body.id_token).auth_time).toBeGreaterThan(before);
  });

  test("max_age: an older sign-in returns login_required with prompt=none, and a malformed value returns invalid_request", async ({
    server,
  }) => {
    const { browser } = await ready(server);
    await new Promise((resolve) => setTimeout(resolve, 2_100));
    expect(await ask(server, browser, { max_age: "1", prompt: "none" })).toMatchObject({ error: "login_required" });
    expect(await ask(server, browser, { max_age: "10000", prompt: "none" })).toHaveProperty("code");
    for (const max_age of ["-1", "1.5", "soon", "9999999999"])
      expect(await ask(server, browser, { max_age })).toMatchObject({ error: "invalid_request" });
  });

  test("prompt=consent shows the consent page although everything is allowed, and prompt=login consent shows both pages", async ({
    server,
  }) => {
    const { browser, email } = await ready(server);
    const page = await browser.follow(authorizePath(server, { prompt: "consent" }));
    expect(page.html).toContain('name="decision"');
    expect(redirectParams(await browser.submit(page, { decision: "approve" }))).toHaveProperty("code");
    const form = await browser.follow(authorizePath(server, { prompt: "login consent" }));
    const asked = await browser.submit(form, { email, password: PASSWORD });
    expect(asked.html).toContain('name="decision"');
    expect(redirectParams(await browser.submit(asked, { decision: "deny" }))).toMatchObject({ error: "access_denied" });
  });

  test("POST /oauth/authorize redirects with 303 to a GET with the same result, and returns the same errors", async ({ server }) => {
    const { browser } = await ready(server);
    const send = (fields: Fields) =>
      browser.request("/oauth/authorize", {
        method: "POST",
        body: new URLSearchParams(authorizePath(server, fields).split("?")[1]),
        headers: { origin: "https://app.example.test" },
      });
    const good = await send({});
    expect([good.status, good.headers.get("location")?.startsWith("https://app.example.test")]).toEqual([303, false]);
    expect(redirectParams(await browser.follow(good.headers.get("location") ?? ""))).toMatchObject({
      code: expect.any(String),
      state: "st",
    });
    const silent = await send({ prompt: "none", max_age: "10000" });
    expect(redirectParams(await browser.follow(silent.headers.get("location") ?? ""))).toHaveProperty("code");
    const bad = await send({ code_challenge: undefined });
    expect([bad.status, redirectParams({ url: bad.headers.get("location") ?? "" })]).toMatchObject([
      303,
      { error: "invalid_request", state: "st" },
    ]);
    const lost = await send({ redirect_uri: "https://evil.test/" });
    expect([lost.status, lost.headers.get("location")]).toEqual([400, null]);
  });
});

describe("OIDC Core §11 offline_access", () => {
  test("is named on the consent page, and not asked for again once it is allowed", async ({ server }) => {
    const { browser } = await ready(server);
    const silent = { scope: "openid offline_access", prompt: "none" };
    expect(await ask(server, browser, silent)).toMatchObject({ error: "consent_required" });
    const page = await browser.follow(authorizePath(server, { scope: "openid offline_access" }));
    expect(page.html).toContain("Keep access while you are away");
    expect(redirectParams(await browser.submit(page, { decision: "approve" }))).toHaveProperty("code");
    expect(await ask(server, browser, silent)).toHaveProperty("code");
  });

  test("is not named on the consent page of a client without refresh tokens", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const asks = { code_challenge: server.pkce().challenge, scope: "openid offline_access" };
    const page = await browser.follow(server.authorizeUrl(server.clients.oneShot, asks));
    expect(page.html).toContain('name="decision"');
    expect(page.html).not.toContain("Keep access while you are away");
    await browser.submit(page, { decision: "approve" });
    const account = await browser.follow("/account");
    expect(account.html).toContain("Know who you are");
    expect(account.html).not.toContain("Keep access while you are away");
  });

  test("does not decide about refresh tokens: the grants of the client do", async ({ server }) => {
    const { browser } = await server.signedInUser();
    for (const scope of ["openid", "openid offline_access"]) {
      expect(await server.tokens(server.clients.web, browser, { scope })).toHaveProperty("refresh_token");
      expect(await server.tokens(server.clients.oneShot, browser, { scope })).not.toHaveProperty("refresh_token");
    }
  });
});
