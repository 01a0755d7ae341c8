import type { PublishedKey } from "../clients/key-set.ts";
import { asPublicKeySet } from "../clients/key-set.ts";
import type { ParsedJwt } from "../core/signing/jws.ts";
import { isMadeBy, isWalletAlgorithm, type WalletAlgorithm } from "./algorithms.ts";
import type { CredentialPolicy } from "./ports.ts";
import { digestOf, isMembers, type Presentation, readJwt } from "./presentation.ts";
import { refuse } from "./refused.ts";

/** Seconds that other people's clocks may be off. */
const SKEW = 60;
/** Seconds between the wallet's signature and our reading it, either way. */
const FRESH = 300;

/** The older type is what wallets of 2024 still say (SD-JWT VC §2.1). */
const CREDENTIAL_TYPES = ["dc+sd-jwt", "vc+sd-jwt"];

/** What the issuer says, once its form is good. Its signature has not been looked at. */
export interface JudgedCredential {
  readonly issuer: string;
  readonly alg: WalletAlgorithm;
  readonly kid: string | undefined;
  readonly holderKey: PublishedKey;
}

/** A NumericDate (RFC 7519 §2), or undefined for one that is not there. @throws {Refusal} access_denied for anything else */
function timeOf(claims: ParsedJwt["claims"], name: string): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  return typeof value === "number" && Number.isFinite(value) ? value : refuse("credential_time_malformed");
}

function assertInTime({ claims }: ParsedJwt, now: number): void {
  const [exp, nbf, iat] = ["exp", "nbf", "iat"].map((name) => timeOf(claims, name));
  if (exp !== undefined && exp <= now - SKEW) refuse("credential_expired");
  for (const since of [nbf, iat]) if (since !== undefined && since > now + SKEW) refuse("credential_not_yet_valid");
}

/**
 * Judges the openly said part of a credential. Pure; nothing is asked of anybody for a credential that fails here.
 * @param now seconds since the epoch
 * @throws {Refusal} access_denied
 * @see SD-JWT VC §2.2 and §3.4
 */
export function judgeCredential(credential: ParsedJwt, policy: CredentialPolicy, now: number): JudgedCredential {
  const { header, claims } = credential;
  if (!CREDENTIAL_TYPES.some((type) => type === header.typ)) refuse("credential_of_another_kind");
  if (!isWalletAlgorithm(header.alg)) return refuse("credential_algorithm_not_accepted");
  if (header.kid !== undefined && typeof header.kid !== "string") return refuse("presentation_malformed");
  const { iss, vct, cnf } = claims;
  if (typeof iss !== "string" || !policy.trustedIssuers.includes(iss)) return refuse("issuer_not_trusted");
  if (typeof vct !== "string" || !policy.types.includes(vct)) return refuse("credential_type_not_asked_for");
  assertInTime(credential, now);
  const [holderKey] = asPublicKeySet({ keys: isMembers(cnf) ? [cnf.jwk] : [] }) ?? [];
  if (holderKey === undefined) return refuse("holder_key_missing");
  return { issuer: iss, alg: header.alg, kid: header.kid, holderKey };
}

/** Whom the holder's signature must be for. */
export interface Expected {
  /** Our client_id, whole, with its prefix. */
  readonly clientId: string;
  readonly nonce: string;
  /** Seconds since the epoch. */
  readonly now: number;
}

/**
 * Whether the holder of the credential presents it, to us, in answer to this request and just now. Pure.
 * @throws {Refusal} access_denied
 * @see RFC 9901 §4.3 and §7.3
 */
export function assertKeyBinding(presentation: Presentation, holderKey: PublishedKey, expected: Expected): void {
  const binding = readJwt(presentation.keyBinding, "key_binding_malformed");
  const { alg, typ } = binding.header;
  if (typ !== "kb+jwt") refuse("key_binding_of_another_kind");
  const accepted = isWalletAlgorithm(alg) ? alg : refuse("key_binding_algorithm_not_accepted");
  if (!isMadeBy(binding, holderKey, accepted)) refuse("key_binding_signature_wrong");
  const { aud, nonce, iat, sd_hash } = binding.claims;
  if (aud !== expected.clientId) refuse("key_binding_for_another");
  if (nonce !== expected.nonce) refuse("key_binding_nonce_wrong");
  if (typeof iat !== "number" || !(Math.abs(expected.now - iat) <= FRESH)) refuse("key_binding_not_fresh");
  if (sd_hash !== digestOf(presentation.credential)(presentation.bound)) refuse("key_binding_hash_wrong");
}
