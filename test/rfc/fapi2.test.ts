import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { afterAll, expect, vi } from "vitest";
import { adminAs, operatorAt, refusedWith } from "../support/admin.ts";
import { ASSERTION_TYPE, anAssertion, keyFor, type TestKey } from "../support/assertions.ts";
import type { Browser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { aProof, proofKey, thumbprintOf } from "../support/dpop.ts";
import { type Answer, claimsOf, headerOf, PASSWORD } from "../support/flow.ts";
import { describe, PROVISIONED, type TestServer, testOn } from "../support/server.ts";

const REDIRECT = "https://bank.example.test/cb";
const key = keyFor("ES256", "k1");
const rsa = keyFor("RS256", "k2");

/** Logout tokens that the client got. */
const logouts: string[] = [];
const receiver = createServer(async (request, response) => {
  const form = new URLSearchParams(Buffer.concat(await request.toArray()).toString());
  logouts.push(form.get("logout_token") ?? "");
  response.end();
});
await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
afterAll(() => void receiver.close());

const test = testOn({
  env: { CLIENT_ASSERTION_AUDIENCE: "compat", AUTHORIZATION_CODE_TTL: "300", ID_TOKEN_SIGNING_ALG: "RS256" },
  provision: {
    ...PROVISIONED,
    clients: [
      ...PROVISIONED.clients,
      {
        clientId: "bank",
        name: "Bank",
        tokenEndpointAuthMethod: "private_key_jwt",
        securityProfile: "fapi2",
        grantTypes: ["authorization_code", "refresh_token", "client_credentials"],
        scopes: ["openid", "offline_access", "notes:read"],
        redirectUris: [REDIRECT],
        environment: "development",
        backchannelLogoutUri: `http://localhost:${(receiver.address() as AddressInfo).port}/logout`,
        jwks: { keys: [key.jwk, rsa.jwk] },
      },
    ],
  },
});

const now = () => Math.floor(Date.now() / 1_000);
const assertedBy = (signer: TestKey, audience: unknown) => ({
  client_assertion_type: ASSERTION_TYPE,
  client_assertion: anAssertion(signer, { clientId: "bank", audience, now: now() }),
});

const ownToken = (server: TestServer, asserted: object, dpop?: string): Promise<Answer> =>
  server.form("/oauth/token", { grant_type: "client_credentials", scope: "notes:read", ...asserted }, dpop === undefined ? {} : { dpop });

const cryptoKey = () =>
  crypto.subtle.importKey("jwk", key.privateKey.export({ format: "jwk" }), { name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);

/** The token answer of an authorization by the user of a browser, bound to a key. */
async function tokensOf(server: TestServer, browser: Browser, holder: TestKey): Promise<Answer["body"]> {
  const { verifier, challenge } = server.pkce();
  const fields = { redirect_uri: REDIRECT, code_challenge: challenge, code_challenge_method: "S256" };
  const request = { ...fields, response_type: "code", scope: "openid", ...assertedBy(key, server.url) };
  const { request_uri } = (await server.form("/oauth/par", request)).body;
  const page = await browser.follow(`/oauth/authorize?${new URLSearchParams({ client_id: "bank", request_uri })}`);
  const back = new URL((await browser.submit(page, { decision: "approve" })).url);
  const code = back.searchParams.get("code") ?? "";
  const redemption = { grant_type: "authorization_code", code, redirect_uri: REDIRECT, code_verifier: verifier };
  const dpop = aProof(holder, { url: `${server.url}/oauth/token` });
  return (await server.form("/oauth/token", { ...redemption, ...assertedBy(key, server.url) }, { dpop })).body;
}

async function allowed(server: TestServer, url: string): Promise<{ readonly back: URL; readonly id: string }> {
  const { browser, id } = await server.signedInUser();
  const page = await browser.follow(url);
  return { back: new URL((await browser.submit(page, { decision: "approve" })).url), id };
}

describe("foreign clients through the whole profile", () => {
  test("oauth4webapi: PAR, DPoP and private_key_jwt, code and refresh", async ({ server }) => {
    const insecure = { [oauth.allowInsecureRequests]: true };
    const issuer = new URL(server.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oidc", ...insecure }));
    const client: oauth.Client = { client_id: "bank", id_token_signed_response_alg: "EdDSA" };
    const auth = oauth.PrivateKeyJwt({ key: await cryptoKey(), kid: "k1" });
    const DPoP = oauth.DPoP(client, await oauth.generateKeyPair("ES256"));
    const options = { ...insecure, DPoP };
    const [verifier, state] = [oauth.generateRandomCodeVerifier(), oauth.generateRandomState()];
    const parameters = {
      redirect_uri: REDIRECT,
      response_type: "code",
      scope: "openid offline_access notes:read",
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
    };
    const response = await oauth.pushedAuthorizationRequest(as, client, auth, parameters, options);
    const pushed = await oauth.processPushedAuthorizationResponse(as, client, response);
    const url = new URL(as.authorization_endpoint ?? "");
    url.search = new URLSearchParams({ client_id: "bank", request_uri: pushed.request_uri }).toString();
    const { back, id } = await allowed(server, url.href);
    const params = oauth.validateAuthResponse(as, client, back, state);
    const redeemed = await oauth.authorizationCodeGrantRequest(as, client, auth, params, REDIRECT, verifier, options);
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, redeemed, { requireIdToken: true });
    expect(claimsOf(tokens.access_token)).toMatchObject({ sub: id, cnf: { jkt: await DPoP.calculateThumbprint() } });

    const { refresh_token = "" } = tokens;
    const refreshed = await Promise.all(
      Array.from({ length: 8 }, async () => {
        const again = await oauth.refreshTokenGrantRequest(as, client, auth, refresh_token, options);
        return (await oauth.processRefreshTokenResponse(as, client, again)).refresh_token;
      }),
    );
    expect(new Set(refreshed)).toEqual(new Set([refresh_token]));
  });

  test("openid-client: the same by its own calls", async ({ server }) => {
    const auth = openid.PrivateKeyJwt({ key: await cryptoKey(), kid: "k1" });
    const metadata = { id_token_signed_response_alg: "EdDSA" };
    const config = await openid.discovery(new URL(server.url), "bank", metadata, auth, { execute: [openid.allowInsecureRequests] });
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair("EdDSA"));
    const [pkceCodeVerifier, expectedState] = [openid.randomPKCECodeVerifier(), openid.randomState()];
    const parameters = {
      redirect_uri: REDIRECT,
      scope: "openid offline_access",
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
      state: expectedState,
    };
    const url = await openid.buildAuthorizationUrlWithPAR(config, parameters, { DPoP });
    const { back, id } = await allowed(server, url.href);
    const tokens = await openid.authorizationCodeGrant(config, back, { pkceCodeVerifier, expectedState }, undefined, { DPoP });
    expect(tokens.token_type).toBe("dpop");
    expect(await openid.fetchUserInfo(config, tokens.access_token, id, { DPoP })).toMatchObject({ sub: id });
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "", undefined, { DPoP });
    expect(refreshed.refresh_token).toBe(tokens.refresh_token);
  });
});

describe("a client with the profile fapi2", () => {
  const url = (server: TestServer) => `${server.url}/oauth/token`;

  test("gets bound tokens alone, by an algorithm of the profile and an assertion for the issuer", async ({ server }) => {
    const holder = proofKey();
    const rsaProof = aProof(rsa, { url: url(server) });
    const answers = [
      await ownToken(server, assertedBy(key, server.url)),
      await ownToken(server, assertedBy(rsa, server.url), aProof(holder, { url: url(server) })),
      await ownToken(server, assertedBy(key, url(server)), aProof(holder, { url: url(server) })),
      await ownToken(server, assertedBy(key, [server.url]), aProof(holder, { url: url(server) })),
      await ownToken(server, assertedBy(key, server.url), rsaProof),
    ];
    expect(answers.map(({ status, body }) => [status, body.error])).toEqual([
      [400, "invalid_dpop_proof"],
      [401, "invalid_client"],
      [401, "invalid_client"],
      [401, "invalid_client"],
      [400, "invalid_dpop_proof"],
    ]);
    const { body } = await ownToken(server, assertedBy(key, server.url), aProof(holder, { url: url(server) }));
    expect([body.token_type, claimsOf(body.access_token).cnf]).toEqual(["DPoP", { jkt: thumbprintOf(holder) }]);
  });

  test("must push its requests, and gets codes for at most 60 seconds", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const back = await server.authorize({ clientId: "bank", redirectUri: REDIRECT }, browser, { scope: "openid" });
    expect([back.get("error"), back.get("iss")]).toEqual(["invalid_request", server.url]);

    const { challenge } = server.pkce();
    const fields = {
      response_type: "code",
      redirect_uri: REDIRECT,
      scope: "openid",
      code_challenge: challenge,
      code_challenge_method: "S256",
    };
    const pushed = await server.form("/oauth/par", { ...fields, ...assertedBy(key, server.url) });
    expect(pushed.status).toBe(201);
    await allowed(server, `/oauth/authorize?${new URLSearchParams({ client_id: "bank", request_uri: pushed.body.request_uri })}`);
    const text =
      "select extract(epoch from max(expires_at - created_at))::float8 as most from authorization_codes where client_id = 'bank'";
    const [codes] = await runText<{ most: number }>(server.database.sql, text);
    expect(codes?.most).toBeLessThanOrEqual(60);
  });

  test("FAPI 2.0 §5.4.1: gets ID tokens and logout tokens signed with EdDSA where those of others are RS256", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { id_token } = await tokensOf(server, browser, proofKey());
    await browser.follow(`/logout?${new URLSearchParams({ id_token_hint: id_token })}`);
    await vi.waitFor(() => expect(logouts).toHaveLength(1), { timeout: 5_000 });
    expect([id_token, ...logouts].map((token) => headerOf(token))).toMatchObject([
      { alg: "EdDSA", typ: "JWT" },
      { alg: "EdDSA", typ: "logout+jwt" },
    ]);
    const other = await server.tokens(server.clients.web, (await server.signedInUser()).browser, { scope: "openid" });
    expect(headerOf(other.id_token).alg).toBe("RS256");
  });

  test("FAPI 2.0 §5.4.1: UserInfo takes no proof signed with RS256, by the key of the token or another", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { access_token } = await tokensOf(server, browser, { ...rsa, alg: "PS256" });
    const userinfo = async (alg: string) => {
      const dpop = aProof({ ...rsa, alg }, { url: `${server.url}/oauth/userinfo`, method: "GET", accessToken: access_token });
      return server.get("/oauth/userinfo", { authorization: `DPoP ${access_token}`, dpop });
    };
    const [other, own] = [await userinfo("RS256"), await userinfo("PS256")];
    expect([other.status, other.body.error, own.status]).toEqual([401, "invalid_dpop_proof", 200]);
  });

  test.for(["iat", "nbf"])("FAPI 2.0 §5.3.2.1: the %s of a proof is at most 60 seconds ahead", async (claim, { server }) => {
    const ahead = (seconds: number) =>
      ownToken(server, assertedBy(key, server.url), aProof(proofKey(), { url: url(server), claims: { [claim]: now() + seconds } }));
    const [soon, late] = [await ahead(30), await ahead(90)];
    expect([soon.status, late.status, late.body.error]).toEqual([200, 400, "invalid_dpop_proof"]);
  });

  test("is shown by explain, which assumes what only the client can present", async ({ server }) => {
    const operator = await operatorAt(server.url);
    const explained = await operator.explain.tokenRequest.mutate({
      parameters: { client_id: "bank", grant_type: "client_credentials", scope: "notes:read" },
    });
    const verdicts = new Map(explained.rules.map(({ rule, verdict }) => [rule, verdict]));
    expect([verdicts.get("security_profile"), verdicts.get("dpop_proof")]).toEqual(["taken_for_granted", "taken_for_granted"]);
    const { client_assertion_type, client_assertion } = assertedBy(rsa, server.url);
    const refused = await operator.explain.tokenRequest.mutate({
      parameters: { grant_type: "client_credentials", client_assertion_type, client_assertion },
    });
    expect(refused.rules.find(({ verdict }) => verdict === "refused")).toMatchObject({
      rule: "security_profile",
      reason: "algorithm_not_in_profile",
    });
  });

  test("is made by operators alone, with private_key_jwt", async ({ server }) => {
    const operator = await operatorAt(server.url);
    const { email } = await server.signedInUser();
    const { admin } = await adminAs(server.url, { email, password: PASSWORD });
    const mine = await admin.clients.create.mutate({ name: "Mine", grantTypes: ["client_credentials"] });
    const attempt = admin.clients.update.mutate({ id: mine.id, patch: { securityProfile: "fapi2" } as never });
    expect(await refusedWith(attempt)).toMatchObject({
      issues: [{ path: "patch.securityProfile", message: "is set by operators alone" }],
    });
    const incoherent = operator.clients.update.mutate({ id: mine.id, patch: { securityProfile: "fapi2" } });
    expect(await refusedWith(incoherent)).toMatchObject({
      issues: [{ path: "tokenEndpointAuthMethod", message: "must be private_key_jwt with the security profile fapi2" }],
    });
    const made = await operator.clients.update.mutate({
      id: mine.id,
      patch: { securityProfile: "fapi2", tokenEndpointAuthMethod: "private_key_jwt" },
    });
    expect(made.securityProfile).toBe("fapi2");
    expect(
      await refusedWith(admin.clients.update.mutate({ id: mine.id, patch: { tokenEndpointAuthMethod: "client_secret_basic" } })),
    ).toMatchObject({
      issues: [{ path: "tokenEndpointAuthMethod" }],
    });
  });
});
