import * as openid from "openid-client";
import { expect } from "vitest";
import { claimsOf } from "../support/flow.ts";
import { describe, test } from "../support/server.ts";

const insecure = { execute: [openid.allowInsecureRequests] };

describe("openid-client", () => {
  test("discovers the server, registers, signs a user in and refreshes its token", async ({ server }) => {
    const redirectUri = "http://127.0.0.1:7777/cb";
    const metadata = {
      client_name: "openid-client",
      redirect_uris: [redirectUri],
      grant_types: ["authorization_code", "refresh_token"],
      id_token_signed_response_alg: "EdDSA",
    };
    const discovered = await openid.dynamicClientRegistration(new URL(server.url), metadata, undefined, insecure);
    // Dynamic registration has no member for the ID token algorithm, so the client sets it itself.
    const registered = discovered.clientMetadata();
    const config = new openid.Configuration(
      discovered.serverMetadata(),
      registered.client_id,
      { ...registered, id_token_signed_response_alg: "EdDSA" },
      openid.ClientSecretBasic(String(registered.client_secret)),
    );
    openid.allowInsecureRequests(config);

    const verifier = openid.randomPKCECodeVerifier();
    const state = openid.randomState();
    const url = openid.buildAuthorizationUrl(config, {
      redirect_uri: redirectUri,
      scope: "openid email",
      code_challenge: await openid.calculatePKCECodeChallenge(verifier),
      code_challenge_method: "S256",
      state,
    });
    const { browser, id } = await server.signedInUser();
    const back = await browser.submit(await browser.follow(url.href), { decision: "approve" });
    const tokens = await openid.authorizationCodeGrant(config, new URL(back.url), {
      pkceCodeVerifier: verifier,
      expectedState: state,
      idTokenExpected: true,
    });
    expect(tokens.claims()?.sub).toBe(id);
    expect(await openid.fetchUserInfo(config, tokens.access_token, id)).toMatchObject({ sub: id });
    const refreshed = await openid.refreshTokenGrant(config, tokens.refresh_token ?? "");
    expect(refreshed.access_token).not.toBe(tokens.access_token);
  });

  test("obtains and introspects a token by client credentials", async ({ server }) => {
    const { worker } = server.clients;
    const config = await openid.discovery(
      new URL(server.url),
      worker.clientId,
      undefined,
      openid.ClientSecretBasic(worker.secret),
      insecure,
    );
    const tokens = await openid.clientCredentialsGrant(config, { scope: "notes:read" });
    expect(await openid.tokenIntrospection(config, tokens.access_token)).toMatchObject({ active: true, client_id: worker.clientId });
  });

  test("RFC 9126: pushes its authorization request", async ({ server }) => {
    const { clientId, secret = "", redirectUri } = server.clients.web;
    const metadata = { client_secret: secret, id_token_signed_response_alg: "EdDSA" };
    const config = await openid.discovery(new URL(server.url), clientId, metadata, openid.ClientSecretBasic(secret), insecure);
    const [pkceCodeVerifier, expectedState] = [openid.randomPKCECodeVerifier(), openid.randomState()];
    const url = await openid.buildAuthorizationUrlWithPAR(config, {
      redirect_uri: redirectUri,
      scope: "openid email",
      code_challenge: await openid.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: "S256",
      state: expectedState,
    });
    expect([...url.searchParams.keys()].toSorted()).toEqual(["client_id", "request_uri"]);
    const { browser, id } = await server.signedInUser();
    const back = await browser.submit(await browser.follow(url.href), { decision: "approve" });
    const tokens = await openid.authorizationCodeGrant(config, new URL(back.url), { pkceCodeVerifier, expectedState });
    expect(tokens.claims()?.sub).toBe(id);
  });

  test("RFC 9449: binds the token of a client to a key with DPoP", async ({ server }) => {
    const { clientId, secret = "" } = server.clients.worker;
    const config = await openid.discovery(new URL(server.url), clientId, secret, openid.ClientSecretBasic(secret), insecure);
    const DPoP = openid.getDPoPHandle(config, await openid.randomDPoPKeyPair("EdDSA"));
    const tokens = await openid.clientCredentialsGrant(config, { scope: "notes:read" }, { DPoP });
    expect([tokens.token_type, claimsOf(tokens.access_token).cnf]).toEqual(["dpop", { jkt: await DPoP.calculateThumbprint() }]);
  });
});
