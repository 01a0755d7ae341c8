import { asPublicKeySet, type PublishedKey } from "../clients/key-set.ts";
import type { ParsedJwt } from "../core/signing/jws.ts";
import type { CredentialPolicy } from "./ports.ts";
import { digestOf, isMembers, type Presentation, readJwt, refuse } from "./presentation.ts";
import { isSignedBy, isWalletAlgorithm } from "./signatures.ts";

/** Seconds by which the clock of an issuer, and the time of a key binding, may differ from now. */
const SKEW = 60;
const MAX_BINDING_AGE = 300;

/** Older wallets use the second type (SD-JWT VC §2.1). */
const CREDENTIAL_TYPES = ["dc+sd-jwt", "vc+sd-jwt"];

/** A NumericDate claim (RFC 7519 §2); undefined if absent. @throws {Refusal} access_denied for anything else */
function timeOf(claims: ParsedJwt["claims"], name: string): number | undefined {
  const value = claims[name];
  if (value === undefined) return undefined;
  return typeof value === "number" && Number.isFinite(value) ? value : refuse("credential_time_malformed");
}

function assertCurrent({ claims }: ParsedJwt, now: number): void {
  const [exp, nbf, iat] = ["exp", "nbf", "iat"].map((name) => timeOf(claims, name));
  if (exp !== undefined && exp <= now - SKEW) refuse("credential_expired");
  for (const start of [nbf, iat]) if (start !== undefined && start > now + SKEW) refuse("credential_not_yet_valid");
}

/**
 * Checks the claims of a credential that are not selectively disclosed, before its signature is verified and anything is fetched for it. Pure.
 * @param now seconds since the epoch
 * @throws {Refusal} access_denied @see SD-JWT VC §2.2 and §3.4
 */
export function checkCredential(credential: ParsedJwt, policy: CredentialPolicy, now: number) {
  const { header, claims } = credential;
  if (!CREDENTIAL_TYPES.some((type) => type === header.typ)) refuse("credential_of_another_kind");
  if (!isWalletAlgorithm(header.alg)) return refuse("credential_algorithm_not_accepted");
  if (header.kid !== undefined && typeof header.kid !== "string") return refuse("presentation_malformed");
  const { iss, vct, cnf } = claims;
  if (typeof iss !== "string" || !policy.trustedIssuers.includes(iss)) return refuse("issuer_not_trusted");
  if (typeof vct !== "string" || !policy.types.includes(vct)) return refuse("credential_type_not_asked_for");
  assertCurrent(credential, now);
  const [holderKey] = asPublicKeySet({ keys: isMembers(cnf) ? [cnf.jwk] : [] }) ?? [];
  if (holderKey === undefined) return refuse("holder_key_missing");
  return { issuer: iss, holderKey };
}

/** What a key binding must name: the client_id of this server with its prefix, the nonce, and `now` in seconds since the epoch. */
export type ExpectedBinding = { readonly clientId: string; readonly nonce: string; readonly now: number };

/**
 * Verifies that the holder of the credential signed this presentation, for this server, this request and now.
 * @throws {Refusal} access_denied @see RFC 9901 §4.3 and §7.3
 */
export async function assertKeyBinding(presentation: Presentation, holderKey: PublishedKey, expected: ExpectedBinding): Promise<void> {
  const binding = readJwt(presentation.keyBinding, "key_binding_malformed");
  const { alg, typ } = binding.header;
  if (typ !== "kb+jwt") refuse("key_binding_of_another_kind");
  if (!isWalletAlgorithm(alg)) refuse("key_binding_algorithm_not_accepted");
  if (!(await isSignedBy(binding, holderKey))) refuse("key_binding_signature_wrong");
  const { aud, nonce, iat, sd_hash } = binding.claims;
  if (aud !== expected.clientId) refuse("key_binding_for_another");
  if (nonce !== expected.nonce) refuse("key_binding_nonce_wrong");
  if (typeof iat !== "number" || !(Math.abs(expected.now - iat) <= MAX_BINDING_AGE)) refuse("key_binding_not_fresh");
  if (sd_hash !== digestOf(presentation.credential)(presentation.bound)) refuse("key_binding_hash_wrong");
}
