import { base64url, type JWK } from "jose";
import { importProofKey, isProofAlgorithm, type ProofKey } from "./proof-key.ts";
import type { JudgeNonce } from "./proof-nonces.ts";
import { GuardRefusal } from "./refusal.ts";
import { sha256 } from "./signature.ts";
import { isCanonical } from "./token.ts";
import { remember } from "./token-cache.ts";
import { usedProofs } from "./used-proofs.ts";

const MAX_PROOF_LENGTH = 4_096;
/** Seconds by which `iat` may differ from the clock, in both directions, and `nbf` may be ahead. */
const WINDOW = 300;
/** Seconds since which `exp`, if a proof has one, may have passed. */
const SKEW = 60;
const REMEMBERED_KEYS = 1_000;

/** A request that is proven, and what it presents. */
export interface ProvenRequest {
  /** Every `DPoP` field of the request, each as it was sent. */
  readonly proofs: readonly string[];
  readonly method: string;
  /** The URL of the request, without query and fragment. */
  readonly url: string;
  readonly token: string;
}

/** The thumbprint of a proven key, and the nonce for later proofs if it replaces the one of this proof. */
export interface ProvenKey {
  readonly jkt: string;
  readonly dpopNonce?: string | undefined;
}

/** Checks the proof of a request. @throws {GuardRefusal} invalid_dpop_proof, use_dpop_nonce */
export type VerifyProof = (request: ProvenRequest) => Promise<ProvenKey>;

const refused = (reason: string, options?: ErrorOptions) => new GuardRefusal("invalid_dpop_proof", reason, options);

/**
 * Verifies proofs of possession. A proof is accepted once by this process; other processes have a memory of their own.
 * @param now whole seconds since the epoch
 * @param judgeNonce left out where proofs need no nonce
 * @see RFC 9449 §4.3, §11.1; docs/protocol.md#proof-of-possession
 */
export function proofVerifier(now: () => number, judgeNonce?: JudgeNonce): VerifyProof {
  /** By the header of proofs as it was sent: a client sends the same one with each. */
  const keys = new Map<string, ProofKey>();
  const use = usedProofs();

  const keyOf = async (header: string): Promise<ProofKey> => {
    const key = keys.get(header) ?? (await keyIn(header));
    remember(keys, header, key, REMEMBERED_KEYS);
    return key;
  };

  return async ({ proofs, ...request }) => {
    const [proof, ...others] = proofs;
    if (proof === undefined) throw refused("proof_missing");
    if (others.length > 0 || proof.length > MAX_PROOF_LENGTH) throw refused("proof_malformed");
    const parts = proof.split(".");
    const [header = "", payload = "", signature = ""] = parts;
    if (parts.length !== 3 || !parts.every(isCanonical)) throw refused("proof_malformed");
    const key = await keyOf(header);
    const claims = readObject(payload);
    await assertForRequest(claims, request, now());
    const input = encoder.encode(proof.slice(0, -signature.length - 1));
    if (!(await key.verifies(input, new Uint8Array(base64url.decode(signature))))) throw refused("proof_not_verified");
    const dpopNonce = await judgeNonce?.(claims.nonce, now());
    const digest = await sha256(`${key.jkt} ${claims.jti}`); // a client chooses how long its jti is
    if (!use(digest, now())) throw refused("proof_used");
    return { jkt: key.jkt, dpopNonce };
  };
}

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true });

function readObject(part: string): Readonly<Record<string, unknown>> {
  let value: unknown;
  try {
    value = JSON.parse(decoder.decode(base64url.decode(part)));
  } catch (cause) {
    throw refused("proof_malformed", { cause });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refused("proof_malformed");
  return value as Record<string, unknown>; // an object by the line above
}

/** Members that the header of a proof must not have: those that extend its meaning, and other places of keys. */
const FORBIDDEN = ["crit", "b64", "zip", "jku", "x5u", "x5c"];
const PRIVATE = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

async function keyIn(text: string): Promise<ProofKey> {
  const header = readObject(text);
  const { typ, alg, jwk } = header;
  if (FORBIDDEN.some((name) => Object.hasOwn(header, name))) throw refused("proof_malformed");
  if (typ !== "dpop+jwt") throw refused("proof_type_wrong");
  if (!isProofAlgorithm(alg)) throw refused("proof_algorithm_not_accepted");
  if (typeof jwk !== "object" || jwk === null) throw refused("proof_key_missing");
  if (PRIVATE.some((name) => name in jwk)) throw refused("proof_key_not_public");
  try {
    return await importProofKey(jwk as JWK, alg); // an object by the lines above; the import checks the rest
  } catch (cause) {
    throw refused("proof_key_not_accepted", { cause });
  }
}

async function assertForRequest(
  { jti, htm, htu, iat, nbf, exp, ath }: Readonly<Record<string, unknown>>,
  { method, url, token }: Omit<ProvenRequest, "proofs">,
  now: number,
): Promise<void> {
  if (typeof jti !== "string" || jti === "" || typeof htu !== "string") throw refused("proof_malformed");
  if (htm !== method) throw refused("proof_for_another_method");
  if (!isSameUrl(htu, url)) throw refused("proof_for_another_url");
  if (typeof iat !== "number" || !(Math.abs(now - iat) <= WINDOW)) throw refused("proof_not_current");
  if (nbf !== undefined && !(typeof nbf === "number" && nbf - now <= WINDOW)) throw refused("proof_not_current");
  if (exp !== undefined && !(typeof exp === "number" && now - exp <= SKEW)) throw refused("proof_not_current");
  if (ath !== (await sha256(token))) throw refused("proof_for_another_token");
}

/** Mostly both are the same text, which saves parsing them. */
function isSameUrl(htu: string, url: string): boolean {
  if (htu === url) return true;
  const proven = normalized(htu);
  return proven !== undefined && proven === normalized(url);
}

const UNRESERVED = /[A-Za-z0-9._~-]/;

/** A URL without query and fragment in normal form (RFC 3986 §6.2.2, §6.2.3); undefined for what is no URL. */
function normalized(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, host, pathname, username, password } = new URL(text);
  if (username !== "" || password !== "") return undefined;
  const path = pathname.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return UNRESERVED.test(character) ? character : encoded.toUpperCase();
  });
  return `${protocol}//${host}${path}`;
}
