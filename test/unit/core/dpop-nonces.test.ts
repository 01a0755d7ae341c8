import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { checkProof, proofNonces } from "../../../src/core/dpop.ts";
import { type SigningKey, signingKey } from "../../../src/core/signing/keys.ts";
import { Refusal } from "../../../src/errors.ts";
import { aProof, proofKey } from "../../support/dpop.ts";

const NOW = 1_500_000;
const newKey = () => signingKey(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString());
const noncesOf = (first: SigningKey, ...others: readonly SigningKey[]) =>
  proofNonces({ own: [first, ...others], signing: () => ({ accessToken: first, idToken: first, hybrid: undefined }) });

/** The nonce that a request without one is given. */
function givenAt(nonces: ReturnType<typeof proofNonces>, now: number, sent?: unknown): string {
  try {
    nonces.assertFresh(sent, now);
  } catch (error) {
    if (error instanceof Refusal && error.code === "use_dpop_nonce") return error.detail.dpopNonce ?? "";
    throw error;
  }
  throw new Error("accepted");
}

const key = newKey();
const nonces = noncesOf(key);

test("a nonce is accepted for its period of 150 s and the next, in which another one is given", () => {
  const nonce = givenAt(nonces, NOW);
  expect(nonces.assertFresh(nonce, NOW)).toBeUndefined();
  expect(nonces.assertFresh(nonce, NOW + 149)).toBeUndefined();
  const next = nonces.assertFresh(nonce, NOW + 150);
  expect(next).toMatch(/^[A-Za-z0-9_-]{43}$/);
  expect(next).not.toBe(nonce);
  expect(nonces.assertFresh(next, NOW + 150)).toBeUndefined();
  expect(nonces.assertFresh(nonce, NOW + 299)).toBe(next);
  expect(givenAt(nonces, NOW + 300, nonce)).not.toBe(next);
});

test("the refusal that gives a nonce says how to send it", () => {
  expect(() => nonces.assertFresh(undefined, NOW)).toThrow(
    expect.objectContaining({
      reason: "dpop_nonce_differs",
      detail: expect.objectContaining({ description: "Send a DPoP proof with the nonce of the DPoP-Nonce header." }),
    }),
  );
});

test.for([undefined, "", 1, null, "A".repeat(43)])("%j is no nonce", (sent) => {
  expect(givenAt(nonces, NOW, sent)).not.toBe("");
});

test("cores with the same key accept each other's nonces, also while the key changes", () => {
  expect(noncesOf(key).assertFresh(givenAt(nonces, NOW), NOW)).toBeUndefined();
  const next = newKey();
  const [before, after] = [noncesOf(key, next), noncesOf(next, key)];
  expect(after.assertFresh(givenAt(before, NOW), NOW)).toBeUndefined();
  expect(before.assertFresh(givenAt(after, NOW), NOW)).toBeUndefined();
  expect(givenAt(noncesOf(newKey()), NOW, givenAt(nonces, NOW))).not.toBe("");
});

test("a proof is asked for a nonce only if all else is right", () => {
  const url = "https://auth.example.test/oauth/token";
  const codeOf = (claims: object) => {
    try {
      return checkProof(
        { proof: aProof(proofKey(), { url, claims: { iat: NOW, ...claims } }), htm: "POST", htu: url },
        { now: NOW, nonces },
      ).dpopNonce;
    } catch (error) {
      return error instanceof Refusal ? error.code : error;
    }
  };
  expect(codeOf({})).toBe("use_dpop_nonce");
  expect(codeOf({ htm: "GET" })).toBe("invalid_dpop_proof");
  expect(codeOf({ nonce: givenAt(nonces, NOW) })).toBeUndefined();
  const earlier = givenAt(nonces, NOW - 150);
  expect(codeOf({ nonce: earlier })).toBe(givenAt(nonces, NOW));
});
