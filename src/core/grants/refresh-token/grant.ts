import type { AuditEntry } from "../../../audit.ts";
import { demandsOf } from "../../../clients/security-profile.ts";
import { Refusal } from "../../../errors.ts";
import { GRANTS } from "../../../protocol/grants.ts";
import { hashSecret, newHexSecret, type SecretHash } from "../../../random.ts";
import { lifetimeAt } from "../../../resources/resource.ts";
import { ENFORCED } from "../../policy/rule.ts";
import type { Core, FamilyState } from "../../ports.ts";
import { newJti, signInClaims } from "../../tokens/access-token.ts";
import {
  accessTokenAnswer,
  because,
  CONFIDENTIAL_ONLY,
  checkGrantUse,
  GRANT_RULES,
  type Grant,
  type GrantRequest,
  previewOf,
} from "../grant.ts";
import { decideRefresh, REFRESH_RULES } from "./rules.ts";

type Request = GrantRequest<"refreshToken">;

const { grantType } = GRANTS.refreshToken;

const issueRecord = (
  family: FamilyState,
  scopes: readonly string[],
  audience: readonly string[],
  jti: string,
  requestId: string,
): AuditEntry => ({
  event: "token.issued",
  outcome: "success",
  actor: { type: "client", id: family.clientId },
  userId: family.subject.userId,
  clientId: family.clientId,
  grantType,
  scope: scopes.join(" "),
  resources: audience,
  jti,
  grantId: family.grantId,
  requestId,
});

/** Commits the revocation of the family, then refuses. */
async function revokeReplayed(family: FamilyState, refusal: Refusal, { client, requestId }: Request, core: Core): Promise<never> {
  await core.families.revoke(family.familyId, {
    event: "refresh_token.replayed",
    outcome: "failure",
    ...because(refusal),
    actor: { type: "client", id: client.clientId },
    userId: family.subject.userId,
    clientId: client.clientId,
    grantType,
    grantId: family.grantId,
    requestId,
  });
  throw refusal;
}

export const refreshToken: Grant<"refreshToken"> = {
  rules: [...GRANT_RULES, ...REFRESH_RULES],
  refusalAudit: CONFIDENTIAL_ONLY,

  async issue(request, core) {
    checkGrantUse(request, ENFORCED);
    const { client, requestId } = request;
    const params = request.grant.value;
    const presented = hashSecret(params.refreshToken);
    const { refreshReuseGrace: seconds, refreshToken: ttl, accessToken } = core.lifetimes;
    // With a grace the successor is derived from the request, so that parallel uses all receive the same one.
    const { rotation } = demandsOf(client);
    const fresh = (current?: SecretHash) => (seconds > 0 ? core.successor(params, current) : newHexSecret(core.randomBytes));
    const use = (familyId: string, successor: SecretHash, audit: AuditEntry) =>
      rotation ? core.families.rotate(familyId, presented, successor, ttl, audit) : core.families.keep(familyId, presented, ttl, audit);

    // After a lost race, the second attempt decides on what the winner has stored.
    for (let attempt = 0; attempt < 2; attempt++) {
      const found = await (attempt === 0 ? request.prefetched.family : core.families.holding(presented));
      const next = rotation ? fresh(found?.currentHash) : params.refreshToken;
      const successor = hashSecret(next);
      const decision = decideRefresh(found, { client, params, confirmation: request.confirmation }, { seconds, successor });
      const { family } = decision;
      if (decision.kind === "replay") return revokeReplayed(family, decision.refusal, request, core);
      const { scopes, audience, terms } = decision;
      const jti = newJti(core.randomBytes, family.grantId);
      const audit = issueRecord(family, scopes, audience, jti, requestId);
      if (decision.kind === "repeat") await core.audit.recordIssue({ ...audit, reason: "refresh_token_repeated" });
      else if (!(await use(family.familyId, successor, audit))) continue;
      const subject = family.subject.userId;
      const cnf = family.cnf ?? request.confirmation;
      const lifetime = lifetimeAt(accessToken, audience, terms);
      const signedIn = signInClaims(family.authentication, family.authTime);
      const answer = await accessTokenAnswer({ subject, client, scopes, audience, jti, lifetime, cnf, signedIn }, core);
      return { ...answer, refreshToken: next };
    }
    // The token is current but cannot be rotated, for example because its client or user was just disabled. Nothing was consumed.
    throw new Refusal("temporarily_unavailable", "refresh_not_settled", { retryAfter: 1 });
  },

  async preview(request, core, trace) {
    checkGrantUse(request, trace);
    const params = request.grant.value;
    const found = await request.prefetched.family;
    const grace = { seconds: core.lifetimes.refreshReuseGrace, successor: hashSecret(core.successor(params, found?.currentHash)) };
    // Only the client can make a proof, so that one is assumed.
    const confirmation = request.confirmation ?? found?.cnf;
    const decision = decideRefresh(found, { client: request.client, params, confirmation }, grace, trace);
    if (decision.kind === "replay") throw decision.refusal;
    const { family, scopes, audience, terms } = decision;
    return { ...previewOf(scopes, audience, core, terms), sub: family.subject.userId, refreshToken: true };
  },
};
