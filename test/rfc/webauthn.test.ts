import { randomBytes } from "node:crypto";
import { expect } from "vitest";
import { anAuthenticator } from "../support/authenticator.ts";
import { aBrowser, type Browser } from "../support/browser.ts";
import { describe, type TestServer, test } from "../support/server.ts";

type Authenticator = ReturnType<typeof anAuthenticator>;
type Said = Parameters<Authenticator["answer"]>[1];

const headersOf = (server: TestServer) => ({ origin: new URL(server.url).origin });
const partyOf = ({ url }: TestServer) => ({ id: new URL(url).hostname, origin: new URL(url).origin });
const tokenIn = (html: string) => /name="form_token" value="([^"]*)"/.exec(html)?.[1] ?? "";

/** What the script of a page gets: a challenge, with the token of the form that asks for it. */
async function challengeFor(server: TestServer, browser: Browser, page: string, path: string) {
  const { html } = await browser.follow(page);
  const form = /<form[^>]*data-passkey[\s\S]*?<\/form>/.exec(html)?.[0] ?? "";
  const token = tokenIn(form);
  const asked = await browser.request(path, {
    method: "POST",
    body: new URLSearchParams({ form_token: token }),
    headers: headersOf(server),
  });
  const options = (await asked.json()) as { readonly challenge: string };
  return { options, token };
}

const send = (server: TestServer, browser: Browser, path: string, fields: Record<string, string>) =>
  browser.request(path, { method: "POST", body: new URLSearchParams(fields), headers: headersOf(server) });

async function register(server: TestServer, browser: Browser, authenticator: Authenticator, said?: Said) {
  const { options, token } = await challengeFor(server, browser, "/account/security", "/account/security/passkeys/options");
  const response = authenticator.created(options.challenge, said);
  return send(server, browser, "/account/security/passkeys", { form_token: token, response, name: "Key" });
}

async function signIn(server: TestServer, authenticator: Authenticator, said?: Said) {
  const browser = aBrowser(server.url);
  const { options, token } = await challengeFor(server, browser, "/login", "/login/passkey/options");
  return send(server, browser, "/login/passkey", { form_token: token, response: authenticator.answer(options.challenge, said) });
}

async function withPasskey(server: TestServer) {
  const user = await server.signedInUser();
  const authenticator = anAuthenticator(partyOf(server), user.id);
  expect((await register(server, user.browser, authenticator)).status).toBe(303);
  return { ...user, authenticator };
}

const ELSEWHERE = [
  ["in a frame of another origin", { crossOrigin: true }],
  ["in a frame of another origin that is named", { crossOrigin: true, topOrigin: "https://evil.test" }],
  ["with the name of a top origin alone", { topOrigin: "https://evil.test" }],
  ["at another origin", { origin: "https://evil.test" }],
  ["for the other ceremony", { type: "webauthn.else" }],
] as const;

describe("WebAuthn L3 §7.1, registering a passkey", () => {
  test.for(ELSEWHERE)("refuses one that was made %s", async ([, clientData], { server }) => {
    const { browser, id } = await server.signedInUser();
    expect((await register(server, browser, anAuthenticator(partyOf(server), id), { clientData })).status).toBe(401);
  });

  test.for([
    ["without user verification", "41"],
    ["without a present user", "44"],
    ["as backed up although it cannot be", "55"],
  ] as const)("refuses one that was made %s", async ([, flags], { server }) => {
    const { browser, id } = await server.signedInUser();
    expect((await register(server, browser, anAuthenticator(partyOf(server), id), { flags })).status).toBe(401);
  });

  test("takes a credential id of 1023 bytes, and none that is longer", async ({ server }) => {
    const { browser, id } = await server.signedInUser();
    for (const [bytes, status] of [
      [1023, 303],
      [1024, 401],
      [5000, 401],
    ] as const)
      expect((await register(server, browser, anAuthenticator(partyOf(server), id, randomBytes(bytes)))).status).toBe(status);
  });

  test("refuses the credential of another user", async ({ server }) => {
    const [one, other] = [await withPasskey(server), await server.signedInUser()];
    expect((await register(server, other.browser, one.authenticator)).status).toBe(409);
  });
});

describe("WebAuthn L3 §7.2, signing in by a passkey", () => {
  test("takes one that names its user", async ({ server }) => {
    const { authenticator } = await withPasskey(server);
    expect((await signIn(server, authenticator)).status).toBe(303);
  });

  test.for([
    ["no user", undefined],
    ["another user", Buffer.alloc(16, 1).toString("base64url")],
  ] as const)("refuses one that names %s", async ([, userHandle], { server }) => {
    const { authenticator } = await withPasskey(server);
    expect((await signIn(server, authenticator, { response: { userHandle } })).status).toBe(401);
  });

  test.for(ELSEWHERE)("refuses one that was used %s", async ([, clientData], { server }) => {
    const { authenticator } = await withPasskey(server);
    expect((await signIn(server, authenticator, { clientData })).status).toBe(401);
    expect((await signIn(server, authenticator)).status).toBe(303);
  });

  test.for([
    ["without user verification", "01"],
    ["without a present user", "04"],
    ["as backed up although it cannot be", "15"],
  ] as const)("refuses one that was used %s", async ([, flags], { server }) => {
    const { authenticator } = await withPasskey(server);
    expect((await signIn(server, authenticator, { flags })).status).toBe(401);
  });
});
