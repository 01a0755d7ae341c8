import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import type { Client } from "../../../src/clients/client.ts";
import { anySecretMethod, authenticateClient, registeredMethod } from "../../../src/core/client-authentication.ts";
import { ClientCredentialSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { anAssertion, keyFor, type TestKey } from "../../support/assertions.ts";
import { aClient } from "../../support/builders.ts";
import { aThrottle } from "../../support/throttle.ts";
import { NO_WORKLOADS } from "../../support/workloads.ts";

const assertion = { clientAssertionType: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", clientAssertion: "a.b.c" };
const basic = (clientSecret: string, clientId = "notes-app") => ({ basic: { clientId, clientSecret } });
const post = (clientSecret: string, clientId = "notes-app") => ({ clientId, clientSecret });

/** Every assertion in these tests was used before, if all else is right. */
const noAssertions = {
  clock: () => 1000,
  workloads: NO_WORKLOADS,
  issuer: "https://auth.example.test",
  assertionAudiences: ["https://auth.example.test"],
  remoteKeys: { current: async () => [], refreshed: async () => [] },
  documentKeys: { current: async () => [], refreshed: async () => [] },
  consumedIds: { consume: async () => false },
};
const directory = (client: Client) => ({ byClientId: async (clientId: string) => (clientId === client.clientId ? client : undefined) });

async function outcome(
  credential: MessageInitShape<typeof ClientCredentialSchema>,
  members: Partial<Client> = {},
  rule = registeredMethod,
) {
  const ports = { clients: directory(aClient(members)), throttle: aThrottle(() => 1000), ...noAssertions };
  return authenticateClient(create(ClientCredentialSchema, credential), rule, ports).then(
    (client) => client.clientId,
    (error) => [error.code, error.reason],
  );
}

const publicClient = { tokenEndpointAuthMethod: "none", secretHash: null } as const;
const postClient = { tokenEndpointAuthMethod: "client_secret_post" } as const;
const keyClient = { tokenEndpointAuthMethod: "private_key_jwt", secretHash: null } as const;

test.for([
  ["basic by a basic client", basic("the-secret"), {}, "notes-app"],
  ["basic with the same client_id in the body", { ...basic("the-secret"), clientId: "notes-app" }, {}, "notes-app"],
  ["basic with another client_id in the body", { ...basic("the-secret"), clientId: "other" }, {}, "contradicting_client_ids"],
  ["a wrong secret", basic("wrong"), {}, "wrong_secret"],
  ["an unknown client", basic("the-secret", "unknown"), {}, "client_unknown"],
  ["a disabled client", basic("the-secret"), { enabled: false }, "client_disabled"],
  ["post by a basic client", post("the-secret"), {}, "notes-app"],
  ["basic by a post client", basic("the-secret"), postClient, "notes-app"],
  ["a wrong secret by post, by a basic client", post("wrong"), {}, "wrong_secret"],
  ["post by a post client", post("the-secret"), postClient, "notes-app"],
  ["nothing by a basic client", { clientId: "notes-app" }, {}, "method_not_registered"],
  ["an empty secret by a basic client", post(""), {}, "method_not_registered"],
  ["none by a public client", { clientId: "notes-app" }, publicClient, "notes-app"],
  ["basic with an empty secret by a public client", basic(""), publicClient, "notes-app"],
  ["a secret by a public client", basic("x"), publicClient, "method_not_registered"],
  ["a posted secret by a public client", post("x"), publicClient, "method_not_registered"],
  ["a posted secret by a key client", post("x"), keyClient, "method_not_registered"],
  ["nothing by a key client", { clientId: "notes-app" }, keyClient, "method_not_registered"],
  ["a secret by a key client", basic("x"), keyClient, "method_not_registered"],
  ["basic and post at once", { ...basic("the-secret"), clientSecret: "the-secret" }, {}, "several_methods"],
  ["basic and an assertion at once", { ...basic("the-secret"), assertion }, {}, "several_methods"],
  ["post and an assertion at once", { ...post("the-secret"), assertion }, postClient, "several_methods"],
  ["no client at all", {}, {}, "client_not_named"],
  ["an empty client_id", { clientId: "" }, publicClient, "client_not_named"],
] as const)("docs/protocol.md#client-authentication: %s", async ([, credential, members, expected]) => {
  const answer = expected === "notes-app" ? expected : ["invalid_client", expected];
  expect(await outcome(credential, members)).toEqual(answer);
});

test.for([
  ["basic by a post client", basic("the-secret"), postClient, "notes-app"],
  ["post by a basic client", post("the-secret"), {}, "notes-app"],
  ["none by a public client", { clientId: "notes-app" }, publicClient, "method_not_registered"],
] as const)("docs/protocol.md#client-authentication: %s", async ([, credential, members, expected]) => {
  const answer = expected === "notes-app" ? expected : ["invalid_client", expected];
  expect(await outcome(credential, members, anySecretMethod)).toEqual(answer);
});

test.for([
  [
    "several methods",
    { ...basic("the-secret"), clientSecret: "the-secret" },
    "Use one method of client authentication: the request has more than one.",
  ],
  ["no client", {}, "Client credentials are missing: send client_id, or the header Authorization: Basic."],
  [
    "an unknown client_assertion_type",
    { assertion: { ...assertion, clientAssertionType: "jwt" } },
    "client_assertion_type must be urn:ietf:params:oauth:client-assertion-type:jwt-bearer or urn:ietf:params:oauth:client-assertion-type:jwt-spiffe.",
  ],
  ["a wrong secret", basic("wrong"), undefined],
  ["an unknown client", basic("the-secret", "unknown"), undefined],
  ["another method than the registered one", { clientId: "notes-app" }, undefined],
  ["a malformed assertion", { assertion }, undefined],
] as const)("docs/protocol.md#client-authentication: the description of %s", async ([, credential, description]) => {
  const ports = { clients: directory(aClient()), throttle: aThrottle(() => 1000), ...noAssertions };
  const refused = await authenticateClient(create(ClientCredentialSchema, credential), registeredMethod, ports).catch((error) => error);
  expect([refused.code, refused.detail.description]).toEqual(["invalid_client", description]);
});

const key = keyFor("ES256", "k1");
const rsa = keyFor("RS256", "k2");
const fapi2 = { ...keyClient, securityProfile: "fapi2", jwks: { keys: [key.jwk, rsa.jwk] } } as const;
const signedBy = (by: TestKey) => ({
  assertion: {
    clientAssertionType: assertion.clientAssertionType,
    clientAssertion: anAssertion(by, { clientId: "notes-app", audience: noAssertions.issuer, now: 1000 }),
  },
});
test.for<readonly [string, object, Partial<Client>, string]>([
  ["is accepted by ES256", signedBy(key), fapi2, "assertion_used_before"], // the last of all rules: see noAssertions
  ["is refused by RS256", signedBy(rsa), fapi2, "algorithm_not_in_profile"],
  ["is refused by a secret", basic("the-secret"), { securityProfile: "fapi2" }, "method_not_in_profile"],
  ["may use RS256 without the profile", signedBy(rsa), { ...fapi2, securityProfile: null }, "assertion_used_before"],
])("docs/protocol.md#security-profile: a client with fapi2 %s", async ([, credential, members, reason]) => {
  expect(await outcome(credential, members)).toEqual(["invalid_client", reason]);
});

test("OAuth 2.1 §2.4.1: 100 wrong secrets block one client at one address, and no other", async () => {
  const ports = { clients: directory(aClient()), throttle: aThrottle(() => 1000), ...noAssertions };
  const attempt = (secret: string, address: string) =>
    authenticateClient(create(ClientCredentialSchema, { ...basic(secret), address }), registeredMethod, ports).then(
      () => "in",
      (error) => error.code,
    );
  for (let guess = 0; guess < 100; guess++) expect(await attempt(`guess-${guess}`, "192.0.2.1")).toBe("invalid_client");
  expect(await attempt("guess-101", "192.0.2.1")).toBe("too_many_requests");
  expect(await attempt("guess-101", "192.0.2.2")).toBe("invalid_client");
});

test("a right secret is accepted while wrong secrets of the same client and address are throttled", async () => {
  const ports = { clients: directory(aClient()), throttle: aThrottle(() => 1000), ...noAssertions };
  const attempt = (secret: string) =>
    authenticateClient(create(ClientCredentialSchema, { ...basic(secret), address: "192.0.2.1" }), registeredMethod, ports).then(
      () => "in",
      (error) => error.code,
    );
  for (let guess = 0; guess < 110; guess++) await attempt(`guess-${guess}`);
  expect([await attempt("guess"), await attempt("the-secret"), await attempt("guess")]).toEqual([
    "too_many_requests",
    "in",
    "too_many_requests",
  ]);
});

test("a disabled client with the right secret is throttled as well", async () => {
  const ports = { clients: directory(aClient({ enabled: false })), throttle: aThrottle(() => 1000), ...noAssertions };
  const attempt = () =>
    authenticateClient(create(ClientCredentialSchema, { ...basic("the-secret"), address: "192.0.2.1" }), registeredMethod, ports).catch(
      (error) => error.code,
    );
  for (let guess = 0; guess < 100; guess++) expect(await attempt()).toBe("invalid_client");
  expect(await attempt()).toBe("too_many_requests");
});
