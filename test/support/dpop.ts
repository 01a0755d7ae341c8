import { createHash, randomUUID } from "node:crypto";
import { jws, keyFor, type TestKey } from "./assertions.ts";

export interface ProofRequest {
  readonly url: string;
  /** POST if left out. */
  readonly method?: string;
  readonly accessToken?: string;
  readonly claims?: object;
  readonly header?: object;
}

/** The thumbprint of an EC key (RFC 7638 §3.2). */
export const thumbprintOf = ({ jwk: { crv, kty, x, y } }: TestKey): string =>
  createHash("sha256").update(JSON.stringify({ crv, kty, x, y })).digest("base64url");

export const proofKey = (): TestKey => keyFor("ES256");

/** A valid proof of possession for a request, except for the changes in `claims` and `header` (RFC 9449 §4.2). */
export function aProof(key: TestKey, { url, method = "POST", accessToken, claims = {}, header = {} }: ProofRequest): string {
  const ath = accessToken && createHash("sha256").update(accessToken).digest("base64url");
  const usual = { jti: randomUUID(), htm: method, htu: url, iat: Math.floor(Date.now() / 1_000), ath };
  return jws({ ...usual, ...claims }, key, { typ: "dpop+jwt", jwk: key.jwk, ...header });
}
