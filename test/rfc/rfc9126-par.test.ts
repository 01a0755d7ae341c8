import { expect } from "vitest";
import { registerTokenCommand } from "../../src/cli/token/command.ts";
import { operatorAt } from "../support/admin.ts";
import { ASSERTION_TYPE, anAssertion, keyFor } from "../support/assertions.ts";
import { aBrowser, type Browser, type Visit } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { aProof, proofKey, thumbprintOf } from "../support/dpop.ts";
import { type Answer, basicAuth, claimsOf, PASSWORD, type TestClient } from "../support/flow.ts";
import { describe, PROVISIONED, type TestServer, testOn } from "../support/server.ts";
import { aTerminal } from "../support/terminal.ts";

const REDIRECT = "https://app.example.test/cb";
const key = keyFor("ES256", "k1");

const test = testOn({
  provision: {
    ...PROVISIONED,
    clients: [
      ...PROVISIONED.clients,
      {
        clientId: "keyed",
        name: "keyed",
        tokenEndpointAuthMethod: "private_key_jwt",
        grantTypes: ["authorization_code", "refresh_token"],
        scopes: ["openid", "notes:read"],
        redirectUris: [REDIRECT],
        jwks: { keys: [key.jwk] },
      },
      {
        clientId: "machine",
        clientSecret: "machine-secret",
        name: "machine",
        tokenEndpointAuthMethod: "client_secret_basic",
        grantTypes: ["client_credentials"],
        scopes: ["notes:read"],
        redirectUris: [REDIRECT],
      },
      {
        clientId: "pushing",
        name: "pushing",
        tokenEndpointAuthMethod: "none",
        grantTypes: ["authorization_code"],
        scopes: ["openid", "notes:read"],
        redirectUris: [REDIRECT],
        requirePushedAuthorizationRequests: true,
      },
    ],
  },
});

const pushing: TestClient = { clientId: "pushing", redirectUri: REDIRECT };

const usual = (server: TestServer) => {
  const { verifier, challenge } = server.pkce();
  const fields = {
    response_type: "code",
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: "S256",
    scope: "openid notes:read",
    state: "st",
  };
  return { verifier, fields };
};

type Fields = Record<string, string | readonly string[] | undefined>;

const push = (
  server: TestServer,
  { clientId, secret }: TestClient,
  fields: Fields,
  headers: Record<string, string> = {},
): Promise<Answer> =>
  server.form(
    "/oauth/par",
    secret === undefined ? { client_id: clientId, ...fields } : fields,
    secret === undefined ? headers : { authorization: basicAuth(clientId, secret), ...headers },
  );

async function pushed(server: TestServer, client: TestClient, more: Fields = {}, headers: Record<string, string> = {}) {
  const { verifier, fields } = usual(server);
  const { status, body } = await push(server, client, { ...fields, ...more }, headers);
  expect(status).toBe(201);
  const requestUri: string = body.request_uri;
  const path = `/oauth/authorize?${new URLSearchParams({ client_id: client.clientId, request_uri: requestUri })}`;
  return { verifier, requestUri, path };
}

const redeem = (server: TestServer, client: TestClient, back: string, verifier: string, headers?: Record<string, string>) =>
  server.form(
    "/oauth/token",
    {
      grant_type: "authorization_code",
      code: new URLSearchParams(back.slice(back.indexOf("?"))).get("code") ?? "",
      redirect_uri: REDIRECT,
      code_verifier: verifier,
      client_id: client.clientId,
      client_secret: client.secret,
    },
    headers,
  );

const allow = async (browser: Browser, path: string): Promise<Visit> => browser.submit(await browser.follow(path), { decision: "approve" });

const OVER = "This link has expired";
const asPage = { headers: { accept: "text/html" } };

describe("RFC 9126 §2: the pushed authorization request endpoint", () => {
  test("answers with a request_uri that leads a browser through consent to a code", async ({ server }) => {
    const { web } = server.clients;
    const { fields, verifier } = usual(server);
    const answer = await push(server, web, fields);
    expect(answer.status).toBe(201);
    expect(answer.headers.get("cache-control")).toBe("no-store");
    expect(answer.body).toEqual({
      request_uri: expect.stringMatching(/^urn:ietf:params:oauth:request_uri:[A-Za-z0-9_-]{43}$/),
      expires_in: 90,
    });
    const named = new URLSearchParams({ client_id: web.clientId, request_uri: answer.body.request_uri, scope: "ignored", state: "other" });
    const { browser, id } = await server.signedInUser();
    const back = await allow(browser, `/oauth/authorize?${named}`);
    expect(back.url).toContain(`${REDIRECT}?`);
    const parameters = new URLSearchParams(back.url.split("?")[1]);
    expect([parameters.get("state"), parameters.get("iss")]).toEqual(["st", server.url]);
    const tokens = (await redeem(server, web, back.url, verifier)).body;
    expect(claimsOf(tokens.access_token)).toMatchObject({ sub: id, scope: "openid notes:read" });
  });

  test("is in the metadata, and request_uri of other origin stays unsupported", async ({ server }) => {
    const { body } = await server.get("/.well-known/openid-configuration");
    expect(body).toMatchObject({
      pushed_authorization_request_endpoint: `${server.url}/oauth/par`,
      require_pushed_authorization_requests: false,
      request_uri_parameter_supported: false,
    });
  });

  test.for([
    ["a request_uri", { request_uri: "urn:ietf:params:oauth:request_uri:abc" }, "invalid_request"],
    ["a request object", { request: "e30.e30." }, "request_not_supported"],
    ["authorization_details", { authorization_details: "[]" }, "invalid_authorization_details"],
    ["another response type", { response_type: "token" }, "unsupported_response_type"],
    ["no response type", { response_type: undefined }, "invalid_request"],
    ["no code_challenge", { code_challenge: undefined }, "invalid_request"],
    ["plain PKCE", { code_challenge_method: "plain" }, "invalid_request"],
    ["no redirect URI", { redirect_uri: undefined }, "invalid_request"],
    ["a redirect URI that is not registered", { redirect_uri: "https://evil.example.test/" }, "invalid_request"],
    ["a scope that is not allowed", { scope: "bank:write" }, "invalid_scope"],
    ["a resource that is no URI", { resource: "crm" }, "invalid_target"],
    ["a repeated parameter", { state: ["a", "b"] }, "invalid_request"],
    ["contradicting prompts", { prompt: "none login" }, "invalid_request"],
    ["a forged id_token_hint", { id_token_hint: "e30.e30.c2ln" }, "invalid_request"],
    ["a state that is too long", { state: "s".repeat(3_000) }, "invalid_request"],
  ] as const)("refuses %s as JSON", async ([, fields, error], { server }) => {
    const { status, body } = await push(server, server.clients.web, { ...usual(server).fields, ...fields });
    expect([status, body.error]).toEqual([400, error]);
  });

  test("refuses clients that do not authenticate, or may not use codes", async ({ server }) => {
    const { web, worker } = server.clients;
    const { fields } = usual(server);
    const refusals = await Promise.all([
      push(server, { ...web, secret: "wrong" }, fields),
      push(server, { clientId: "web", redirectUri: REDIRECT }, fields),
      push(server, { clientId: "unregistered", redirectUri: REDIRECT }, fields),
      push(server, web, { ...fields, client_id: "other" }),
      push(server, { ...worker, redirectUri: REDIRECT }, fields),
      push(server, { clientId: "machine", secret: "machine-secret", redirectUri: REDIRECT }, fields),
    ]);
    expect(refusals.map(({ status, body }) => [status, body.error])).toEqual([
      [401, "invalid_client"],
      [401, "invalid_client"],
      [401, "invalid_client"],
      [401, "invalid_client"],
      [400, "invalid_request"],
      [400, "unauthorized_client"],
    ]);
  });

  test("takes POST alone, and no long body (§2.3)", async ({ server }) => {
    expect((await server.get("/oauth/par")).status).toBe(405);
    const long = await push(server, server.clients.web, { state: "s".repeat(70_000) });
    expect(long.status).toBe(413);
  });
});

describe("RFC 9126 §4: a pushed request", () => {
  test("abuse 76: belongs to one client and to the first browser that opens it, and works once", async ({ server }) => {
    const { web, other } = server.clients;
    const { path, requestUri, verifier } = await pushed(server, web);
    const [{ browser }, { browser: second }] = [await server.signedInUser(), await server.signedInUser()];

    const foreign = await second.follow(
      `/oauth/authorize?${new URLSearchParams({ client_id: other.clientId, request_uri: requestUri })}`,
      asPage,
    );
    expect([foreign.status, foreign.html.includes(OVER)]).toEqual([400, true]);

    expect((await browser.follow(path)).html).toContain('name="decision"');
    const elsewhere = await second.follow(path, asPage);
    expect([elsewhere.status, elsewhere.html.includes(OVER)]).toEqual([400, true]);
    const json = await server.get(path);
    expect([json.status, json.body.error]).toEqual([400, "invalid_request"]);

    const back = await allow(browser, path);
    expect((await redeem(server, web, back.url, verifier)).status).toBe(200);
    const again = await browser.follow(path, asPage);
    expect([again.status, again.html.includes(OVER)]).toEqual([400, true]);
  });

  test("is not opened by HEAD, which link previews send", async ({ server }) => {
    const { path } = await pushed(server, server.clients.web);
    expect((await fetch(server.url + path, { method: "HEAD", redirect: "manual" })).status).toBe(200);
    const { browser } = await server.signedInUser();
    expect((await browser.follow(path)).html).toContain('name="decision"');
  });

  test("gives no second code where the user has consented already", async ({ server }) => {
    const { web } = server.clients;
    const { browser } = await server.signedInUser();
    await server.tokens(web, browser, { scope: "openid notes:read" });
    const { path } = await pushed(server, web);
    const visits = await Promise.all(Array.from({ length: 8 }, () => browser.follow(path)));
    expect(visits.filter(({ url }) => url.includes("code=")).length).toBe(1);
  });

  test("gives the same code to copies of one decision", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { path } = await pushed(server, server.clients.web);
    const page = await browser.follow(path);
    const visits = await Promise.all(Array.from({ length: 4 }, () => browser.submit(page, { decision: "approve" })));
    visits.push(await browser.submit(page, { decision: "approve" }));
    const codes = visits.map(({ url }) => new URL(url).searchParams.get("code"));
    expect(codes).toEqual(Array(5).fill(expect.stringMatching(/^[\w-]{43}$/)));
    expect(new Set(codes).size).toBe(1);
  });

  test("that was opened in several tabs shows the page of an expired link in all once one has its code", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { path } = await pushed(server, server.clients.web);
    const [one, two, three] = [await browser.follow(path), await browser.follow(path), await browser.follow(path)];
    expect((await browser.submit(one, { decision: "approve" })).url).toContain("code=");
    const late = [await browser.submit(two, { decision: "approve" }), await browser.follow(three.url)];
    expect(late.map(({ status, html }) => [status, html.includes(OVER)])).toEqual(Array(2).fill([400, true]));
  });

  test("that has led to a code in one tab is over in another, also for a denial", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { path } = await pushed(server, server.clients.web);
    const [one, two] = [await browser.follow(path), await browser.follow(path)];
    expect((await browser.submit(one, { decision: "approve" })).url).toContain("code=");
    const late = await browser.submit(two, { decision: "deny" });
    expect([late.url.includes("access_denied"), late.status, late.html.includes(OVER)]).toEqual([false, 400, true]);
  });

  test("is denied, also twice", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { path } = await pushed(server, server.clients.web);
    const page = await browser.follow(path);
    for (const visit of [await browser.submit(page, { decision: "deny" }), await browser.submit(page, { decision: "deny" })])
      expect(visit.url).toContain("error=access_denied");
  });

  test("64 browsers at once: one opens it", async ({ server }) => {
    const { path } = await pushed(server, server.clients.web);
    const answers = await Promise.all(Array.from({ length: 64 }, () => server.get(path)));
    expect(answers.filter(({ status }) => status === 302).length).toBe(1);
    expect(answers.filter(({ status }) => status === 400).length).toBe(63);
  });

  test("survives sign-in in the browser that opened it, and a form", async ({ server }) => {
    const { publicApp } = server.clients;
    const { path, requestUri, verifier } = await pushed(server, publicApp);
    const posted = await server.form("/oauth/authorize", { client_id: publicApp.clientId, request_uri: requestUri, state: "other" });
    expect([posted.status, posted.headers.get("location")]).toEqual([303, path]);
    const { email } = await server.signedInUser();
    const browser = aBrowser(server.url);
    const signIn = await browser.follow(path);
    const asked = await browser.submit(signIn, { email, password: PASSWORD });
    const back = await browser.submit(asked, { decision: "approve" });
    expect((await redeem(server, publicApp, back.url, verifier)).status).toBe(200);
  });

  test("survives another one that a new browser opens at the same time, also for a denial", async ({ server }) => {
    const [one, two] = [
      await pushed(server, server.clients.web, { state: "one" }),
      await pushed(server, server.clients.web, { state: "two" }),
    ];
    const [{ email }, browser] = [await server.signedInUser(), aBrowser(server.url)];
    const begun = await Promise.all([one, two].map(({ path }) => browser.request(path)));
    const pages: Visit[] = [];
    for (const { headers } of begun) pages.push(await browser.follow(headers.get("location") ?? ""));
    const ends: string[] = [];
    for (const [index, page] of pages.entries()) {
      const asked = await browser.submit(page, { email, password: PASSWORD });
      ends.push((await browser.submit(asked, { decision: index === 0 ? "deny" : "approve" })).url);
    }
    expect(ends).toEqual([expect.stringMatching(/error=access_denied.*state=one/), expect.stringMatching(/code=.*state=two/)]);
  });

  test("returns errors of the sign-in to its redirect URI", async ({ server }) => {
    const { path } = await pushed(server, server.clients.web, { prompt: "none", nonce: "n", ui_locales: "de" });
    const { headers } = await server.get(path);
    expect(Object.fromEntries(new URL(headers.get("location") ?? "").searchParams)).toMatchObject({
      error: "login_required",
      state: "st",
      iss: server.url,
    });
  });

  test("shows its pages in the language that was pushed", async ({ server }) => {
    const { path } = await pushed(server, server.clients.web, { ui_locales: "de" });
    expect((await aBrowser(server.url).follow(path)).html).toContain('lang="de"');
  });

  test("ends unopened after 90 seconds", async ({ server }) => {
    const { path } = await pushed(server, server.clients.web);
    await runText(server.database.sql, "update pushed_requests set expires_at = created_at where browser is null");
    expect((await server.get(path)).status).toBe(400);
  });
});

describe("RFC 9126 §6: clients that must push", () => {
  test("are refused without, by redirect, and served with", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const back = await server.authorize(pushing, browser, { scope: "notes:read" });
    expect([back.get("error"), back.get("state"), back.get("code")]).toEqual(["invalid_request", "st", null]);
    const { path, verifier } = await pushed(server, pushing);
    const allowed = await allow(browser, path);
    expect((await redeem(server, pushing, allowed.url, verifier)).status).toBe(200);
  });

  test("explain assumes that a request will be pushed", async ({ server }) => {
    const query = new URLSearchParams(server.authorizeUrl(pushing, { code_challenge: "c".repeat(43) }).split("?")[1]);
    const operator = await operatorAt(server.url);
    const explained = await operator.explain.authorizationRequest.mutate({ parameters: Object.fromEntries(query) });
    expect(explained.rules.find(({ rule }) => rule === "request_pushed")?.verdict).toBe("taken_for_granted");
    expect(explained.granted).toBeDefined();
  });

  test("say so at registration", async ({ server }) => {
    const metadata = { redirect_uris: [REDIRECT], token_endpoint_auth_method: "none", require_pushed_authorization_requests: true };
    const registered = await aBrowser(server.url).json("/oauth/register", metadata);
    expect(registered.body.require_pushed_authorization_requests).toBe(true);
    const { browser } = await server.signedInUser();
    const back = await server.authorize({ clientId: registered.body.client_id, redirectUri: REDIRECT }, browser, { scope: "openid" });
    expect(back.get("error")).toBe("invalid_request");
  });
});

describe("RFC 9449 §10.1: a DPoP header binds the code", () => {
  test("with private_key_jwt, and wants the same key at the token endpoint", async ({ server }) => {
    const holder = proofKey();
    const assertion = () => ({
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: anAssertion(key, { clientId: "keyed", audience: server.url, now: Math.floor(Date.now() / 1_000) }),
    });
    const keyed: TestClient = { clientId: "keyed", redirectUri: REDIRECT };
    const proof = aProof(holder, { url: `${server.url}/oauth/par` });
    const { path, verifier } = await pushed(server, keyed, assertion(), { dpop: proof });
    const { fields } = usual(server);
    const replayed = await push(server, keyed, { ...fields, ...assertion() }, { dpop: proof });
    expect([replayed.status, replayed.body.error]).toEqual([400, "invalid_dpop_proof"]);

    const { browser } = await server.signedInUser();
    const back = await allow(browser, path);
    const redeemed = (dpop?: string) =>
      server.form(
        "/oauth/token",
        {
          grant_type: "authorization_code",
          code: new URLSearchParams(back.url.split("?")[1]).get("code") ?? "",
          redirect_uri: REDIRECT,
          code_verifier: verifier,
          ...assertion(),
        },
        dpop === undefined ? {} : { dpop },
      );
    const url = `${server.url}/oauth/token`;
    expect((await redeemed()).body.error).toBe("invalid_dpop_proof");
    expect((await redeemed(aProof(proofKey(), { url }))).body.error).toBe("invalid_grant");
    const { body } = await redeemed(aProof(holder, { url }));
    expect([body.token_type, claimsOf(body.access_token).cnf]).toEqual(["DPoP", { jkt: thumbprintOf(holder) }]);
  });

  test("refuses a dpop_jkt of another key, and a proof for another endpoint", async ({ server }) => {
    const { web } = server.clients;
    const { fields } = usual(server);
    const holder = proofKey();
    const refused = [
      await push(
        server,
        web,
        { ...fields, dpop_jkt: thumbprintOf(proofKey()) },
        { dpop: aProof(holder, { url: `${server.url}/oauth/par` }) },
      ),
      await push(server, web, fields, { dpop: aProof(holder, { url: `${server.url}/oauth/token` }) }),
    ];
    expect(refused.map(({ status, body }) => [status, body.error])).toEqual(Array(2).fill([400, "invalid_dpop_proof"]));
  });
});

testOn({ env: { REQUIRE_PAR: "true" } })("REQUIRE_PAR demands it of all clients, and the command line complies", async ({ server }) => {
  const { body } = await server.get("/.well-known/oauth-authorization-server");
  expect(body.require_pushed_authorization_requests).toBe(true);
  const { browser, id } = await server.signedInUser();
  const back = await server.authorize(server.clients.publicApp, browser, { scope: "notes:read" });
  expect(back.get("error")).toBe("invalid_request");

  const { terminal, run, leave } = aTerminal({ serverUrl: server.url, email: undefined, password: undefined });
  const decide = async (url: string) => void (await fetch((await allow(browser, url)).url));
  Object.assign(terminal, { open: (url: string) => void decide(url) });
  const { out, code } = await run([registerTokenCommand], ["token", "--scope", "notes:read"]);
  leave();
  expect([code, claimsOf(out).sub]).toEqual([0, id]);
});
