import type { AuditEntry } from "../../../audit.ts";
import { type Client, demandsOf, isConfidential } from "../../../clients/client.ts";
import { Refusal, refusing } from "../../../errors.ts";
import type { RefreshTokenGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { GRANTS } from "../../../protocol/grants.ts";
import { hashSecret, newHexSecret, type SecretHash, sameHash } from "../../../random.ts";
import { disabledAmong, type ResourceTerms } from "../../../resources/resource.ts";
import { DPOP_KEY, type DpopKeyFacts } from "../../dpop.ts";
import { narrowResource, narrowScope, remainingScopes, targetOf } from "../../policy/access.ts";
import { ENFORCED, type Rule, type RuleHead } from "../../policy/rule.ts";
import type { Core, FamilyState } from "../../ports.ts";
import type { Confirmation } from "../../stored-grants.ts";
import { newJti, signInClaims } from "../../tokens/access-token.ts";
import {
  AGENT_NOT_PAUSED,
  accessTokenAnswer,
  GRANT_RULES,
  type Grant,
  type GrantRequest,
  issueRecord,
  previewOf,
  refusalRecord,
  USER_ENABLED,
} from "../grant.ts";

/** When a second use of a refresh token is a repetition, not a replay (REFRESH_TOKEN_REUSE_GRACE). */
export interface Grace {
  /** 0 makes every second use a replay. */
  readonly seconds: number;
  /** The token that follows the presented one if its first use requested the same scope and resource. */
  readonly successor: SecretHash;
}

type PresentedToken = { readonly client: Client; readonly found: FamilyState | undefined };
interface FamilyFacts extends RefreshRequest, DpopKeyFacts, Pick<FamilyState, "subject" | "agentPaused"> {
  readonly confirmation: Confirmation | undefined;
  readonly family: FamilyState;
  readonly grace: Grace;
}

const refuse = refusing("invalid_grant");

const TOKEN_KNOWN: Rule<PresentedToken, FamilyState> = {
  name: "refresh_token_known",
  demand: "The refresh token is one that was issued.",
  source: "RFC 6749 §6",
  check: ({ found }) => found ?? refuse("refresh_token_unknown"),
};
const FAMILY_RULES: readonly Rule<FamilyFacts>[] = [
  {
    name: "refresh_token_of_client",
    demand: "The refresh token was issued to this client.",
    source: "RFC 6749 §6",
    check: ({ client, family }) => family.clientId === client.clientId || refuse("refresh_token_of_another_client"),
  },
  DPOP_KEY,
  {
    name: "refresh_token_lives",
    demand: "Neither the token's family nor its grant has been revoked: by revocation, replay, sign-out or removed consent.",
    source: "docs/protocol.md#refresh-tokens",
    check: ({ family }) => !family.revoked || refuse("refresh_token_revoked"),
  },
  {
    name: "refresh_token_unexpired",
    demand: "The token's family has not expired.",
    source: "RFC 6749 §6",
    check: ({ family }) => family.expiresAt > family.now || refuse("refresh_token_expired"),
  },
  USER_ENABLED,
  AGENT_NOT_PAUSED,
];
/** A second use obliges the caller to revoke the family, so the decision reports it instead of throwing. */
const TOKEN_UNUSED: Rule<FamilyFacts> = {
  name: "refresh_token_unused",
  demand: "The token is the current one of its family; a second use of an earlier one revokes the family.",
  source: "RFC 9700 §4.14.2",
  check: ({ family: { usedAt, now, currentHash }, grace }) => {
    const repeated = usedAt !== null && now < usedAt + grace.seconds && sameHash(grace.successor, currentHash);
    if (usedAt !== null && !repeated) refuse("refresh_token_replayed");
  },
};
const SCOPE: Rule<FamilyFacts, readonly string[]> = {
  name: "scope",
  demand:
    "scope lies within what was granted, and within what the client may still have at the resources; a scope that demands a class of sign-in needs a grant that states it.",
  source: "RFC 6749 §6, docs/protocol.md#step-up",
  check: ({ client, params, family }) => {
    const target = targetOf(client, family.audience, family.resourceTerms);
    return narrowScope(params.scope, remainingScopes(family.scopes, client, target, family.authentication));
  },
};
const RESOURCE: Rule<FamilyFacts, { readonly audience: readonly string[]; readonly terms: readonly ResourceTerms[] }> = {
  name: "resource",
  demand: "resource lies within what was granted; clients and resources that are disabled, and deleted clients, are left out.",
  source: "RFC 8707 §2.2",
  check: ({ client, params, family: { audience: bound, absentClients, resourceTerms } }) => {
    const { terms } = targetOf(client, bound, resourceTerms);
    return { audience: narrowResource(params.resource, bound, [...absentClients, ...disabledAmong(bound, terms)]), terms };
  },
};

const REFRESH_RULES: readonly RuleHead[] = [TOKEN_KNOWN, ...FAMILY_RULES, TOKEN_UNUSED, SCOPE, RESOURCE];

interface RefreshRequest {
  readonly client: Client;
  readonly params: RefreshTokenGrant;
  /** The key that the request proved. */
  readonly confirmation?: Confirmation | undefined;
}

/**
 * Decides what a presented refresh token entitles its client to. Pure.
 * Narrower scopes and resources apply to the new access token alone; the family keeps what was granted (RFC 6749 §6).
 * @throws {Refusal} invalid_grant, invalid_scope, invalid_target; the presented token stays usable
 * @see RFC 6749 §6, RFC 9700 §4.14.2, docs/protocol.md#refresh-tokens
 */
export function decideRefresh(
  found: FamilyState | undefined,
  { client, params, confirmation }: RefreshRequest,
  grace: Grace,
  trace = ENFORCED,
) {
  const family = trace.check(TOKEN_KNOWN, { client, found });
  const { subject, agentPaused, cnf: boundTo } = family;
  const facts = { client, params, family, grace, boundTo, confirmation, subject, agentPaused };
  for (const rule of FAMILY_RULES) trace.check(rule, facts);
  const replayed = trace.refusalOf(TOKEN_UNUSED, facts);
  if (replayed !== undefined) return { kind: "replay", family, refusal: replayed } as const;
  const kind = family.usedAt === null ? "rotate" : "repeat";
  return { kind, family, scopes: trace.check(SCOPE, facts), ...trace.check(RESOURCE, facts) } as const;
}

type Request = GrantRequest<"refreshToken">;

const { grantType } = GRANTS.refreshToken;

/** Commits the revocation of the family, then refuses. */
async function revokeReplayed(family: FamilyState, refusal: Refusal, { client, requestId }: Request, core: Core): Promise<never> {
  const { familyId, grantId, subject } = family;
  const about = { userId: subject.userId, clientId: client.clientId, grantType, grantId, requestId };
  await core.families.revoke(familyId, refusalRecord("refresh_token.replayed", refusal, about));
  throw refusal;
}

export const refreshToken: Grant<"refreshToken"> = {
  rules: [...GRANT_RULES, ...REFRESH_RULES],

  async issue(request, core) {
    for (const rule of GRANT_RULES) ENFORCED.check(rule, request);
    const { client, requestId } = request;
    const params = request.grant.value;
    const presented = hashSecret(params.refreshToken);
    const { refreshReuseGrace: seconds, refreshToken: ttl } = core.lifetimes;
    // With a grace the successor is derived from the request, so that parallel uses all receive the same one.
    const { rotation } = demandsOf(client);
    // Refresh tokens of confidential clients are bound by their authentication (RFC 9449 §5).
    const proven = isConfidential(client) ? undefined : request.confirmation;
    const fresh = (current?: SecretHash) => (seconds > 0 ? core.successor(params, current) : newHexSecret(core.randomBytes));
    const use = (familyId: string, hash: SecretHash, audit: AuditEntry) =>
      rotation
        ? core.families.rotate(familyId, presented, { hash, ttl, cnf: proven }, audit)
        : core.families.keep(familyId, presented, ttl, audit);

    // After a lost race, the second attempt decides on what the winner has stored.
    for (let attempt = 0; attempt < 2; attempt++) {
      const found = await (attempt === 0 ? request.prefetched.family : core.families.holding(presented));
      const next = rotation ? fresh(found?.currentHash) : params.refreshToken;
      const successor = hashSecret(next);
      const decision = decideRefresh(found, { client, params, confirmation: request.confirmation }, { seconds, successor });
      const { family } = decision;
      if (decision.kind === "replay") return revokeReplayed(family, decision.refusal, request, core);
      const { scopes, audience, terms } = decision;
      const { clientId, grantId } = family;
      const { userId: subject } = family.subject;
      const jti = newJti(core.randomBytes, grantId);
      const audit = issueRecord("client", { userId: subject, clientId, grantType, scopes, audience, jti, grantId, requestId });
      if (decision.kind === "repeat") await core.audit.recordIssue({ ...audit, reason: "refresh_token_repeated" });
      else if (!(await use(family.familyId, successor, audit))) continue;
      const cnf = family.cnf ?? request.confirmation;
      const signedIn = signInClaims(family.authentication, family.authTime);
      const answer = await accessTokenAnswer({ subject, client, scopes, audience, jti, terms, cnf, signedIn }, core);
      return { ...answer, refreshToken: next };
    }
    // The token is current but cannot be rotated, for example because its client or user was just disabled. Nothing was consumed.
    throw new Refusal("temporarily_unavailable", "refresh_not_settled", { retryAfter: 1 });
  },

  async preview(request, core, trace) {
    for (const rule of GRANT_RULES) trace.check(rule, request);
    const params = request.grant.value;
    const found = await request.prefetched.family;
    const grace = { seconds: core.lifetimes.refreshReuseGrace, successor: hashSecret(core.successor(params, found?.currentHash)) };
    // Only the client can make a proof, so that one is assumed.
    const confirmation = request.confirmation ?? found?.cnf ?? undefined;
    const decision = decideRefresh(found, { client: request.client, params, confirmation }, grace, trace);
    if (decision.kind === "replay") throw decision.refusal;
    const { family, scopes, audience, terms } = decision;
    return { ...previewOf(scopes, audience, core, terms), sub: family.subject.userId, refreshToken: true };
  },
};
