import { FetchFailure, unfetched } from "../../clients/guarded-fetch.ts";
import { hasClaims } from "../../clients/workload.ts";
import type { KeySource } from "../../clients/workload-keys.ts";
import { refusing } from "../../errors.ts";
import type { Rule, RuleHead } from "../policy/rule.ts";
import { verifyByRemoteKeys } from "../signing/published-keys.ts";
import type { KnownIssuer } from "./ports.ts";
import type { WorkloadToken } from "./token.ts";

/** Seconds by which a platform's clock may differ. */
const SKEW = 60;

const refuse = refusing("invalid_client");
const isTime = (value: unknown): value is number => Number.isSafeInteger(value);

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
    const audience = Array.isArray(claims.aud) && claims.aud.length === 1 ? claims.aud[0] : claims.aud;
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
    for (const since of [iat, nbf]) {
      if (since !== undefined && !(isTime(since) && since <= now + SKEW)) refuse("workload_not_yet_valid");
    }
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

/** Verifies the signature by a key at the address that the operator configured. @throws {Refusal} invalid_client, temporarily_unavailable */
export async function assertSignedByPlatform(token: WorkloadToken, { source, keys }: KeySource): Promise<void> {
  const verdict = await verifyByRemoteKeys(token, source, keys).catch((cause: unknown) => {
    throw cause instanceof FetchFailure ? unfetched(cause, "invalid_client", "issuer") : cause;
  });
  if (verdict !== "valid") refuse(verdict);
}
