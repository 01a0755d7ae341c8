import {
  allowInsecureRequests,
  ClientSecretBasic,
  discovery,
  initiateDeviceAuthorization,
  pollDeviceAuthorizationGrant,
} from "openid-client";
import { expect } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { aBrowser, type Browser, type Visit } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { aProof, proofKey, thumbprintOf } from "../support/dpop.ts";
import { type Answer, claimsOf, type TestClient } from "../support/flow.ts";
import { describe, PROVISIONED, type TestServer, testOn } from "../support/server.ts";

const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";
const CRM = "https://crm.example.test/mcp";
const SCOPES = ["openid", "email", "offline_access", "notes:read"];

const device = (clientId: string, more: object = {}) => ({
  clientId,
  name: clientId,
  tokenEndpointAuthMethod: "none",
  environment: "production",
  grantTypes: [DEVICE_CODE, "refresh_token"],
  scopes: SCOPES,
  redirectUris: [],
  ...more,
});

const test = testOn({
  provision: {
    ...PROVISIONED,
    clients: [
      ...PROVISIONED.clients,
      device("television"),
      device("radio", { grantTypes: [DEVICE_CODE] }),
      device("printer", { tokenEndpointAuthMethod: "client_secret_basic", clientSecret: "printer-secret" }),
    ],
  },
});

const television: TestClient = { clientId: "television", redirectUri: "" };
const radio: TestClient = { clientId: "radio", redirectUri: "" };
const printer: TestClient = { clientId: "printer", secret: "printer-secret", redirectUri: "" };

const begin = async (
  server: TestServer,
  client: TestClient = television,
  fields: Record<string, string | string[]> = {},
): Promise<Answer["body"]> => {
  const headers = client.secret === undefined ? {} : { authorization: `Basic ${btoa(`${client.clientId}:${client.secret}`)}` };
  const named = client.secret === undefined ? { client_id: client.clientId } : {};
  return (await server.form("/oauth/device_authorization", { ...named, ...fields }, headers)).body;
};

const poll = (server: TestServer, client: TestClient, device_code: string, fields = {}) =>
  server.token(client, { grant_type: DEVICE_CODE, device_code, ...fields });

/** Submits the user code on the device page. @returns the page that follows */
async function enter(browser: Browser, user_code: string): Promise<Visit> {
  return browser.submit(await browser.follow("/device"), { user_code });
}

async function decide(browser: Browser, user_code: string, decision: "approve" | "deny"): Promise<Visit> {
  return browser.submit(await enter(browser, user_code), { decision });
}

describe("openid-client", () => {
  test("gets tokens on a device while the user allows it in a browser", async ({ server }) => {
    const config = await discovery(new URL(server.url), "printer", "printer-secret", ClientSecretBasic("printer-secret"), {
      execute: [allowInsecureRequests],
    });
    const started = await initiateDeviceAuthorization(config, { scope: "openid offline_access notes:read", resource: CRM });
    expect(started).toMatchObject({
      user_code: expect.stringMatching(/^[BCDFGHJKLMNPQRSTVWXZ]{4}-[BCDFGHJKLMNPQRSTVWXZ]{4}$/),
      verification_uri: `${server.url}/device`,
      verification_uri_complete: `${server.url}/device?user_code=${started.user_code}`,
      expires_in: 600,
      interval: 5,
    });
    const polling = pollDeviceAuthorizationGrant(config, started);
    const { browser, id } = await server.signedInUser();
    const filled = await browser.follow(started.verification_uri_complete ?? "");
    expect(filled.html).toContain(`value="${started.user_code}"`);
    const asked = await browser.submit(filled, { user_code: started.user_code });
    expect(asked.html).toContain("printer");
    expect(asked.html).toContain("Asked from address");
    const done = await browser.submit(asked, { decision: "approve" });
    expect(done.html).toContain("Device connected");

    const tokens = await polling;
    expect(claimsOf(tokens.access_token)).toMatchObject({ sub: id, client_id: "printer", aud: CRM });
    expect(tokens.claims()).toMatchObject({ sub: id, aud: "printer", auth_time: expect.any(Number) });
    const refreshed = await server.refresh(printer, tokens.refresh_token ?? "");
    expect(refreshed.status).toBe(200);
  });
});

test.for(["the consent", "the sessions", "the account"] as const)(
  "an approval ends with %s of its user: the device gets access_denied, and its code is not accepted again",
  async (what, { server }) => {
    const { device_code, user_code } = await begin(server);
    const { browser, id: userId } = await server.signedInUser();
    expect((await decide(browser, user_code, "approve")).html).toContain("Device connected");
    const { consents, sessions, users } = await operatorAt(server.url);
    if (what === "the sessions") await sessions.end.mutate({ userId });
    else if (what === "the account") await users.disable.mutate({ id: userId });
    else for (const { id } of (await consents.list.query({ userId })).consents) await consents.revoke.mutate({ userId, id });
    const answer = await poll(server, television, device_code);
    expect([answer.status, answer.body.error]).toEqual([400, "access_denied"]);
    const other = await server.signedInUser();
    expect((await enter(other.browser, user_code)).url).toBe(`${server.url}/device`);
  },
);

test("a device gets what its user allowed in the last seconds, and one whose user did not decide expired_token", async ({ server }) => {
  const [allowed, undecided] = [await begin(server), await begin(server)];
  const { browser } = await server.signedInUser();
  expect((await decide(browser, allowed.user_code, "approve")).html).toContain("Device connected");
  const over = (seconds: number) =>
    runText(
      server.database.sql,
      "update device_requests set expires_at = now() - make_interval(secs => $1) where client_id = 'television'",
      [seconds],
    );
  await over(2);
  expect((await enter(browser, undecided.user_code)).html).toContain("has expired");
  expect((await poll(server, television, allowed.device_code)).status).toBe(200);
  expect((await poll(server, television, undecided.device_code)).body.error).toBe("authorization_pending");
  await over(31);
  expect((await poll(server, television, undecided.device_code)).body.error).toBe("expired_token");
});

test("a device that is a paused agent gets nothing until it is resumed", async ({ server }) => {
  const { clients, agents } = await operatorAt(server.url);
  const [{ id } = expect.fail("no client")] = (await clients.list.query({ search: radio.clientId })).clients;
  await clients.update.mutate({ id, patch: { isAgent: true } });
  const { device_code, user_code } = await begin(server, radio);
  const { browser } = await server.signedInUser();
  expect((await decide(browser, user_code, "approve")).html).toContain("Device connected");
  await agents.pause.mutate({ clientId: radio.clientId });
  const paused = await poll(server, radio, device_code);
  expect([paused.status, paused.body]).toEqual([400, { error: "unauthorized_client" }]);
  await agents.resume.mutate({ clientId: radio.clientId });
  expect((await poll(server, radio, device_code)).status).toBe(200);
  await clients.update.mutate({ id, patch: { isAgent: false } });
});

describe("device authorization request", () => {
  test("is refused for a client without the grant", async ({ server }) => {
    const answer = await server.form("/oauth/device_authorization", { client_id: "public-app" });
    expect([answer.status, answer.body.error]).toEqual([400, "unauthorized_client"]);
  });

  test("is not cacheable", async ({ server }) => {
    const answer = await server.form("/oauth/device_authorization", { client_id: "television" });
    expect(answer.headers.get("cache-control")).toBe("no-store");
  });

  test.for([
    ["no client", {}, 401, "invalid_client"],
    ["an unknown client", { client_id: "unregistered" }, 401, "invalid_client"],
    ["no credentials of a confidential client", { client_id: "printer" }, 401, "invalid_client"],
    ["only scopes that are not allowed", { client_id: "television", scope: "bank:write" }, 400, "invalid_scope"],
    ["a malformed scope", { client_id: "television", scope: 'a"b' }, 400, "invalid_scope"],
    ["a resource that is not a URI", { client_id: "television", resource: "crm" }, 400, "invalid_target"],
    ["authorization_details", { client_id: "television", authorization_details: "[]" }, 400, "invalid_authorization_details"],
    ["a repeated scope", { client_id: "television", scope: ["openid", "email"] }, 400, "invalid_request"],
  ] as const)("is refused with %s", async ([, fields, status, error], { server }) => {
    const answer = await server.form("/oauth/device_authorization", fields);
    expect([answer.status, answer.body.error]).toEqual([status, error]);
  });
});

describe("token request with a device code", () => {
  test("returns authorization_pending before the user has decided, and slow_down when it is repeated too soon", async ({ server }) => {
    const { device_code } = await begin(server);
    const answers = [await poll(server, television, device_code), await poll(server, television, device_code)];
    expect(answers.map(({ status, body }) => [status, body.error])).toEqual([
      [400, "authorization_pending"],
      [400, "slow_down"],
    ]);
  });

  test("returns access_denied after the user has denied", async ({ server }) => {
    const { device_code, user_code } = await begin(server);
    const { browser } = await server.signedInUser();
    expect((await decide(browser, user_code, "deny")).html).toContain("Access denied");
    const answer = await poll(server, television, device_code);
    expect([answer.status, answer.body.error]).toEqual([400, "access_denied"]);
  });

  test("64 concurrent polls after the approval: exactly one gets a token", async ({ server }) => {
    const { device_code, user_code } = await begin(server);
    const { browser } = await server.signedInUser();
    await decide(browser, user_code, "approve");
    const answers = await Promise.all(Array.from({ length: 64 }, () => poll(server, television, device_code)));
    const [winner, ...more] = answers.filter(({ status }) => status === 200);
    expect(more).toEqual([]);
    expect(new Set(answers.filter(({ status }) => status !== 200).map(({ body }) => body.error))).toEqual(new Set(["invalid_grant"]));
    expect((await server.refresh(television, winner?.body.refresh_token)).status).toBe(200);
  });

  test("returns no refresh token to a client without that grant", async ({ server }) => {
    const { device_code, user_code } = await begin(server, radio, { scope: "notes:read" });
    const { browser } = await server.signedInUser();
    await decide(browser, user_code, "approve");
    const { body } = await poll(server, radio, device_code);
    expect(body).toMatchObject({ access_token: expect.any(String), scope: "notes:read" });
    expect(Object.keys(body)).not.toContain("refresh_token");
  });

  test("of another client returns invalid_grant", async ({ server }) => {
    const { device_code } = await begin(server);
    const answer = await poll(server, radio, device_code);
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_grant"]);
  });

  test.for([
    ["an unknown code", { device_code: "x".repeat(43) }, "invalid_grant"],
    ["no code", {}, "invalid_request"],
  ] as const)("is refused with %s", async ([, fields, error], { server }) => {
    const answer = await server.token(television, { grant_type: DEVICE_CODE, ...fields });
    expect([answer.status, answer.body.error]).toEqual([400, error]);
  });

  test("an approved device code is refused as an authorization code and stays valid", async ({ server }) => {
    const { device_code, user_code } = await begin(server);
    const { browser } = await server.signedInUser();
    await decide(browser, user_code, "approve");
    for (const redirect_uri of ["", "https://app.example.test/cb"]) {
      const fields = { grant_type: "authorization_code", code: device_code, redirect_uri, code_verifier: "v".repeat(43) };
      expect((await server.token(television, fields)).status).toBe(400);
    }
    expect((await poll(server, television, device_code)).status).toBe(200);
  });
});

describe("clients of the device grant", () => {
  test("a registered client has the grant if it lists it", async ({ server }) => {
    const register = async (grant_types: string[]) =>
      (
        await fetch(`${server.url}/oauth/register`, {
          method: "POST",
          headers: { "content-type": "application/json" },
          body: JSON.stringify({ grant_types, token_endpoint_auth_method: "none" }),
        })
      ).json() as Promise<Answer["body"]>;
    const registered = await register([DEVICE_CODE, "refresh_token"]);
    expect(registered).toMatchObject({ grant_types: [DEVICE_CODE, "refresh_token"], redirect_uris: [], response_types: [] });
    expect(registered.scope.split(" ")).toEqual(expect.arrayContaining(["openid", "offline_access"]));
    expect(await begin(server, { clientId: registered.client_id, redirectUri: "" })).toMatchObject({ interval: 5 });
  });

  test("both metadata documents name the endpoint and the grant", async ({ server }) => {
    for (const path of ["oauth-authorization-server", "openid-configuration"]) {
      const { body } = await server.get(`/.well-known/${path}`);
      expect(body.device_authorization_endpoint).toBe(`${server.url}/oauth/device_authorization`);
      expect(body.grant_types_supported).toContain(DEVICE_CODE);
    }
  });

  test("RFC 9449 §5: the key of the device request is the only one that redeems the device code, and gets bound tokens", async ({
    server,
  }) => {
    const key = proofKey();
    const send = (path: string, fields: Record<string, string>, by = key) =>
      server.form(path, { client_id: "television", ...fields }, { dpop: aProof(by, { url: `${server.url}${path}` }) });
    const { device_code, user_code } = (await send("/oauth/device_authorization", { scope: "openid offline_access" })).body;
    const { browser } = await server.signedInUser();
    await decide(browser, user_code, "approve");
    const redeem = { grant_type: DEVICE_CODE, device_code };
    expect((await poll(server, television, device_code)).body.error).toBe("invalid_dpop_proof");
    expect((await send("/oauth/token", redeem, proofKey())).body.error).toBe("invalid_grant");
    const { body, status } = await send("/oauth/token", redeem);
    expect([status, body.token_type, claimsOf(body.access_token).cnf]).toEqual([200, "DPoP", { jkt: thumbprintOf(key) }]);
    const refresh = { grant_type: "refresh_token", refresh_token: body.refresh_token };
    expect((await send("/oauth/token", refresh, proofKey())).body.error).toBe("invalid_grant");
    const malformed = { client_id: "television" };
    expect((await server.form("/oauth/device_authorization", malformed, { dpop: "x" })).body.error).toBe("invalid_dpop_proof");
  });

  test("explain reports device_approved as the refusing rule until the approval, and consumes nothing", async ({ server }) => {
    const admin = await operatorAt(server.url);
    const { device_code, user_code } = await begin(server);
    const explain = () =>
      admin.explain.tokenRequest.mutate({ parameters: { grant_type: DEVICE_CODE, device_code, client_id: "television" } });
    for (let times = 0; times < 2; times++)
      expect((await explain()).rules.find(({ verdict }) => verdict === "refused")).toMatchObject({
        rule: "device_approved",
        error: "authorization_pending",
      });
    const { browser, id } = await server.signedInUser();
    await decide(browser, user_code, "approve");
    expect((await explain()).granted).toMatchObject({ sub: id, refreshToken: true });
    expect((await poll(server, television, device_code)).status).toBe(200);
  });

  test("the approval and the token are audited, and no audit record or log line contains a code", async ({ server }) => {
    const { device_code, user_code } = await begin(server);
    const { browser, id } = await server.signedInUser();
    await decide(browser, user_code, "approve");
    await poll(server, television, device_code);
    const { records } = await (await operatorAt(server.url)).audit.list.query({ limit: 20 });
    const mine = records.filter(({ userId, grantType }) => userId === id && grantType === DEVICE_CODE);
    expect(mine.map(({ event, clientId }) => [event, clientId])).toEqual([
      ["token.issued", "television"],
      ["device.approved", "television"],
    ]);
    for (const code of [device_code, user_code]) expect(JSON.stringify(records) + server.logged.join("")).not.toContain(code);
  });

  test("a device code returns 400 after its user has signed out everywhere", async ({ server }) => {
    const { device_code, user_code } = await begin(server);
    const { browser, login } = await server.signedInUser();
    await decide(browser, user_code, "approve");
    await server.form("/auth/logout", {}, { authorization: `Bearer ${login.access_token}` });
    expect((await poll(server, television, device_code)).status).toBe(400);
  });
});

describe("device page", () => {
  test("is German for Accept-Language: de", async ({ server }) => {
    const { cookies } = (await server.signedInUser()).browser;
    const browser = aBrowser(server.url, { "accept-language": "de" });
    for (const [name, value] of cookies) browser.cookies.set(name, value);
    const { user_code } = await begin(server);
    expect((await browser.follow("/device")).html).toContain("Gerät verbinden");
    const asked = await enter(browser, user_code);
    expect(asked.html).toContain("Anfrage von der Adresse");
    expect((await browser.submit(asked, { decision: "approve" })).html).toContain("Gerät verbunden");
  });

  test("says in another language too that the device gets no access", async ({ server }) => {
    const { user_code } = await begin(server);
    const { browser } = await server.signedInUser();
    const { html } = await decide(browser, user_code, "deny");
    const german = /href="([^"]+)" lang="de"/.exec(html)?.[1] ?? "";
    expect((await browser.follow(german.replaceAll("&amp;", "&"))).html).toContain("Das Gerät erhält keinen Zugriff.");
  });

  test("shows the same page for two concurrent approvals", async ({ server }) => {
    const { user_code } = await begin(server);
    const { browser } = await server.signedInUser();
    const asked = await enter(browser, user_code);
    const pages = await Promise.all([1, 2].map(() => browser.submit(asked, { decision: "approve" })));
    expect(pages.map(({ html }) => html.includes("Device connected"))).toEqual([true, true]);
  });

  test("accepts the decision of the first of two users only", async ({ server }) => {
    const { device_code, user_code } = await begin(server);
    const [first, second] = [await server.signedInUser(), await server.signedInUser()];
    const [theirs, late] = [await enter(first.browser, user_code), await enter(second.browser, user_code)];
    await first.browser.submit(theirs, { decision: "approve" });
    expect((await second.browser.submit(late, { decision: "approve" })).html).toContain("This did not work");
    const { body } = await poll(server, television, device_code);
    expect(claimsOf(body.access_token).sub).toBe(first.id);
  });

  test("does not say that a device gets no access which was approved in another tab", async ({ server }) => {
    const { device_code, user_code } = await begin(server);
    const { id, browser } = await server.signedInUser();
    const [one, other] = [await enter(browser, user_code), await enter(browser, user_code)];
    await browser.submit(one, { decision: "approve" });
    expect((await browser.submit(other, { decision: "deny" })).html).toContain("This did not work");
    const denials = "select 1 from audit_records where user_id = $1 and event = 'consent.denied'";
    expect(await runText(server.database.sql, denials, [id])).toEqual([]);
    expect((await poll(server, television, device_code)).status).toBe(200);
  });

  test("names no account to a user who denies what another user has approved", async ({ server }) => {
    const { device_code, user_code } = await begin(server);
    const [first, second] = [await server.signedInUser(), await server.signedInUser()];
    const [theirs, late] = [await enter(first.browser, user_code), await enter(second.browser, user_code)];
    await first.browser.submit(theirs, { decision: "approve" });
    const { body } = await poll(server, television, device_code);
    expect(claimsOf(body.access_token).sub).toBe(first.id);
    const { html } = await second.browser.submit(late, { decision: "deny" });
    expect(html).toContain(
      "Your answer did not count. If the device is connected to your account and should not be, remove its access there.",
    );
    expect(html).not.toContain(first.email);
  });

  test.for(["<script>", "a".repeat(5000), "BCDF-GHJK\u202e"])("returns 400 to %s as a code", async (user_code, { server }) => {
    const visit = await enter(aBrowser(server.url, { "x-forwarded-for": "192.0.2.7" }), user_code);
    expect(visit.status).toBe(400);
    expect(visit.html).not.toContain("<script>");
  });

  test("asks a user without a session to sign in first", async ({ server }) => {
    const { email } = await server.signedInUser();
    const { user_code } = await begin(server);
    const browser = aBrowser(server.url);
    const signIn = await enter(browser, user_code.toLowerCase().replace("-", " "));
    expect(signIn.url).toContain("/login");
    const asked = await browser.submit(signIn, { email, password: "correct horse battery staple" });
    expect(asked.html).toContain('name="decision"');
  });

  test("asks for consent also if the user has allowed the client before", async ({ server }) => {
    const { browser } = await server.signedInUser();
    for (let times = 0; times < 2; times++) {
      const { user_code } = await begin(server);
      const asked = await enter(browser, user_code);
      expect(asked.html).toContain('name="decision"');
      await browser.submit(asked, { decision: "approve" });
    }
  });

  test("returns 400 for a code that was already decided", async ({ server }) => {
    const { user_code } = await begin(server);
    const { browser } = await server.signedInUser();
    await decide(browser, user_code, "approve");
    const again = await enter(browser, user_code);
    expect([again.status, again.html.includes("was used already")]).toEqual([400, true]);
  });

  test("returns 403 for a form without its token", async ({ server }) => {
    expect((await server.form("/device", { user_code: "BCDF-GHJK" })).status).toBe(403);
  });
});

testOn({})(
  "an address may enter five wrong codes; the next returns 429; what cannot be a code is a slip, and does not count",
  async ({ server }) => {
    const browser = aBrowser(server.url);
    for (const slip of ["", "BCDF-GHJ", "BCDF-GHJKL", "BCDF-GHJO", "8CDF-GHJK", "BCDFA-GHJK"])
      expect((await enter(browser, slip)).html).toContain("That code is not right, was used already, or has expired.");
    const statuses: number[] = [];
    for (let times = 0; times < 6; times++) statuses.push((await enter(browser, "BCDF-GHJK")).status);
    expect(statuses).toEqual([400, 400, 400, 400, 400, 429]);
  },
);

const onOwnCodes = testOn({ provision: { ...PROVISIONED, clients: [device("television")] } });
onOwnCodes.for(["approve", "deny"] as const)(
  "a code that a browser entered before it was decided (%s) does not count there as wrong",
  async (decision, { server }) => {
    const { user_code } = await begin(server);
    const { browser } = await server.signedInUser();
    await decide(browser, user_code, decision);
    for (let times = 0; times < 6; times++) expect((await enter(browser, user_code.toLowerCase())).status).toBe(400);
    expect((await enter(browser, (await begin(server)).user_code)).url).toContain("/consent");
  },
);
onOwnCodes("another browser that enters a decided code enters a wrong one", async ({ server }) => {
  const { user_code } = await begin(server);
  await decide((await server.signedInUser()).browser, user_code, "approve");
  const guesser = aBrowser(server.url);
  const statuses: number[] = [];
  for (let times = 0; times < 6; times++) statuses.push((await enter(guesser, user_code)).status);
  expect(statuses).toEqual([400, 400, 400, 400, 400, 429]);
});
