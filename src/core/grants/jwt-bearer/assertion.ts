import { FetchFailure, unfetched } from "../../../clients/guarded-fetch.ts";
import type { RemoteKeys } from "../../../clients/key-set.ts";
import { isAssertionAlgorithm } from "../../../clients/verification-key.ts";
import { refusing } from "../../../errors.ts";
import { hasForbiddenMember, type ParsedJwt, parseJws, parseObject } from "../../signing/jws.ts";
import { verifyByRemoteKeys } from "../../signing/published-keys.ts";

const MAX_ASSERTION_LENGTH = 16_384;
const ASSERTION_TYPE = /^(?:application\/)?oauth-id-jag\+jwt$/i;

const refuse = refusing("invalid_grant");

export const isIdentityAssertionType = (typ: unknown): boolean => typeof typ === "string" && ASSERTION_TYPE.test(typ);

/** A well-formed assertion of a trusted issuer. Its signature has not been verified. */
export type IdentityAssertion = ParsedJwt & { readonly issuer: string };

/**
 * Reads an assertion. Pure. It may name an issuer that the operator trusts and a key id of that issuer, but never a key or an address.
 * @param localIssuer this server, whose own assertions are never accepted
 * @throws {Refusal} invalid_grant
 * @see ID-JAG §4.4, RFC 8725 §3, docs/protocol.md#identity-assertion
 */
export function readIdentityAssertion(text: string, trustedIssuers: readonly string[], localIssuer: string): IdentityAssertion {
  const parsed = parseJws(text, MAX_ASSERTION_LENGTH);
  if (parsed === undefined) return refuse("assertion_malformed");
  if (hasForbiddenMember(parsed)) refuse("assertion_brings_its_key");
  const { alg, kid, typ } = parsed.header;
  if (!isIdentityAssertionType(typ)) refuse("assertion_of_another_kind");
  if (!isAssertionAlgorithm(alg)) return refuse("assertion_algorithm_not_accepted");
  if (kid !== undefined && typeof kid !== "string") return refuse("assertion_malformed");
  const claims = parseObject(parsed.payload);
  if (claims === undefined) return refuse("assertion_malformed");
  const { iss } = claims;
  if (typeof iss !== "string" || iss === localIssuer || !trustedIssuers.includes(iss)) return refuse("issuer_not_trusted");
  return { ...parsed, claims, issuer: iss };
}

/** Verifies the signature by a key that the issuer publishes. @throws {Refusal} invalid_grant, temporarily_unavailable */
export async function assertSignedByIssuer(assertion: IdentityAssertion, keys: RemoteKeys): Promise<void> {
  const verdict = await verifyByRemoteKeys(assertion, assertion.issuer, keys).catch((cause: unknown) => {
    throw cause instanceof FetchFailure ? unfetched(cause, "invalid_grant", "issuer") : cause;
  });
  if (verdict !== "valid") refuse(verdict);
}
