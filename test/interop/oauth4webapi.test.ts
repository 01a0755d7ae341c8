import * as oauth from "oauth4webapi";
import { expect } from "vitest";
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

  test("RFC 9068: its resource-server check accepts an access token by the JWK Set alone", async ({ server }) => {
    const issuer = new URL(server.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oauth2", ...insecure }));
    const { body } = await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "notes:read" });
    const request = new Request("https://rs.example.test/", { headers: { authorization: `Bearer ${body.access_token}` } });
    const claims = await oauth.validateJwtAccessToken(as, request, server.clients.worker.clientId, insecure);
    expect(claims).toMatchObject({ client_id: server.clients.worker.clientId, scope: "notes:read" });
  });
});
