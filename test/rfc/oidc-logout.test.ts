import type { AdminClient } from "@countersign/admin";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminAs, refusedWith } from "../support/admin.ts";
import { aBrowser, type Browser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { expired } from "../support/expired.ts";
import { formBody, PASSWORD } from "../support/flow.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";

const BACK = "https://app.example.test/signed-out?from=countersign";

let server: TestServer;
let admin: AdminClient;
beforeAll(async () => {
  const more: Readonly<Record<string, object>> = {
    web: { postLogoutRedirectUris: [BACK] },
    other: { postLogoutRedirectUris: [BACK], environment: "development", backchannelLogoutUri: "http://localhost:9/logout" },
  };
  const clients = PROVISIONED.clients.map((client) => ({ ...client, ...more[client.clientId] }));
  server = await startServer({ provision: { ...PROVISIONED, clients } });
  admin = (await adminAs(server.url)).admin;
});
afterAll(() => server.close());

/** A signed-in user with an ID token. */
async function signedIn() {
  const user = await server.signedInUser();
  const { id_token: hint } = await server.tokens(server.clients.web, user.browser, { scope: "openid" });
  return { ...user, hint: hint as string };
}

const path = (fields: Record<string, string | readonly string[] | undefined>): string => `/logout?${formBody(fields)}`;
const isSignedIn = async (browser: Browser): Promise<boolean> => (await browser.json("/consents", undefined, "GET")).status === 200;

describe("OpenID Connect RP-Initiated Logout §2", () => {
  test("an ID token of the user ends the session without confirmation and redirects to the registered URI with state", async () => {
    const { browser, hint } = await signedIn();
    const answer = await browser.request(path({ id_token_hint: hint, client_id: "web", post_logout_redirect_uri: BACK, state: "a b&c" }));
    expect([answer.status, answer.headers.get("location")]).toEqual([302, `${BACK}&state=a%20b%26c`]);
    expect(await isSignedIn(browser)).toBe(false);
  });

  test("without state the redirect goes exactly to the registered URI; without a redirect URI a page confirms the sign-out", async () => {
    const first = await signedIn();
    const bare = await first.browser.request(path({ id_token_hint: first.hint, post_logout_redirect_uri: BACK }));
    expect(bare.headers.get("location")).toBe(BACK);
    const second = await signedIn();
    const page = await second.browser.follow(path({ id_token_hint: second.hint }));
    expect(page.html).toContain("You are signed out");
    expect(await isSignedIn(second.browser)).toBe(false);
  });

  test("HEAD ends no session", async () => {
    const { browser, hint } = await signedIn();
    expect((await browser.request(path({ id_token_hint: hint }), { method: "HEAD" })).status).toBe(200);
    expect(await isSignedIn(browser)).toBe(true);
  });

  test("an expired hint is accepted, and a sign-out without a session is no error", async () => {
    const { browser, hint } = await signedIn();
    const late = path({ id_token_hint: expired(server, hint), post_logout_redirect_uri: BACK });
    for (const live of [true, false]) {
      expect(await isSignedIn(browser)).toBe(live);
      const answer = await browser.request(late);
      expect([answer.status, answer.headers.get("location")]).toEqual([302, BACK]);
    }
  });

  test("POST redirects with 303 to a GET, which has the session cookie and ends the session", async () => {
    const { browser, hint } = await signedIn();
    const body = formBody({ id_token_hint: hint, post_logout_redirect_uri: BACK, state: "x\r\ny" });
    const sent = await fetch(new URL("/logout", server.url), {
      method: "POST",
      body,
      redirect: "manual",
      headers: { origin: "https://app.example.test" },
    });
    expect(sent.status).toBe(303);
    expect(await isSignedIn(browser)).toBe(true);
    const answer = await browser.request(sent.headers.get("location") ?? "");
    expect(answer.headers.get("location")).toBe(`${BACK}&state=x%0D%0Ay`);
    expect(await isSignedIn(browser)).toBe(false);
  });

  test.for([
    ["no parameters", {}],
    ["state alone", { state: "s" }],
    ["logout_hint alone", { logout_hint: "ada" }],
    ["ui_locales alone", { ui_locales: "de" }],
  ] as const)("asks the user after a POST with %s", async ([, members]) => {
    const { browser } = await signedIn();
    const sent = await fetch(new URL("/logout", server.url), {
      method: "POST",
      body: formBody(members),
      redirect: "manual",
      headers: { origin: "https://app.example.test" },
    });
    expect(sent.status).toBe(303);
    const page = await browser.follow(sent.headers.get("location") ?? "");
    expect([page.status, await isSignedIn(browser)]).toEqual([200, true]);
    expect(page.html).toContain('name="form_token"');
  });

  test("without a hint the user is asked to confirm, and is not redirected to the client; the tokens of the sign-in end too", async () => {
    const { browser, login } = await signedIn();
    const page = await browser.follow(path({ client_id: "web", post_logout_redirect_uri: BACK, state: "s" }));
    expect([page.status, await isSignedIn(browser)]).toEqual([200, true]);
    const done = await browser.submit(page, { form_token: /name="form_token" value="([^"]+)"/.exec(page.html)?.[1] ?? "" });
    expect(done.url).toBe(`${server.url}/logout`);
    expect(await isSignedIn(browser)).toBe(false);
    const refresh = { grant_type: "refresh_token", refresh_token: String(login.refresh_token), client_id: "countersign" };
    expect((await server.form("/oauth/token", refresh)).body.error).toBe("invalid_grant");
  });

  test("a hint of another user signs no one out, and the user is asked to confirm", async () => {
    const [one, other] = [await signedIn(), await signedIn()];
    const answer = await one.browser.request(path({ id_token_hint: other.hint, post_logout_redirect_uri: BACK }));
    expect([answer.status, answer.headers.get("location")]).toEqual([200, null]);
    expect(await answer.text()).toContain(one.email);
    expect(await isSignedIn(one.browser)).toBe(true);
  });

  test("a hint of another session of the user signs no one out before the user agrees, who then returns to the client", async () => {
    const { browser, email } = await server.signedInUser();
    const hintOf = async () => (await server.tokens(server.clients.other, browser, { scope: "openid" })).id_token as string;
    const earlier = await hintOf();
    await browser.request(path({ id_token_hint: earlier }));
    await browser.json("/auth/login", { email, password: PASSWORD });
    const page = await browser.follow(path({ id_token_hint: earlier, post_logout_redirect_uri: BACK, state: "s&" }));
    expect([page.status, await isSignedIn(browser)]).toEqual([200, true]);
    const done = await browser.submit(page, { form_token: /name="form_token" value="([^"]+)"/.exec(page.html)?.[1] ?? "" });
    expect([done.url, await isSignedIn(browser)]).toEqual([`${BACK}&state=s%26`, false]);
    await browser.json("/auth/login", { email, password: PASSWORD });
    const at = await browser.request(path({ id_token_hint: await hintOf(), post_logout_redirect_uri: BACK }));
    expect([at.headers.get("location"), await isSignedIn(browser)]).toEqual([BACK, false]);
  });

  test("a request that is no longer valid when the user agrees ends the session, and shows that it has ended", async () => {
    const [one, other] = [await signedIn(), await signedIn()];
    const page = await one.browser.follow(path({ id_token_hint: other.hint, post_logout_redirect_uri: BACK }));
    const token = /name="form_token" value="([^"]+)"/.exec(page.html)?.[1] ?? "";
    const done = await one.browser.submit(page, { form_token: token, post_logout_redirect_uri: "https://evil.test/" });
    expect([done.url, await isSignedIn(one.browser)]).toEqual([`${server.url}/logout`, false]);
  });

  test("an invalid request returns 400 in the user's language without a redirect, and the session stays", async () => {
    const { browser, hint, login } = await signedIn();
    const cases: readonly Record<string, string | string[]>[] = [
      { id_token_hint: hint, post_logout_redirect_uri: `${BACK}&x=1` },
      { id_token_hint: hint, post_logout_redirect_uri: BACK.replace("https", "HTTPS") },
      { id_token_hint: hint, post_logout_redirect_uri: "https://evil.test/" },
      { id_token_hint: hint, client_id: "other", post_logout_redirect_uri: BACK },
      { id_token_hint: `${hint.slice(0, -4)}AAAA`, post_logout_redirect_uri: BACK },
      { id_token_hint: login.access_token, post_logout_redirect_uri: BACK },
      { id_token_hint: "x", post_logout_redirect_uri: BACK },
      { id_token_hint: [hint, hint], post_logout_redirect_uri: BACK },
    ];
    for (const fields of cases) {
      const answer = await browser.request(path(fields));
      expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
    }
    const german = await browser.request(path({ id_token_hint: "x" }), { headers: { "accept-language": "de" } });
    expect(await german.text()).toContain("Sie sind noch angemeldet");
    expect(await isSignedIn(browser)).toBe(true);
  });

  test("an invalid request of a browser without a session says that it is signed out", async () => {
    const answer = await aBrowser(server.url).request(path({ id_token_hint: "x", post_logout_redirect_uri: BACK }));
    expect([answer.status, await answer.text()]).toEqual([400, expect.stringContaining("You are signed out")]);
  });

  test("a disabled client returns 400 without a redirect", async () => {
    const { browser, hint } = await signedIn();
    await runText(server.database.sql, "update clients set enabled = false where client_id = 'web'");
    const answer = await browser.request(path({ id_token_hint: hint, post_logout_redirect_uri: BACK }));
    await runText(server.database.sql, "update clients set enabled = true where client_id = 'web'");
    expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
  });

  test("end_session_endpoint is in the OpenID metadata only", async () => {
    expect((await server.get("/.well-known/openid-configuration")).body.end_session_endpoint).toBe(`${server.url}/logout`);
    expect((await server.get("/.well-known/oauth-authorization-server")).body).not.toHaveProperty("end_session_endpoint");
  });
});

describe("postLogoutRedirectUris", () => {
  test("are set by operators only, validated like redirect URIs, and no member of /api/clients", async () => {
    const { id } = await admin.operator.clients.create.mutate({ name: "Desk", grantTypes: ["client_credentials"] });
    const { operator } = admin;
    const patch = { postLogoutRedirectUris: ["https://desk.example.test/bye"] };
    expect(await operator.clients.update.mutate({ id, patch })).toMatchObject(patch);
    expect(await operator.clients.get.query({ id })).toMatchObject(patch);
    const wrong = operator.clients.update.mutate({ id, patch: { postLogoutRedirectUris: ["javascript:alert(1)"] } });
    expect((await refusedWith(wrong))?.issues[0]?.path).toBe("postLogoutRedirectUris.0");
    const user = await server.signedInUser();
    const headers = { authorization: `Bearer ${user.login.access_token}` };
    const sent = await aBrowser(server.url).json("/api/clients", { name: "Mine", ...patch }, "POST", headers);
    expect(sent.status).toBe(400);
    const made = await aBrowser(server.url).json(
      "/api/clients",
      { name: "Mine", redirectUris: ["https://a.example.test/cb"] },
      "POST",
      headers,
    );
    expect([made.status, Object.keys(made.body)]).toEqual([201, expect.not.arrayContaining(["postLogoutRedirectUris"])]);
  });
});
