import { afterAll, beforeAll, expect, test } from "vitest";
import { auditOf } from "../support/accounts.ts";
import { type CredentialIssuer, credentialIssuer } from "../support/credential-issuer.ts";
import { aBrowser, type Browser } from "../support/person.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { aWallet } from "../support/wallet.ts";

let issuer: CredentialIssuer;
let server: TestServer;
beforeAll(async () => {
  issuer = await credentialIssuer();
  server = await startServer({ env: { WALLET_FEDERATION_ENABLED: "true", WALLET_TRUSTED_ISSUERS: issuer.url } });
});
afterAll(async () => {
  await server.close();
  await issuer.close();
});

let people = 0;
async function aPerson(): Promise<{ browser: Browser; csrf: string; id: string }> {
  const browser = aBrowser(server.url);
  const credentials = { email: `wallet-${++people}@example.test`, password: "correct horse battery" };
  const { body } = await browser.json("/auth/register", credentials);
  await browser.json("/auth/login", credentials);
  const consents = await (await browser.request("/consents/")).json();
  return { browser, csrf: consents.csrfToken, id: body.id };
}
async function begin({ browser, csrf }: { browser: Browser; csrf: string }) {
  const response = await browser.request("/auth/link/wallet", { method: "POST", headers: { "x-csrf-token": csrf } });
  return { status: response.status, headers: response.headers, body: (await response.json()) as Record<string, never> };
}
async function poll({ browser }: { browser: Browser }, handle: string) {
  const response = await browser.request(`/auth/link/wallet/${handle}`);
  return { status: response.status, body: await response.json() };
}

test("POST /auth/link/wallet starts a presentation request in linking mode", async () => {
  const person = await aPerson();
  const { status, headers, body } = await begin(person);
  expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
  const { handle, invocation_uri, expires_at } = body;
  expect(Object.keys(body).sort()).toEqual(["expires_at", "handle", "invocation_uri"]);
  expect(handle).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(Math.abs(Number(expires_at) - Date.now() / 1000 - 300)).toBeLessThan(20);
  const uri = new URL(invocation_uri ?? "");
  expect(`${uri.protocol}//${uri.host}`).toBe("openid4vp://authorize");
  expect(await poll(person, handle ?? "")).toEqual({ status: 200, body: { status: "pending" } });
});

test("a wallet's presentation links it to the signed-in person once that session polls", async () => {
  const person = await aPerson();
  const wallet = aWallet();
  const { body } = await begin(person);
  const credential = await issuer.issue({ holder: wallet.holder, claims: { sub: "first" } });
  const answered = await wallet.answer(body.invocation_uri ?? "", credential);
  expect([answered.status, answered.body]).toEqual([200, {}]);
  expect(await poll(person, body.handle ?? "")).toEqual({ status: 200, body: { status: "linked" } });
  expect(await poll(person, body.handle ?? "")).toEqual({ status: 200, body: { status: "linked" } });
  expect((await auditOf(server.database.sql, "wallet.linked")).filter(({ user_id }) => user_id === person.id)).toHaveLength(1);
});
