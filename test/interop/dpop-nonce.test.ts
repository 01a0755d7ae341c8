import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { claimsOf } from "../support/flow.ts";
import { startServer } from "../support/server.ts";

/** A server that requires nonces: each client below is refused once, and has to come back by itself. */
let server: Awaited<ReturnType<typeof startServer>>;
beforeAll(async () => {
  server = await startServer({ env: { DPOP_NONCE: "on" } });
});
afterAll(() => server.close());

const insecure = { [oauth.allowInsecureRequests]: true };
const SCOPE = "openid offline_access";

/** Makes a request again if it was refused for its nonce, which the library remembers. */
async function twice<Result>(request: () => Promise<Response>, read: (response: Response) => Promise<Result>): Promise<Result> {
  try {
    return await read(await request());
  } catch (error) {
    if (!oauth.isDPoPNonceError(error)) throw error;
    return read(await request());
  }
}

describe("oauth4webapi", () => {
  test("RFC 9449 §8: sends the nonce with code, refresh token and userinfo", async () => {
    const issuer = new URL(server.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oidc", ...insecure }));
    const { publicApp } = server.clients;
    const client: oauth.Client = { client_id: publicApp.clientId, id_token_signed_response_alg: "EdDSA" };
    const DPoP = oauth.DPoP(client, await oauth.generateKeyPair("ES256"));
    const options = { ...insecure, DPoP };
    const { browser, id } = await server.signedInUser();
    const back = await server.authorize(publicApp, browser, { scope: SCOPE, dpop_jkt: await DPoP.calculateThumbprint() });
    const params = oauth.validateAuthResponse(as, client, back, "st");
    const { verifier = "" } = back;
    const tokens = await twice(
      () => oauth.authorizationCodeGrantRequest(as, client, oauth.None(), params, publicApp.redirectUri, verifier, options),
      (response) => oauth.processAuthorizationCodeResponse(as, client, response),
    );
    expect(tokens.token_type).toBe("dpop");
    const refreshed = await twice(
      () => oauth.refreshTokenGrantRequest(as, client, oauth.None(), tokens.refresh_token ?? "", options),
      (response) => oauth.processRefreshTokenResponse(as, client, response),
    );
    const fresh = oauth.DPoP(client, await oauth.generateKeyPair("ES256")); // knows no nonce, and has another key
    await expect(oauth.userInfoRequest(as, client, refreshed.access_token, { ...insecure, DPoP: fresh })).resolves.toMatchObject({
      status: 401,
    });
    const userinfo = await oauth.userInfoRequest(as, client, refreshed.access_token, options);
    expect(await oauth.processUserInfoResponse(as, client, id, userinfo)).toMatchObject({ sub: id });
  });
});

describe("openid-client", () => {
  test("RFC 9449 §8: sends the nonce with client credentials, code, refresh token and userinfo", async () => {
    const { worker, web } = server.clients;
    const url = new URL(server.url);
    const configOf = (clientId: string, secret = "") =>
      openid.discovery(url, clientId, { client_secret: secret, id_token_signed_response_alg: "EdDSA" }, openid.ClientSecretBasic(secret), {
        execute: [openid.allowInsecureRequests],
      });
    const machine = await configOf(worker.clientId, worker.secret);
    const DPoP = openid.getDPoPHandle(machine, await openid.randomDPoPKeyPair("EdDSA"));
    const token = await openid.clientCredentialsGrant(machine, { scope: "notes:read" }, { DPoP });
    expect([token.token_type, claimsOf(token.access_token).cnf]).toEqual(["dpop", { jkt: await DPoP.calculateThumbprint() }]);

    const site = await configOf(web.clientId, web.secret);
    const bound = { DPoP: openid.getDPoPHandle(site, await openid.randomDPoPKeyPair("ES256")) };
    const { browser, id } = await server.signedInUser();
    const back = await server.authorize(web, browser, { scope: SCOPE });
    const { verifier = "" } = back;
    const checks = { pkceCodeVerifier: verifier, expectedState: "st", idTokenExpected: true };
    const tokens = await openid.authorizationCodeGrant(site, new URL(`${web.redirectUri}?${back}`), checks, undefined, bound);
    const refreshed = await openid.refreshTokenGrant(site, tokens.refresh_token ?? "", undefined, bound);
    expect(refreshed.token_type).toBe("dpop");
    expect(await openid.fetchUserInfo(site, refreshed.access_token, id, bound)).toMatchObject({ sub: id });
  });
});
