import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { ASSERTION_TYPE } from "../support/assertions.ts";
import { type CredentialIssuer, credentialIssuer } from "../support/credential-issuer.ts";
import { aProof, proofKey } from "../support/dpop.ts";
import { asAnswer, basicAuth, claimsOf, type TestClient } from "../support/flow.ts";
import { linkingAt } from "../support/linking.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";
import { aWallet } from "../support/wallet.ts";
import { gitHub, type Platform, REPOSITORY } from "../support/workloads.ts";

const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ACCESS_TOKEN = "urn:ietf:params:oauth:token-type:access_token";
const CRM = "https://crm.example.test/mcp";
const MFA = "urn:countersign:mfa";
const television: TestClient = { clientId: "television", redirectUri: "" };
const desk: TestClient = { clientId: "desk", secret: "desk-secret", redirectUri: "" };

let actions: Platform;
let issuer: CredentialIssuer;
let server: TestServer;
let operator: Awaited<ReturnType<typeof operatorAt>>;
let realms: Readonly<Record<string, string>>;
beforeAll(async () => {
  [actions, issuer] = await Promise.all([gitHub(), credentialIssuer()]);
  const production = { environment: "production", scopes: ["openid", "offline_access", "notes:read"] };
  server = await startServer({
    env: { WALLET_FEDERATION_ENABLED: "true", WALLET_TRUSTED_ISSUERS: issuer.url },
    provision: {
      ...PROVISIONED,
      workloadIssuers: [{ issuer: actions.issuer, kind: "oidc", allowPrivate: true }],
      clients: [
        ...PROVISIONED.clients,
        {
          ...production,
          clientId: "television",
          name: "Television",
          tokenEndpointAuthMethod: "none",
          grantTypes: [DEVICE_CODE, "refresh_token"],
        },
        {
          ...production,
          ...{ clientId: "desk", clientSecret: "desk-secret", name: "Desk", tokenEndpointAuthMethod: "client_secret_basic" },
          ...{ grantTypes: [EXCHANGE], audience: ["web", CRM, "desk"], isAgent: true },
        },
        {
          ...{ ...production, clientId: "builder", name: "Builder", tokenEndpointAuthMethod: "workload_jwt" },
          grantTypes: ["client_credentials", JWT_BEARER],
          workloadIdentities: [{ issuer: actions.issuer, subject: `repo:${REPOSITORY.repository}:environment:${REPOSITORY.environment}` }],
        },
      ],
      realms: [{ name: "guests" }, { name: "strict", requiredAcr: MFA }],
    },
  });
  operator = await operatorAt(server.url);
  realms = Object.fromEntries((await operator.realms.list.query()).realms.map(({ name, id }) => [name, id]));
});
afterAll(async () => {
  expect(server.faults()).toEqual([]);
  await Promise.all([server.close(), actions.close(), issuer.close()]);
});

const move = (id: string, realm: string) => operator.users.setRealm.mutate({ id, realmId: realms[realm] ?? "" });

describe("a user who is moved into a realm that demands more", () => {
  test("keeps a code that was issued before, and gets no further one", async () => {
    const { browser, id } = await server.signedInUser();
    const code = await server.code(server.clients.web, browser, { scope: "openid offline_access notes:read" });
    await move(id, "strict");
    const redeemed = await server.token(server.clients.web, code);
    expect(redeemed.status).toBe(200);
    expect(claimsOf(redeemed.body.access_token)).not.toHaveProperty("acr");
    expect((await server.introspect(server.clients.web, redeemed.body.access_token)).body.active).toBe(true);
    expect((await server.authorize(server.clients.web, browser, { scope: "openid notes:read", prompt: "none" })).get("error")).toBe(
      "login_required",
    );
  });

  test("keeps a device that was approved before", async () => {
    const { browser, id } = await server.signedInUser();
    const { body } = await server.form("/oauth/device_authorization", { client_id: "television", scope: "openid offline_access" });
    const page = await browser.submit(await browser.follow("/device"), { user_code: body.user_code });
    await browser.submit(page, { decision: "approve" });
    await move(id, "strict");
    const got = await server.token(television, { grant_type: DEVICE_CODE, device_code: body.device_code });
    expect(got.status).toBe(200);
    expect((await server.refresh(television, got.body.refresh_token)).status).toBe(200);
  });

  test("answers a pushed request only with what the realm demands, once, and with the request of the client", async () => {
    const { browser, id } = await server.signedInUser();
    const { verifier, challenge } = server.pkce();
    const pushed = await server.form(
      "/oauth/par",
      {
        response_type: "code",
        redirect_uri: server.clients.web.redirectUri,
        code_challenge: challenge,
        code_challenge_method: "S256",
        scope: "openid notes:read",
      },
      { authorization: basicAuth("web", "web-secret") },
    );
    expect(pushed.status).toBe(201);
    const url = `/oauth/authorize?client_id=web&request_uri=${encodeURIComponent(pushed.body.request_uri)}`;
    const page = await browser.follow(url);
    await move(id, "strict");
    const kept = await browser.submit(page, { decision: "approve" });
    expect(kept.url).toContain("/login/set-up?request=");
    await move(id, "guests");
    const done = await browser.submit(await browser.follow(kept.url), { decision: "approve" });
    const code = new URL(done.url).searchParams.get("code") ?? "";
    const fields = { grant_type: "authorization_code", redirect_uri: server.clients.web.redirectUri, code_verifier: verifier, code };
    expect((await server.token(server.clients.web, fields)).status).toBe(200);
    const again = await (await server.signedInUser()).browser.follow(url);
    expect(again.url).not.toContain("?code=");
    expect(again.html).not.toContain('name="decision"');
  });

  test("keeps bound tokens bound to their key, refreshed ones too", async () => {
    const { browser, id } = await server.signedInUser();
    const key = proofKey();
    const at = `${server.url}/oauth/token`;
    const code = await server.code(server.clients.web, browser, { scope: "openid offline_access notes:read", resource: [CRM] });
    const web = { authorization: basicAuth("web", "web-secret") };
    const issued = await server.form("/oauth/token", code, { ...web, dpop: aProof(key, { url: at }) });
    expect([issued.status, issued.body.token_type]).toEqual([200, "DPoP"]);
    await move(id, "strict");
    const { access_token, refresh_token } = issued.body;
    const ask = async (proved: string) =>
      asAnswer(await fetch(`${server.url}/oauth/userinfo`, { headers: { authorization: `DPoP ${access_token}`, dpop: proved } }));
    const info = { url: `${server.url}/oauth/userinfo`, method: "GET", accessToken: access_token };
    expect((await ask(aProof(key, info))).status).toBe(200);
    expect((await ask(aProof(proofKey(), info))).status).toBe(401);
    expect((await server.userinfo(access_token)).status).toBe(401);
    const refresh = { grant_type: "refresh_token", refresh_token };
    const refreshed = await server.form("/oauth/token", refresh, { ...web, dpop: aProof(key, { url: at }) });
    expect([refreshed.status, refreshed.body.token_type]).toEqual([200, "DPoP"]);
  });

  test("gets no token by a program's sign-in, and keeps that of an earlier one", async () => {
    const { login, id, email } = await server.signedInUser();
    await move(id, "strict");
    for (const path of ["/auth/login", "/auth/login?session=false"])
      expect(
        (
          await asAnswer(
            await fetch(`${server.url}${path}`, {
              method: "POST",
              headers: { "content-type": "application/json" },
              body: JSON.stringify({ email, password: "correct horse battery staple" }),
            }),
          )
        ).status,
      ).toBe(403);
    const refreshed = await server.refresh({ clientId: "countersign", redirectUri: "" }, login.refreshToken ?? login.refresh_token);
    expect(refreshed.status).toBe(200);
  });

  test("has agents go on with what was granted before, and without a class of sign-in", async () => {
    const { browser, id } = await server.signedInUser();
    const { access_token } = await server.tokens(server.clients.web, browser, { scope: "openid notes:read", resource: ["desk", CRM] });
    await move(id, "strict");
    const exchanged = await server.token(desk, {
      grant_type: EXCHANGE,
      subject_token: access_token,
      subject_token_type: ACCESS_TOKEN,
      audience: CRM,
      scope: "notes:read",
    });
    expect([exchanged.status, exchanged.body.error_description]).toEqual([200, undefined]);
    expect(claimsOf(exchanged.body.access_token)).not.toHaveProperty("acr");
  });
});

test("a link of a wallet goes on through a move, and its identity belongs to one account of all realms", async () => {
  const at = linkingAt(server);
  const [user, other, wallet] = [await at.aUser(), await at.aUser(), aWallet()];
  await move(other.id, "guests");
  const { handle, invocation_uri } = await at.begin(user);
  await move(user.id, "strict");
  await wallet.answer(invocation_uri, await issuer.issue({ holder: wallet.holder, claims: { sub: "moved" } }));
  expect((await at.poll(user, handle)).body.status).toBe("linked");
  const second = await at.link(other, wallet, await issuer.issue({ holder: wallet.holder, claims: { sub: "moved" } }));
  expect(second.body.status).toBe("conflict");
});

test("a token of the API, an API key and a workload stay what they are when the developer is moved", async () => {
  const { id, login } = await server.signedInUser();
  const json = async (path: string, body: object, authorization: string) => {
    const headers = { "content-type": "application/json", authorization };
    return asAnswer(await fetch(`${server.url}${path}`, { method: "POST", headers, body: JSON.stringify(body) }));
  };
  const bearer = `Bearer ${login.access_token}`;
  const client = { name: "Owned", grantTypes: ["client_credentials"], scopes: ["notes:read"] };
  const { body: created } = await json("/api/clients/", client, bearer);
  await move(id, "strict");
  const { status, body } = await json(`/api/clients/${created.id}/api-keys`, { name: "laptop" }, bearer);
  expect(status).toBe(201);
  const verify = () =>
    json("/countersign.introspection.v1.IntrospectionService/VerifyApiKey", { key: body.key }, basicAuth("web", "web-secret"));
  expect((await verify()).body).toMatchObject({ active: true, client_id: created.clientId });
  await operator.users.disable.mutate({ id });
  expect(await verify()).toMatchObject({ status: 200, body: { active: false } });
  const assertion = { client_assertion_type: ASSERTION_TYPE, client_assertion: actions.token(server.url) };
  const asked = [
    { grant_type: "client_credentials", scope: "notes:read", ...assertion },
    { grant_type: JWT_BEARER, assertion: actions.token(server.url), resource: "builder" },
  ];
  for (const fields of asked) expect((await server.form("/oauth/token", fields)).status).toBe(200);
});
