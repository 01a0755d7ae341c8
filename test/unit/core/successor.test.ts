import { createPrivateKey, generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { derivedSecret, type SuccessorInput, signingKey, successorOf } from "../../../src/core/signing/keys.ts";

/** The key of RFC 8037, appendix A.1. */
const jwk = {
  kty: "OKP",
  crv: "Ed25519",
  d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A",
  x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo",
};
const pemOf = (key: ReturnType<typeof createPrivateKey>) => key.export({ type: "pkcs8", format: "pem" }).toString();
const key = signingKey(pemOf(createPrivateKey({ key: jwk, format: "jwk" })));
const request: SuccessorInput = {
  refreshToken: "a".repeat(64),
  scope: "notes:read notes:write",
  resource: ["https://a.test", "https://b.test"],
};
const successor = successorOf(key);

test("a core of another release derives the same successor", () => {
  // Fixed: while servers are replaced one by one, a repeated request may reach an earlier release.
  expect(successor(request)).toBe("b6ab9691ef3f013ab7d4dd04e4df79198ba227e379225066b4f3e4ec3199d4e4");
  expect(derivedSecret(key, "a purpose").toString("hex")).toBe("aac88c28c238e7d7c89cbac37a21b97dab9ed327ac523a788411d4ca8e0b62e5");
});

test.for<[string, SuccessorInput]>([
  ["in another order of scopes", { ...request, scope: "notes:write notes:read" }],
  ["with a scope twice", { ...request, scope: "notes:read notes:write notes:read" }],
  ["in another order of resources", { ...request, resource: ["https://b.test", "https://a.test"] }],
  ["with a resource twice", { ...request, resource: ["https://a.test", "https://b.test", "https://a.test"] }],
])("the same request %s has the same successor", ([, same]) => {
  expect(successor(same)).toBe(successor(request));
});

test("each other request has a successor of its own, and so has each key", () => {
  const { scope: _, ...withoutScope } = request;
  const requests: readonly SuccessorInput[] = [
    request,
    { ...request, refreshToken: "b".repeat(64) },
    { ...request, scope: "notes:read" },
    { ...request, scope: "" },
    withoutScope,
    { ...request, resource: ["https://a.test"] },
    { ...request, resource: [] },
  ];
  const ofAnotherKey = successorOf(signingKey(pemOf(generateKeyPairSync("ed25519").privateKey)));
  expect(new Set([...requests.map(successor), ofAnotherKey(request)]).size).toBe(requests.length + 1);
});
