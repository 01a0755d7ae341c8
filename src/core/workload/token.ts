import { trustDomainOf } from "../../clients/workload.ts";
import { refusing } from "../../errors.ts";
import type { ParsedJwt } from "../signing/jws.ts";

/** @see draft-ietf-oauth-spiffe-client-auth §3.2 */
export const SVID_ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-spiffe";

export const MAX_WORKLOAD_TOKEN = 16_384;
const MAX_SUBJECT = 2_048;

const JWT = /^(?:application\/)?jwt$/i;
const SVID = /^(?:(?:application\/)?jwt|jose)$/i;

/** A well-formed token of a platform. Its signature has not been verified. */
export type WorkloadToken = ParsedJwt & {
  /** The issuers that it may be of: by `iss`, or by the trust domain of a SPIFFE ID. The first that is trusted counts. */
  readonly issuers: readonly string[];
  readonly subject: string;
};

const refuse = refusing("invalid_client");

/**
 * Reads the claims of a workload's token. Pure. `typ` keeps identity assertions, access tokens and DPoP proofs out.
 * @param use by which the token came: a client assertion of either type, or the jwt-bearer grant
 * @throws {Refusal} invalid_client
 * @see docs/protocol.md#workloads
 */
export function workloadToken(parsed: ParsedJwt, use: "jwt" | "svid" | "grant"): WorkloadToken {
  const { typ } = parsed.header;
  const { iss, sub } = parsed.claims;
  const domain = use === "jwt" || typeof sub !== "string" ? undefined : trustDomainOf(sub);
  const types = use === "svid" || domain !== undefined ? SVID : JWT;
  if (typ !== undefined && !(typeof typ === "string" && types.test(typ))) refuse("assertion_of_another_kind");
  if (typeof sub !== "string" || sub === "" || sub.length > MAX_SUBJECT) return refuse("workload_without_subject");
  if (use === "svid" && domain === undefined) return refuse("workload_without_spiffe_id");
  const issuers = [domain, use === "svid" ? undefined : iss].filter((name) => typeof name === "string" && name !== "");
  return { ...parsed, issuers: issuers as readonly string[], subject: sub };
}
