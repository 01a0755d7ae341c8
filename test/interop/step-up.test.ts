import * as oauth from "oauth4webapi";
import * as openid from "openid-client";
import { expect, onTestFinished } from "vitest";
import { startNotesApi } from "../../examples/rest-api/server.ts";
import { withApp } from "../support/authenticator-app.ts";
import type { Browser } from "../support/browser.ts";
import { claimsOf } from "../support/flow.ts";
import { describe, type TestServer, test } from "../support/server.ts";

const MFA = "urn:countersign:mfa";
const SCOPE = "openid notes:read notes:write";
/** What the example demands where it deletes notes. */
const DEMAND = { acr_values: `phr ${MFA}`, max_age: "300" };

async function guarded(server: TestServer) {
  const notes = await startNotesApi({ issuer: server.url });
  onTestFinished(notes.close);
  return { notes, user: await withApp(server) };
}

/** Lets the user go through the pages of an authorization request. @returns where the client gets its code */
async function visit(browser: Browser, href: string, code: string | undefined): Promise<URL> {
  let page = await browser.follow(href);
  expect(page.url.includes("/login/code?step=")).toBe(code !== undefined);
  if (code !== undefined) page = await browser.submit(page, { code });
  if (page.html.includes('name="decision"')) page = await browser.submit(page, { decision: "approve" });
  return new URL(page.url);
}

describe("RFC 9470: the challenge of the guarded example, answered by", () => {
  test("openid-client: acr_values and max_age lead to a token with which the call succeeds", async ({ server }) => {
    const { notes, user } = await guarded(server);
    const { clientId, secret = "", redirectUri } = server.clients.web;
    const metadata = { client_secret: secret, id_token_signed_response_alg: "EdDSA" };
    const insecure = { execute: [openid.allowInsecureRequests] };
    const config = await openid.discovery(new URL(server.url), clientId, metadata, openid.ClientSecretBasic(secret), insecure);
    const authorize = async (more: Record<string, string>, code?: string) => {
      const [pkceCodeVerifier, expectedState] = [openid.randomPKCECodeVerifier(), openid.randomState()];
      const code_challenge = await openid.calculatePKCECodeChallenge(pkceCodeVerifier);
      const asked = { redirect_uri: redirectUri, scope: SCOPE, resource: notes.resource, code_challenge, code_challenge_method: "S256" };
      const url = openid.buildAuthorizationUrl(config, { ...asked, state: expectedState, ...more });
      const maxAge = more.max_age === undefined ? {} : { maxAge: Number(more.max_age) };
      const checks = { pkceCodeVerifier, expectedState, idTokenExpected: true, ...maxAge };
      return openid.authorizationCodeGrant(config, await visit(user.browser, url.href, code), checks, { resource: notes.resource });
    };
    const deleteNotes = (token: string) => openid.fetchProtectedResource(config, token, new URL(`${notes.origin}/notes`), "DELETE");

    const first = await authorize({});
    const refused = await deleteNotes(first.access_token).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(openid.WWWAuthenticateChallengeError);
    const [challenge] = (refused as openid.WWWAuthenticateChallengeError).cause;
    expect(challenge?.parameters).toMatchObject({ error: "insufficient_user_authentication", ...DEMAND });
    const { acr_values = "", max_age = "" } = challenge?.parameters ?? {};
    const stronger = await authorize({ acr_values, max_age }, user.recovery[0]);
    expect(stronger.claims()).toMatchObject({ acr: MFA, amr: ["pwd", "mfa"], auth_time: expect.any(Number) });
    expect((await deleteNotes(stronger.access_token)).status).toBe(204);
  });

  test("oauth4webapi, which checks acr and auth_time of the ID token", async ({ server }) => {
    const { notes, user } = await guarded(server);
    const insecure = { [oauth.allowInsecureRequests]: true };
    const issuer = new URL(server.url);
    const as = await oauth.processDiscoveryResponse(issuer, await oauth.discoveryRequest(issuer, { algorithm: "oidc", ...insecure }));
    expect((as as unknown as { acr_values_supported: string[] }).acr_values_supported).toContain(MFA);
    const { web } = server.clients;
    const client: oauth.Client = { client_id: web.clientId, id_token_signed_response_alg: "EdDSA" };
    const authorize = async (more: Record<string, string>, code?: string) => {
      const { verifier, challenge } = server.pkce();
      const url = server.authorizeUrl(web, { scope: SCOPE, resource: notes.resource, code_challenge: challenge, ...more });
      const params = oauth.validateAuthResponse(as, client, await visit(user.browser, url, code), "st");
      const auth = oauth.ClientSecretBasic(web.secret ?? "");
      const response = await oauth.authorizationCodeGrantRequest(as, client, auth, params, web.redirectUri, verifier, insecure);
      const maxAge = more.max_age === undefined ? {} : { maxAge: Number(more.max_age) };
      return oauth.processAuthorizationCodeResponse(as, client, response, { requireIdToken: true, ...maxAge });
    };
    const deleteNotes = (token: string) =>
      oauth.protectedResourceRequest(token, "DELETE", new URL(`${notes.origin}/notes`), undefined, null, insecure);

    const first = await authorize({});
    const refused = await deleteNotes(first.access_token).catch((error: unknown) => error);
    const [challenge] = (refused as oauth.WWWAuthenticateChallengeError).cause;
    expect([challenge?.scheme, challenge?.parameters]).toMatchObject(["bearer", { error: "insufficient_user_authentication", ...DEMAND }]);
    const { acr_values = "", max_age = "" } = challenge?.parameters ?? {};
    const stronger = await authorize({ acr_values, max_age }, user.recovery[0]);
    expect(oauth.getValidatedIdTokenClaims(stronger)).toMatchObject({ acr: MFA, auth_time: expect.any(Number) });
    expect(claimsOf(stronger.access_token)).toMatchObject({ acr: MFA, auth_time: expect.any(Number) });
    expect((await deleteNotes(stronger.access_token)).status).toBe(204);
  });
});
