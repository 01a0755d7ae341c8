import { generateKeyPairSync } from "node:crypto";
import type { JWK } from "jose";
import { expect, onTestFinished, test, vi } from "vitest";
import { proofVerifier } from "../../../guard-sdk/src/proof.ts";
import { importProofKey, PROOF_ALGORITHMS } from "../../../guard-sdk/src/proof-key.ts";
import { CLIENT_ASSERTION_ALGORITHMS } from "../../../src/clients/client.ts";
import { thumbprint } from "../../../src/core/dpop.ts";
import { keyFor } from "../../support/assertions.ts";
import { aProof, type ProofRequest, proofKey, thumbprintOf } from "../../support/dpop.ts";
import { refusalOf } from "../../support/guard-refusal.ts";

const NOW = 1_000_000;
const url = "https://notes.example/mcp";
const request = { method: "POST", url, token: "token" };
const key = proofKey();
const proofOf = ({ claims, ...rest }: Partial<ProofRequest> = {}) =>
  aProof(key, { url, accessToken: "token", ...rest, claims: { iat: NOW, ...claims } });
const verify = proofVerifier(() => NOW);

test("accepts the algorithms that the server binds tokens by", () => {
  expect(new Set<string>(PROOF_ALGORITHMS)).toEqual(new Set(CLIENT_ASSERTION_ALGORITHMS));
});

test.for(PROOF_ALGORITHMS)("RFC 9449 §4.3: accepts a proof by %s", async (alg) => {
  const other = keyFor(alg);
  const proof = aProof(other, { url, accessToken: "token", claims: { iat: NOW } });
  expect(await verify({ ...request, proofs: [proof] })).toEqual({ jkt: thumbprint(other.jwk) });
});

test.for(PROOF_ALGORITHMS)("verifies a signature by %s with WebCrypto alone", async (alg) => {
  const other = keyFor(alg);
  const [header, payload, signature = ""] = aProof(other, { url }).split(".");
  const { jkt, verifies } = await importProofKey(other.jwk as JWK, alg, null);
  expect(jkt).toBe(thumbprint(other.jwk));
  const input = new TextEncoder().encode(`${header}.${payload}`);
  expect(await verifies(input, Buffer.from(signature, "base64url"))).toBe(true);
  expect(await verifies(input.slice(1), Buffer.from(signature, "base64url"))).toBe(false);
});

test("accepts a URL in another spelling, with a query, and a time within 300 seconds", async () => {
  for (const claims of [{ htu: "HTTPS://notes.example:443/%6dcp?a#b" }, { iat: NOW - 300 }, { iat: NOW + 300 }, { exp: NOW - 60 }])
    expect(await verify({ ...request, proofs: [proofOf({ claims })] })).toEqual({ jkt: thumbprintOf(key) });
});

const once = proofOf();
test("accepts a proof once", async () => {
  await verify({ ...request, proofs: [once] });
  expect(await refusalOf(() => verify({ ...request, proofs: [once] }))).toEqual(["invalid_dpop_proof", "proof_used"]);
});

test("remembers a proof in a few bytes, however long its jti is", async () => {
  const remembered = vi.spyOn(Set.prototype, "add");
  onTestFinished(() => void remembered.mockRestore());
  await verify({ ...request, proofs: [proofOf({ claims: { jti: "x".repeat(2_000) } })] });
  const texts = remembered.mock.calls.flatMap(([value]) => (typeof value === "string" ? [value.length] : []));
  expect([texts.length > 0, Math.max(...texts) < 16]).toEqual([true, true]);
});

const { privateKey, jwk } = key;
/** The same bytes with other unused bits in the last character. */
const respelt = (proof: string) => proof.replace(/.$/, (last) => String.fromCharCode(last.charCodeAt(0) + 1));
const rsa = keyFor("RS256");
const numbers = (text: unknown) => Buffer.from(String(text), "base64url");
const weak = generateKeyPairSync("rsa", { modulusLength: 512 }).publicKey.export({ format: "jwk" });
const padded = { ...weak, n: Buffer.concat([Buffer.alloc(192), numbers(weak.n)]).toString("base64url") };
const costly = { ...rsa.jwk, e: numbers(rsa.jwk.n).fill(0, 0, 1).toString("base64url") };
test.for([
  ["no proof", [], "proof_missing"],
  ["two proofs", [proofOf(), proofOf()], "proof_malformed"],
  ["two proofs that a runtime joined", [`${proofOf()}, ${proofOf()}`], "proof_malformed"],
  ["a long proof", [proofOf({ claims: { padding: "x".repeat(4_096) } })], "proof_malformed"],
  ["no JWS", ["x"], "proof_malformed"],
  ["another type", [proofOf({ header: { typ: "at+jwt" } })], "proof_type_wrong"],
  ["no key", [proofOf({ header: { jwk: undefined } })], "proof_key_missing"],
  ["a private key", [proofOf({ header: { jwk: privateKey.export({ format: "jwk" }) } })], "proof_key_not_public"],
  ["a key of another type", [proofOf({ header: { jwk: keyFor("EdDSA").jwk } })], "proof_key_not_accepted"],
  ["a symmetric algorithm", [proofOf({ header: { alg: "HS256", jwk: { kty: "oct", k: "AA" } } })], "proof_algorithm_not_accepted"],
  ["a point that is not on the curve", [proofOf({ header: { jwk: { ...jwk, x: "AAAA" } } })], "proof_key_not_accepted"],
  ["an RSA key of 512 bits, filled with zeros", [proofOf({ header: { alg: "RS256", jwk: padded } })], "proof_key_not_accepted"],
  ["an RSA exponent of 2040 bits", [proofOf({ header: { alg: "RS256", jwk: costly } })], "proof_key_not_accepted"],
  ["an RSA exponent of 1", [proofOf({ header: { alg: "RS256", jwk: { ...rsa.jwk, e: "AQ" } } })], "proof_key_not_accepted"],
  ["an RSA key without a modulus", [proofOf({ header: { alg: "RS256", jwk: { ...rsa.jwk, n: undefined } } })], "proof_key_not_accepted"],
  ["another key", [proofOf({ header: { jwk: proofKey().jwk } })], "proof_not_verified"],
  ["crit", [proofOf({ header: { crit: ["x"], x: 1 } })], "proof_malformed"],
  ["b64", [proofOf({ header: { b64: false } })], "proof_malformed"],
  ["the algorithm of another curve", [proofOf({ header: { alg: "ES384" } })], "proof_key_not_accepted"],
  ["algorithm none", [proofOf({ header: { alg: "none" } })], "proof_algorithm_not_accepted"],
  ["no jti", [proofOf({ claims: { jti: undefined } })], "proof_malformed"],
  ["another method", [proofOf({ method: "GET" })], "proof_for_another_method"],
  ["another path", [proofOf({ url: "https://notes.example/other" })], "proof_for_another_url"],
  ["another host", [proofOf({ url: "https://other.example/mcp" })], "proof_for_another_url"],
  ["an age of 301 s", [proofOf({ claims: { iat: NOW - 301 } })], "proof_not_current"],
  ["a time from which it is valid, 301 s ahead", [proofOf({ claims: { nbf: NOW + 301 } })], "proof_not_current"],
  ["a time from which it is valid that is no number", [proofOf({ claims: { nbf: String(NOW) } })], "proof_not_current"],
  ["a time at which it expired, 61 s ago", [proofOf({ claims: { exp: NOW - 61 } })], "proof_not_current"],
  ["a time at which it expires that is no number", [proofOf({ claims: { exp: String(NOW + 60) } })], "proof_not_current"],
  ["no time", [proofOf({ claims: { iat: undefined } })], "proof_not_current"],
  ["another token", [proofOf({ accessToken: "other" })], "proof_for_another_token"],
  ["a signature in another spelling", [respelt(proofOf())], "proof_malformed"],
  ["a signature that is no base64url", [`${proofOf().slice(0, proofOf().lastIndexOf("."))}.${"A".repeat(85)}`], "proof_malformed"],
] as const)("RFC 9449 §4.3: refuses %s", async ([, proofs, reason]) => {
  expect(await refusalOf(() => verify({ ...request, proofs }))).toEqual(["invalid_dpop_proof", reason]);
});
