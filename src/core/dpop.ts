import { createHash, createHmac, createPublicKey, type JsonWebKeyInput, type KeyObject } from "node:crypto";
import { LRUCache } from "lru-cache";
import { CLIENT_ASSERTION_ALGORITHMS } from "../clients/client.ts";
import { isAssertionAlgorithm, isPublicKeyFor, keyFault, type PublishedKey } from "../clients/public-keys.ts";
import { signatureHolds } from "../clients/published-keys.ts";
import { Refusal } from "../errors.ts";
import type { DpopProof } from "../gen/countersign/token/v1/token_pb.ts";
import { hasForbiddenMember, type ParsedJws, parseJws, parseObject } from "../protocol/jws.ts";
import type { Rule, RuleHead } from "./policy/rule.ts";
import type { Core, ProofNonces } from "./ports.ts";
import type { Keys } from "./signing/key-ring.ts";
import { derivedSecret, type SigningKey } from "./signing/keys.ts";
import type { Confirmation } from "./stored-grants.ts";

/** Seconds after which a new nonce is given out. Each is accepted for this period and the next. */
const PERIOD = 150;

/** Nothing is stored: every core with one of the signing keys derives the same nonces from the time. */
export function proofNonces(keys: Pick<Keys, "own" | "signing">): ProofNonces {
  const valid = (period: number): readonly string[] => keys.own.map((key) => nonceOf(key, period));
  return {
    assertFresh(nonce, now) {
      const period = Math.floor(now / PERIOD);
      if (valid(period).some((one) => one === nonce)) return undefined;
      const next = nonceOf(keys.signing().accessToken, period);
      if (valid(period - 1).some((one) => one === nonce)) return next;
      throw new Refusal("use_dpop_nonce", "dpop_nonce_differs", {
        description: "Send a DPoP proof with the nonce of the DPoP-Nonce header.",
        dpopNonce: next,
      });
    },
  };
}

const nonceOf = (key: SigningKey, period: number): string =>
  createHmac("sha256", derivedSecret(key, "DPoP nonce")).update(String(period)).digest("base64url");

const MAX_PROOF_LENGTH = 4_096;

/** Seconds by which `iat` may differ from the clock, in both directions, and `nbf` may be ahead. */
const WINDOW = 300;
/** Seconds since which `exp`, if a proof has one, may have passed. */
const SKEW = 60;

/** Public descriptions by private reason. */
const DESCRIPTIONS = {
  dpop_malformed: "Send one DPoP header with a proof of at most 4096 characters that has the claims jti, htm, htu and iat.",
  dpop_type_wrong: "The typ of the DPoP proof must be dpop+jwt.",
  dpop_algorithm_not_accepted: "The DPoP proof is signed by an algorithm that is not accepted.",
  dpop_key_not_accepted: "The jwk of the DPoP proof must be a public key that fits its alg.",
  dpop_method_differs: "The DPoP proof is for another HTTP method.",
  dpop_uri_differs: "The DPoP proof is for another URL.",
  dpop_not_current: "The DPoP proof was made more than 300 seconds ago or ahead, or with a security profile 60 ahead, or has expired.",
  dpop_signature_wrong: "The signature of the DPoP proof does not verify.",
  dpop_token_differs: "The DPoP proof is for another access token.",
  dpop_key_differs: "The DPoP proof is signed by another key than the one that is required.",
  dpop_missing: "A DPoP proof is required, because the client's tokens, or what was presented, are bound to a key.",
  dpop_proof_used: "The DPoP proof was used before.",
} as const;

/** @throws {Refusal} invalid_dpop_proof */
export function refuseProof(reason: keyof typeof DESCRIPTIONS): never {
  throw new Refusal("invalid_dpop_proof", reason, { description: DESCRIPTIONS[reason] });
}

export const DPOP_PROOF: RuleHead = {
  name: "dpop_proof",
  demand: "A DPoP header is a valid proof for this request that was not used before; a client with dpopBoundAccessTokens sends one.",
  source: "RFC 9449 §4.3",
};

/** The key of a code or token, and the key that its request proved. */
export type DpopKeyFacts = { readonly boundTo: Confirmation | null | undefined; readonly confirmation: Confirmation | undefined };

/** A wrong key is no replay and revokes nothing: a thief of the code or token does not have the right one. */
export const DPOP_KEY: Rule<DpopKeyFacts> = {
  name: "dpop_key",
  demand: "A code, device code or refresh token that is bound to a key comes with a proof by that key.",
  source: "RFC 9449 §5, §10",
  check: ({ boundTo, confirmation }) => {
    if (boundTo?.jkt === undefined || boundTo.jkt === confirmation?.jkt) return;
    if (confirmation === undefined) refuseProof("dpop_missing");
    throw new Refusal("invalid_grant", "dpop_key_differs", { description: DESCRIPTIONS.dpop_key_differs });
  },
};

/** A key whose possession a request proved, and the proof's identifier with the seconds for which it must be remembered. */
export interface ProvenKey {
  readonly jkt: string;
  readonly jti: string;
  readonly remember: number;
  /** The nonce for later proofs, if it replaces the one of this proof. */
  readonly dpopNonce?: string;
}

/** What a proof is checked against beside its request. `now` in seconds since the epoch. */
interface ProofTerms {
  readonly now: number;
  /** The token that the proof accompanies. */
  readonly accessToken?: string | undefined;
  /** The algorithms that are accepted, where these are not all. */
  readonly algorithms?: readonly string[] | undefined;
  /** Seconds by which `iat` and `nbf` may be ahead, where these are fewer than WINDOW. */
  readonly proofAhead?: number | undefined;
  /** Undefined where proofs need no nonce. */
  readonly nonces?: ProofNonces | undefined;
}

/** The members of a thumbprint in their order (RFC 7638 §3.2, RFC 8037 §2). */
const THUMBPRINT_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  EC: ["crv", "kty", "x", "y"],
  OKP: ["crv", "kty", "x"],
  RSA: ["e", "kty", "n"],
};

/** The SHA-256 thumbprint of a public key in base64url; undefined for a key of an unknown type or without its members. @see RFC 7638 */
export function thumbprint(key: PublishedKey): string | undefined {
  const members = THUMBPRINT_MEMBERS[String(key.kty)];
  if (members?.every((name) => typeof key[name] === "string") !== true) return undefined;
  return createHash("sha256")
    .update(JSON.stringify(key, [...members]))
    .digest("base64url");
}

const REMEMBERED_KEYS = 1_000;
/** Checked and imported keys, by algorithm and thumbprint: a client proves the same key again and again. */
const imported = new LRUCache<string, KeyObject>({ max: REMEMBERED_KEYS });

/** The key that a proof carries. @throws {Refusal} invalid_dpop_proof */
function keyOf(
  { alg, jwk }: ParsedJws["header"],
  algorithms: readonly string[] = CLIENT_ASSERTION_ALGORITHMS,
): { readonly key: KeyObject; readonly jkt: string } {
  if (!isAssertionAlgorithm(alg) || !algorithms.includes(alg)) return refuseProof("dpop_algorithm_not_accepted");
  if (!isPublicKeyFor(jwk, alg)) return refuseProof("dpop_key_not_accepted");
  const jkt = thumbprint(jwk) ?? refuseProof("dpop_key_not_accepted");
  const name = `${alg} ${jkt}`;
  const known = imported.get(name);
  if (known !== undefined) return { key: known, jkt };
  if (keyFault(jwk) !== undefined) return refuseProof("dpop_key_not_accepted");
  const key = createPublicKey({ key: jwk, format: "jwk" } as JsonWebKeyInput);
  imported.set(name, key);
  return { key, jkt };
}

/** Mostly both are the same text, which saves parsing them. */
function isSameUri(proven: string, requested: string): boolean {
  if (proven === requested) return true;
  const uri = normalizedUri(proven);
  return uri !== undefined && uri === normalizedUri(requested);
}

const UNRESERVED = /[A-Za-z0-9._~-]/;

/** A URL without query and fragment in normal form (RFC 3986 §6.2.2, §6.2.3); undefined for what is no URL. */
function normalizedUri(text: string): string | undefined {
  if (!URL.canParse(text)) return undefined;
  const { protocol, host, pathname, username, password } = new URL(text);
  if (username !== "" || password !== "") return undefined;
  const path = pathname.replace(/%[0-9a-f]{2}/gi, (encoded) => {
    const character = String.fromCharCode(Number.parseInt(encoded.slice(1), 16));
    return UNRESERVED.test(character) ? character : encoded.toUpperCase();
  });
  return `${protocol}//${host}${path}`;
}

/**
 * Checks a proof: all of RFC 9449 §4.3 except that it is used for the first time. Pure. The nonce comes last: only a proof that is otherwise
 * valid is worth another try.
 * @throws {Refusal} invalid_dpop_proof, use_dpop_nonce
 * @see docs/protocol.md#proof-of-possession
 */
export function checkProof(
  { proof, htm, htu }: SentProof,
  { now, accessToken, algorithms, proofAhead = WINDOW, nonces }: ProofTerms,
): ProvenKey {
  const jws = parseJws(proof, MAX_PROOF_LENGTH) ?? refuseProof("dpop_malformed");
  const { jwk: _, ...otherMembers } = jws.header;
  if (hasForbiddenMember({ ...jws, header: otherMembers })) refuseProof("dpop_malformed");
  if (jws.header.typ !== "dpop+jwt") refuseProof("dpop_type_wrong");
  const claims = parseObject(jws.payload) ?? refuseProof("dpop_malformed");
  const { jti, iat, nbf, exp } = claims;
  if (typeof jti !== "string" || jti === "" || typeof claims.htm !== "string" || typeof claims.htu !== "string")
    return refuseProof("dpop_malformed");
  if (typeof iat !== "number" || !Number.isFinite(iat)) return refuseProof("dpop_malformed");
  if (claims.htm !== htm) refuseProof("dpop_method_differs");
  if (!isSameUri(claims.htu, htu)) refuseProof("dpop_uri_differs");
  const latest = now + Math.min(proofAhead, WINDOW);
  if (now - iat > WINDOW || iat > latest) refuseProof("dpop_not_current");
  if (nbf !== undefined && !(typeof nbf === "number" && nbf <= latest)) refuseProof("dpop_not_current");
  if (exp !== undefined && !(typeof exp === "number" && now - exp <= SKEW)) refuseProof("dpop_not_current");
  if (accessToken !== undefined && claims.ath !== createHash("sha256").update(accessToken).digest("base64url"))
    refuseProof("dpop_token_differs");
  const { key, jkt } = keyOf(jws.header, algorithms);
  if (!signatureHolds(jws, key)) refuseProof("dpop_signature_wrong");
  const dpopNonce = nonces?.assertFresh(claims.nonce, now);
  return { jkt, jti, remember: Math.ceil(iat + WINDOW - now) + 1, ...(dpopNonce !== undefined && { dpopNonce }) };
}

type SentProof = Pick<DpopProof, "proof" | "htm" | "htu">;
type ProofPorts = Pick<Core, "clock" | "clocks" | "proofNonces">;

/**
 * Checks a proof by the clock of the database and the nonces of this service. It is not used up.
 * @throws {Refusal} invalid_dpop_proof, use_dpop_nonce
 */
export function verifyProof(
  sent: SentProof,
  { clock, clocks, proofNonces: nonces }: ProofPorts,
  { accessToken, algorithms, proofAhead }: Pick<ProofTerms, "accessToken" | "algorithms" | "proofAhead">,
): ProvenKey {
  return checkProof(sent, { now: clocks?.now() ?? clock(), nonces, accessToken, algorithms, proofAhead });
}

type ConsumedProofs = { readonly consumedIds: Pick<Core["consumedIds"], "consume"> };

/** Uses up a checked proof. @returns the key to which a new token is bound  @throws {Refusal} invalid_dpop_proof for a proof that was used before */
export async function consumeProof({ jkt, jti, remember }: ProvenKey, { consumedIds }: ConsumedProofs): Promise<Confirmation> {
  if (!(await consumedIds.consume("dpop_proof", jkt, jti, remember))) refuseProof("dpop_proof_used");
  return { jkt };
}
