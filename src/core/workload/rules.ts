import type { AuditEntry } from "../../audit.ts";
import type { WorkloadKeys } from "../../clients/remote-keys.ts";
import { hasClaims, trustDomainOf, type WorkloadIdentity, type WorkloadIssuer } from "../../clients/workload.ts";
import { refusing } from "../../errors.ts";
import { hasCome, isTime, type ParsedJwt, soleAudience } from "../../protocol/jws.ts";
import type { Rule, RuleHead } from "../policy/rule.ts";

/** An identity that a token's subject matches, with the client that it stands for. */
export type MappedIdentity = Pick<WorkloadIdentity, "subject" | "claims"> & { readonly clientId: string };

/** A trusted platform, with the identities on it that a subject matches. */
export type KnownIssuer = WorkloadIssuer & { readonly identities: readonly MappedIdentity[] };

export type WorkloadName = Pick<AuditEntry, "workloadIssuer" | "workloadSubject">;

export interface WorkloadPorts {
  /** The trusted ones of these issuers. Coalesced, and never cached. */
  find(issuers: readonly string[], subject: string): Promise<readonly KnownIssuer[]>;
  /** Whether an operator trusts any platform. */
  configured(): Promise<boolean>;
  readonly keys: WorkloadKeys;
  /** Records a refused workload; not each of a flood. */
  recordRefusal(entry: AuditEntry): Promise<void>;
}

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

/** Seconds by which a platform's clock may differ. */
const SKEW = 60;

const refuse = refusing("invalid_client");

/** A token, and the platforms that it may be of. */
export interface WorkloadFacts {
  readonly token: WorkloadToken;
  /** Those of the token's issuers that are trusted. */
  readonly known: readonly KnownIssuer[];
  /** This server, whose own tokens prove no workload. */
  readonly localIssuer: string;
  /** The `client_id` of the request. */
  readonly named?: string | undefined;
}

export const WORKLOAD_ISSUER: Rule<WorkloadFacts, KnownIssuer> = {
  name: "workload_issuer",
  demand: "An operator trusts the token's issuer: its iss, or the trust domain of its SPIFFE ID.",
  source: "docs/protocol.md#workloads",
  check({ token: { issuers }, known, localIssuer }) {
    if (issuers.includes(localIssuer)) return refuse("workload_issuer_is_this_server");
    for (const name of issuers) {
      const trusted = known.find(({ issuer }) => issuer === name);
      if (trusted !== undefined) return trusted;
    }
    return refuse("workload_issuer_unknown");
  },
};

export const WORKLOAD_IDENTITY: Rule<WorkloadFacts & { readonly issuer: KnownIssuer }, string> = {
  name: "workload_identity",
  demand: "Subject and claims are those of an identity of one client, which is the one that client_id names, if it is sent.",
  source: "docs/protocol.md#workloads",
  check({ token, issuer: { identities }, named }) {
    const matching = identities.filter(({ claims }) => hasClaims(token.claims, claims));
    const clients = new Set(matching.map(({ clientId }) => clientId));
    if (identities.length === 0) return refuse("workload_unknown");
    if (clients.size === 0) return refuse("workload_claims_differ");
    if (named !== undefined) return clients.has(named) ? named : refuse("workload_of_another_client");
    const [clientId = "", ...others] = clients;
    return others.length === 0 ? clientId : refuse("workload_of_several_clients");
  },
};

/** What the token is judged by, once its platform is known. */
export interface WorkloadTerms {
  readonly token: WorkloadToken;
  readonly issuer: Pick<KnownIssuer, "algorithms" | "maxLifetime" | "singleUse">;
  /** The issuer and the token endpoint of this server. */
  readonly audiences: readonly string[];
  /** Seconds since the epoch. */
  readonly now: number;
}

export const WORKLOAD_ALGORITHM: Rule<WorkloadTerms> = {
  name: "workload_algorithm",
  demand: "The token is signed by one of the algorithms that the issuer's row names.",
  source: "docs/protocol.md#workloads",
  check({ token: { header }, issuer: { algorithms } }) {
    if (!algorithms.some((name) => name === header.alg)) refuse("workload_algorithm_not_accepted");
  },
};

export const WORKLOAD_AUDIENCE: Rule<WorkloadTerms> = {
  name: "workload_audience",
  demand: "aud is one value: this issuer, or the URL of the token endpoint.",
  source: "docs/protocol.md#workloads",
  check({ token: { claims }, audiences }) {
    const audience = soleAudience(claims.aud);
    if (typeof audience !== "string" || !audiences.includes(audience)) refuse("workload_for_another_audience");
  },
};

export const WORKLOAD_TIME: Rule<WorkloadTerms, { readonly exp: number }> = {
  name: "workload_time",
  demand: "The token has not expired, iat and nbf have come, and it lives no longer than the issuer's row allows.",
  source: "docs/protocol.md#workloads",
  check({ token: { claims }, issuer: { maxLifetime }, now }) {
    const { exp, iat, nbf } = claims;
    if (!isTime(exp)) return refuse("workload_without_expiry");
    if (exp <= now - SKEW) refuse("workload_expired");
    if (!hasCome(iat, now + SKEW) || !hasCome(nbf, now + SKEW)) refuse("workload_not_yet_valid");
    if (exp - Number(iat ?? nbf ?? now) > maxLifetime) refuse("workload_lives_too_long");
    return { exp };
  },
};

/** An identifier that the token uses up, and the seconds for which it is remembered. */
export type WorkloadUse = { readonly jti: string; readonly remember: number };

export const WORKLOAD_ID: Rule<WorkloadTerms & { readonly exp: number }, WorkloadUse | undefined> = {
  name: "workload_id",
  demand: "A token that may be used once has a jti.",
  source: "docs/protocol.md#workloads",
  check({ token: { claims }, issuer: { singleUse }, exp, now }) {
    if (!singleUse) return undefined;
    const { jti } = claims;
    return typeof jti === "string" && jti !== "" ? { jti, remember: exp + SKEW - now } : refuse("workload_without_id");
  },
};

export const WORKLOAD_SIGNED: RuleHead = {
  name: "workload_signed",
  demand: "A key that the issuer publishes made the signature.",
  source: "docs/protocol.md#workloads",
};
