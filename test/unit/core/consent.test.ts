import { createHash } from "node:crypto";
import { expect, test } from "vitest";
import type { Client } from "../../../src/clients/client.ts";
import { consentFingerprint, mayHaveCodeAtOnce, mustAlwaysAsk } from "../../../src/core/policy/consent.ts";
import { aClient } from "../../support/builders.ts";

const published = (members: Partial<Client> = {}): Client =>
  aClient({
    origin: "metadata_document",
    clientId: "https://client.example.test/doc",
    tokenEndpointAuthMethod: "none",
    secretHash: null,
    redirectUris: ["https://a.example.test/cb", "http://127.0.0.1/cb"],
    ...members,
  });

test.for([
  ["another order of redirect URIs", { redirectUris: ["http://127.0.0.1/cb", "https://a.example.test/cb"] }],
  ["another path at the same host", { redirectUris: ["https://a.example.test/cb", "https://a.example.test/two", "http://127.0.0.1/cb"] }],
  ["another port of the same host", { redirectUris: ["https://a.example.test:8443/cb", "http://127.0.0.1/cb"] }],
  ["a new name", { name: "Renamed" }],
  ["other scopes and grants", { scopes: ["openid"], grantTypes: ["authorization_code"] }],
] as const)('CIMD "Changes": %s keeps a consent valid', ([, members]) => {
  expect(consentFingerprint(published(members as Partial<Client>))).toBe(consentFingerprint(published()));
});

test('CIMD "Changes": new keys alone keep a consent valid', () => {
  const withKeys = (x: string) => consentFingerprint(published({ tokenEndpointAuthMethod: "private_key_jwt", jwks: { keys: [{ x }] } }));
  expect(withKeys("one")).toBe(withKeys("two"));
});

test.for([
  ["another method", { tokenEndpointAuthMethod: "private_key_jwt" }],
  ["a further method", { alternativeAuthMethods: ["private_key_jwt"] }],
  ["a further redirect host", { redirectUris: ["https://a.example.test/cb", "https://b.example.test/cb", "http://127.0.0.1/cb"] }],
  ["another scheme", { redirectUris: ["https://a.example.test/cb", "com.example.app:/cb"] }],
  ["a jwks_uri", { jwksUri: "https://client.example.test/keys" }],
  ["keys in the document", { jwks: { keys: [] } }],
] as const)('CIMD "Changes": %s voids a consent', ([, members]) => {
  expect(consentFingerprint(published(members as Partial<Client>))).not.toBe(consentFingerprint(published()));
});

test('CIMD "Changes": another jwks_uri voids a consent', () => {
  const at = (jwksUri: string) => consentFingerprint(published({ jwksUri }));
  expect(at("https://client.example.test/one")).not.toBe(at("https://client.example.test/two"));
});

const SPIFFE = { id: "spiffe://example.test/agent", bundleEndpoint: "https://example.test/bundle" };

test.for([
  ["without keys", {}, '[["none"],["http://127.0.0.1","https://a.example.test"],null]'],
  [
    "with keys and two methods",
    { tokenEndpointAuthMethod: "private_key_jwt", alternativeAuthMethods: ["none"], jwks: { keys: [] } },
    '[["none","private_key_jwt"],["http://127.0.0.1","https://a.example.test"],"inline"]',
  ],
  [
    "with jwks_uri and a SPIFFE ID",
    { redirectUris: ["not a URI"], jwksUri: "https://a.example.test/keys", spiffe: SPIFFE },
    '[["none"],["not a URI"],"https://a.example.test/keys","spiffe://example.test/agent","https://example.test/bundle"]',
  ],
] as const)("the fingerprint of a document %s is what earlier releases stored with its consents", ([, members, text]) => {
  expect(consentFingerprint(published(members as Partial<Client>))).toBe(createHash("sha256").update(text).digest("base64url"));
});

test("registered clients have no fingerprint, and their consent may be remembered with any redirect URI", () => {
  for (const origin of ["operator", "developer", "dynamic"] as const) {
    expect([consentFingerprint(published({ origin })), mustAlwaysAsk(published({ origin }))]).toEqual([undefined, false]);
  }
});

test.for([
  [["https://a.example.test/cb"], false],
  [["http://127.0.0.1/cb"], true],
  [["https://a.example.test/cb", "http://localhost/cb"], true],
  [["com.example.app:/cb"], true],
] as const)("OAuth 2.1 §7.3.1: a document with the redirect URIs %j always needs consent: %s", ([redirectUris, expected]) => {
  expect(mustAlwaysAsk(published({ redirectUris }))).toBe(expected);
});

test("OAuth 2.1 §7.3.1: the built-in client of the command line, which redirects to the device, always needs consent", () => {
  const commandLine = aClient({ origin: "built_in", redirectUris: ["http://127.0.0.1/callback"] });
  expect([mustAlwaysAsk(commandLine), mayHaveCodeAtOnce({ ...params, client: commandLine }, "me")]).toEqual([true, false]);
});

const params = { client: aClient(), prompt: [], maxAge: undefined, acrValues: undefined, hintedSub: undefined };

test.for([
  ["a plain request", {}, true],
  ["prompt=none", { prompt: ["none"] }, true],
  ["prompt=login", { prompt: ["login"] }, false],
  ["prompt=consent", { prompt: ["consent"] }, false],
  ["prompt=select_account", { prompt: ["select_account"] }, false],
  ["max_age", { maxAge: 10_000 }, false],
  ["max_age=0", { maxAge: 0 }, false],
  ["acr_values of which none is known", { acrValues: [] }, true],
  ["acr_values", { acrValues: ["phr"] }, false],
  ["a hint at this user", { hintedSub: "me" }, true],
  ["a hint at another user", { hintedSub: "you" }, false],
  ["the client of a metadata document", { client: published() }, false],
] as const)("%s may get a code without interaction: %s", ([, members, expected]) => {
  expect(mayHaveCodeAtOnce({ ...params, ...members }, "me")).toBe(expected);
});
