import type { AuditEntry } from "../../audit.ts";
import type { Client } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import type { RefreshTokenGrant } from "../../gen/countersign/token/v1/token_pb.ts";
import { printScope } from "../../protocol/scope.ts";
import { hashSecret, newHexSecret, type SecretHash, sameHash } from "../../secret.ts";
import type { Core } from "../core.ts";
import { narrowResource } from "../policy/resource.ts";
import { narrowScope } from "../policy/scope.ts";
import type { FamilyState } from "../ports.ts";
import { newJti } from "../tokens/access-token.ts";
import { accessTokenAnswer } from "./token-answer.ts";

const refuse = (reason: string): never => {
  throw new Refusal("invalid_grant", reason);
};

/**
 * What a presented refresh token entitles its client to. Pure.
 * Narrower scopes and resources hold for the new access token alone; the family keeps what was granted (RFC 6749 §6).
 * @param grace REFRESH_TOKEN_REUSE_GRACE in seconds (0 makes every second use a replay), and the successor that this token had if it was
 *   used for the same scope and resource then
 * @throws {Refusal} invalid_grant, invalid_scope, invalid_target; the presented token stays usable
 * @see RFC 6749 §6, RFC 9700 §4.14.2, specification §3 and §4.7
 */
export function decideRefresh(
  family: FamilyState | undefined,
  client: Client,
  grant: RefreshTokenGrant,
  grace: { readonly seconds: number; readonly successor: SecretHash },
) {
  if (family === undefined) return refuse("refresh_token_unknown");
  if (family.clientId !== client.clientId) refuse("refresh_token_of_another_client");
  if (family.revoked) refuse("refresh_token_revoked");
  if (family.expiresAt <= family.now) refuse("refresh_token_expired");
  if (!family.subject.enabled) refuse("user_disabled");
  const again = family.usedAt !== null;
  if (again && !(family.now < family.usedAt + grace.seconds && sameHash(grace.successor, family.currentHash)))
    return { kind: "replay", family } as const;
  const scopes = narrowScope(grant.scope, family.scopes);
  const audience = narrowResource(grant.resource, family.audience);
  return { kind: again ? "repeat" : "rotate", family, scopes, audience } as const;
}

/** @param held the family of the presented token as it was read for this request */
export async function refreshTokenGrant(
  grant: RefreshTokenGrant,
  held: FamilyState | undefined,
  client: Client,
  requestId: string,
  core: Core,
) {
  const presented = hashSecret(grant.refreshToken);
  const { refreshReuseGrace, refreshToken: ttl, accessToken: lifetime } = core.lifetimes;
  // With a grace the successor follows from the request, so that parallel uses are all told the same one and none strands another.
  const refreshToken = refreshReuseGrace > 0 ? core.successor(grant) : newHexSecret(core.randomBytes);
  const next = hashSecret(refreshToken);

  // A second look only after a lost race: what the winner has made true then decides.
  for (let look = 0; look < 2; look++) {
    const found = look === 0 ? held : await core.families.holding(presented);
    const decision = decideRefresh(found, client, grant, { seconds: refreshReuseGrace, successor: next });
    const { family } = decision;
    if (decision.kind === "replay") return endReplayed(family, client, requestId, core);
    const { scopes, audience } = decision;
    const jti = newJti(core.randomBytes, family.grantId);
    const audit = issueRecord(family, scopes, audience, jti, requestId);
    if (decision.kind === "repeat") await core.audit.recordIssue(audit);
    else if (!(await core.families.rotate(family.familyId, presented, next, ttl, audit))) continue;
    const answer = await accessTokenAnswer({ subject: family.subject.userId, client, scopes, audience, jti, lifetime }, core);
    return { ...answer, refreshToken };
  }
  // Still current, yet not to be rotated (its client or user went meanwhile): nothing can be said for certain, and nothing was consumed.
  throw new Refusal("temporarily_unavailable", "refresh_not_settled", { retryAfter: 1 });
}

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
  grantType: "refresh_token",
  scope: printScope(scopes),
  resources: audience,
  jti,
  grantId: family.grantId,
  requestId,
});

/** Ends the family, and refuses. The end is written before the refusal leaves. */
async function endReplayed(family: FamilyState, client: Client, requestId: string, core: Core): Promise<never> {
  await core.families.revoke(family.familyId, {
    event: "refresh_token.replayed",
    outcome: "failure",
    reason: "refresh_token_replayed",
    actor: { type: "client", id: client.clientId },
    userId: family.subject.userId,
    clientId: client.clientId,
    grantId: family.grantId,
    requestId,
  });
  return refuse("refresh_token_replayed");
}
