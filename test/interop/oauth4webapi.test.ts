import * as oauth from "oauth4webapi";
import { expect } from "vitest";
import { claimsOf } from "../support/flow.ts";
import { describe, test } from "../support/server.ts";

const insecure = { [oauth.allowInsecureRequests]: true };

describe("oauth4webapi with strict checks", () => {
  test("completes authorization code with PKCE, ID token, userinfo, refresh, introspection and revocation", async ({ server }) => {
    const issuer = new URL(server.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oidc", ...insecure }));
    const { web } = server.clients;
    const client: oauth.Client = { client_id: web.clientId, id_token_signed_response_alg: "EdDSA" };
    const auth = oauth.ClientSecretBasic(web.secret ?? "");

    const verifier = oauth.generateRandomCodeVerifier();
    const [state, nonce] = [oauth.generateRandomState(), oauth.generateRandomNonce()];
    const url = new URL(as.authorization_endpoint ?? "");
    const parameters = {
      client_id: web.clientId,
      redirect_uri: web.redirectUri,
      response_type: "code",
      scope: "openid email",
      code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
      nonce,
    };
    for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value);
    const { browser, id, email } = await server.signedInUser();
    const back = await browser.submit(await browser.follow(url.href), { decision: "approve" });

    const params = oauth.validateAuthResponse(as, client, new URL(back.url), state);
    const response = await oauth.authorizationCodeGrantRequest(as, client, auth, params, web.redirectUri, verifier, insecure);
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, response, { expectedNonce: nonce, requireIdToken: true });
    expect(oauth.getValidatedIdTokenClaims(tokens)).toMatchObject({ sub: id, email, email_verified: true });

    const userinfo = await oauth.userInfoRequest(as, client, tokens.access_token, insecure);
    expect(await oauth.processUserInfoResponse(as, client, id, userinfo)).toMatchObject({ sub: id, email });

    const refreshed = await oauth.processRefreshTokenResponse(
      as,
      client,
      await oauth.refreshTokenGrantRequest(as, client, auth, tokens.refresh_token ?? "", insecure),
    );
    const asked = await oauth.introspectionRequest(as, client, auth, refreshed.access_token, insecure);
    expect(await oauth.processIntrospectionResponse(as, client, asked)).toMatchObject({ active: true, sub: id });

    await oauth.processRevocationResponse(await oauth.revocationRequest(as, client, auth, refreshed.refresh_token ?? "", insecure));
    const after = await oauth.introspectionRequest(as, client, auth, refreshed.access_token, insecure);
    expect(await oauth.processIntrospectionResponse(as, client, after)).toEqual({ active: false });
  });

  test("RFC 9449: binds code, tokens and requests to a key with DPoP", async ({ server }) => {
    const issuer = new URL(server.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oidc", ...insecure }));
    const { publicApp } = server.clients;
    const client: oauth.Client = { client_id: publicApp.clientId, id_token_signed_response_alg: "EdDSA" };
    const DPoP = oauth.DPoP(client, await oauth.generateKeyPair("ES256"));
    const options = { ...insecure, DPoP };
    const { browser, id } = await server.signedInUser();
    const jkt = await DPoP.calculateThumbprint();
    const back = await server.authorize(publicApp, browser, { scope: "openid offline_access", dpop_jkt: jkt });
    const params = oauth.validateAuthResponse(as, client, back, "st");
    const { verifier = "" } = back;
    const response = await oauth.authorizationCodeGrantRequest(as, client, oauth.None(), params, publicApp.redirectUri, verifier, options);
    const tokens = await oauth.processAuthorizationCodeResponse(as, client, response);
    expect(tokens.token_type).toBe("dpop");

    const userinfo = await oauth.userInfoRequest(as, client, tokens.access_token, options);
    expect(await oauth.processUserInfoResponse(as, client, id, userinfo)).toMatchObject({ sub: id });
    const again = await oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token ?? "", options);
    const refreshed = await oauth.processRefreshTokenResponse(as, client, again);
    const url = new URL(as.userinfo_endpoint ?? "");
    expect((await oauth.protectedResourceRequest(refreshed.access_token, "GET", url, undefined, null, options)).status).toBe(200);
  });

  test("RFC 9701: verifies a signed answer of introspection", async ({ server }) => {
    const issuer = new URL(server.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }));
    const { worker } = server.clients;
    const client: oauth.Client = { client_id: worker.clientId, introspection_signed_response_alg: "EdDSA" };
    const auth = oauth.ClientSecretBasic(worker.secret ?? "");
    const { body } = await server.token(worker, { grant_type: "client_credentials", scope: "notes:read" });
    for (const [token, state] of [
      [body.access_token, { active: true, client_id: worker.clientId, scope: "notes:read" }],
      ["unknown", { active: false }],
    ]) {
      const answer = await oauth.introspectionRequest(as, client, auth, token, { ...insecure, requestJwtResponse: true });
      expect(answer.headers.get("content-type")).toBe("application/token-introspection+jwt");
      const jwt = await answer.clone().text();
      expect(await oauth.processIntrospectionResponse(as, client, answer)).toMatchObject(state);
      await oauth.validateApplicationLevelSignature(as, answer, insecure);
      expect(claimsOf(jwt)).toEqual({
        iss: server.url,
        aud: worker.clientId,
        iat: expect.any(Number),
        token_introspection: (await server.introspect(worker, token)).body,
      });
      expect((await server.introspect(worker, jwt)).body).toEqual({ active: false });
    }
  });

  test("RFC 9068: its resource-server check accepts an access token by the JWK Set alone", async ({ server }) => {
    const issuer = new URL(server.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }));
    const { body } = await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "notes:read" });
    const request = new Request("https://rs.example.test/", { headers: { authorization: `Bearer ${body.access_token}` } });
    const claims = await oauth.validateJwtAccessToken(as, request, server.clients.worker.clientId, insecure);
    expect(claims).toMatchObject({ client_id: server.clients.worker.clientId, scope: "notes:read" });
  });
});
