import { FetchFailure } from "../../../clients/guarded-fetch.ts";
import type { PublishedKey } from "../../../clients/key-set.ts";
import { type AssertionAlgorithm, isAssertionAlgorithm } from "../../../clients/signature-algorithms.ts";
import { Refusal } from "../../../errors.ts";
import { hasForbiddenMember, type ParsedJwt, parseJws, parseObject } from "../../signing/jws.ts";
import { fittingKeys, isSignedBy } from "../../signing/published-keys.ts";
import type { IssuerKeys } from "./ports.ts";

const MAX_ASSERTION_LENGTH = 16_384;
const ASSERTION_TYPE = /^(?:application\/)?oauth-id-jag\+jwt$/i;

const refuse = (reason: string): never => {
  throw new Refusal("invalid_grant", reason);
};

/** An assertion whose form is good and whose issuer is trusted. Who signed it is not known yet. */
export interface IdentityAssertion extends ParsedJwt {
  readonly alg: AssertionAlgorithm;
  readonly kid: string | undefined;
  readonly issuer: string;
}

/**
 * Reads an assertion. Pure. Nothing in it chooses a key or an address: it may name an issuer of the operator's list, and a key of that
 * issuer.
 * @param localIssuer an assertion of our own making is never accepted, whatever the list says
 * @throws {Refusal} invalid_grant
 * @see ID-JAG §4.4, RFC 8725 §3, specification §4.7
 */
export function readIdentityAssertion(text: string, trustedIssuers: readonly string[], localIssuer: string): IdentityAssertion {
  const parsed = parseJws(text, MAX_ASSERTION_LENGTH);
  if (parsed === undefined) return refuse("assertion_malformed");
  if (hasForbiddenMember(parsed)) refuse("assertion_brings_its_key");
  const { alg, kid, typ } = parsed.header;
  if (typeof typ !== "string" || !ASSERTION_TYPE.test(typ)) refuse("assertion_of_another_kind");
  if (!isAssertionAlgorithm(alg)) return refuse("assertion_algorithm_not_accepted");
  if (kid !== undefined && typeof kid !== "string") return refuse("assertion_malformed");
  const claims = parseObject(parsed.payload);
  if (claims === undefined) return refuse("assertion_malformed");
  const { iss } = claims;
  if (typeof iss !== "string" || iss === localIssuer || !trustedIssuers.includes(iss)) return refuse("issuer_not_trusted");
  return { ...parsed, claims, alg, kid, issuer: iss };
}

/**
 * Whether a key that the issuer publishes signed it. A key that is not known yet is asked for once more.
 * @throws {Refusal} invalid_grant
 */
export async function assertSignedByIssuer(assertion: IdentityAssertion, keys: IssuerKeys): Promise<void> {
  const { issuer, alg, kid } = assertion;
  const choose = (published: readonly PublishedKey[]) => fittingKeys(published, alg, kid);
  const known = choose(await reached(keys.at(issuer)));
  const [key, ...others] = known.length > 0 ? known : choose(await reached(keys.renewed(issuer)));
  if (key === undefined) return refuse("key_unknown");
  if (others.length > 0) refuse("key_ambiguous");
  if (!isSignedBy(assertion, key, alg)) refuse("signature_wrong");
}

const reached = (keys: Promise<readonly PublishedKey[]>): Promise<readonly PublishedKey[]> =>
  keys.catch((cause: unknown) => {
    throw cause instanceof FetchFailure ? new Refusal("invalid_grant", `issuer_${cause.reason}`, { cause }) : cause;
  });
