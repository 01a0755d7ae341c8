import type { AuditEntry } from "../../../audit.ts";
import type { Client } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import type { RefreshTokenGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { printScope } from "../../../protocol/scope.ts";
import { hashSecret, newHexSecret } from "../../../secret.ts";
import type { Core } from "../../core.ts";
import type { FamilyState } from "../../ports.ts";
import { because } from "../../refusal-audit.ts";
import { newJti } from "../../tokens/access-token.ts";
import { accessTokenAnswer } from "../token-answer.ts";
import { decideRefresh, refreshTokenReplayed } from "./rules.ts";

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
  const refusal = refreshTokenReplayed();
  await core.families.revoke(family.familyId, {
    event: "refresh_token.replayed",
    outcome: "failure",
    ...because(refusal),
    actor: { type: "client", id: client.clientId },
    userId: family.subject.userId,
    clientId: client.clientId,
    grantType: "refresh_token",
    grantId: family.grantId,
    requestId,
  });
  throw refusal;
}
