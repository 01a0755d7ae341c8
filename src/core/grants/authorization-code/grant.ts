import type { AuditEntry } from "../../../audit.ts";
import type { Client } from "../../../clients/client.ts";
import { Refusal } from "../../../errors.ts";
import type { AuthorizationCodeGrant } from "../../../gen/countersign/token/v1/token_pb.ts";
import { newId } from "../../../identifier.ts";
import { printScope } from "../../../protocol/scope.ts";
import { hashSecret, newHexSecret } from "../../../secret.ts";
import type { Core } from "../../core.ts";
import type { CodeState, NewFamily } from "../../ports.ts";
import { because } from "../../refusal-audit.ts";
import { signJwt } from "../../signing/jws.ts";
import { newJti } from "../../tokens/access-token.ts";
import { idTokenClaims } from "../../tokens/id-token.ts";
import type { NewGrant } from "../../user-grant.ts";
import { accessTokenAnswer } from "../token-answer.ts";
import { CODE_UNEXPIRED, codeReplayed, decideCode } from "./rules.ts";

/** Ends what a code was redeemed for, and refuses. The end is written before the refusal leaves. */
async function endReplayed(grantId: string, client: Client, requestId: string, core: Core): Promise<never> {
  const refusal = codeReplayed();
  await core.grants.revoke(grantId, {
    event: "code.replayed",
    outcome: "failure",
    ...because(refusal),
    actor: { type: "client", id: client.clientId },
    clientId: client.clientId,
    grantType: "authorization_code",
    grantId,
    requestId,
  });
  throw refusal;
}

/** @param presented the code of the request as it was read for it */
export async function authorizationCodeGrant(
  grant: AuthorizationCodeGrant,
  presented: CodeState | undefined,
  client: Client,
  requestId: string,
  core: Core,
) {
  const codeHash = hashSecret(grant.code);
  const decision = decideCode(presented, client, grant);
  if (decision.kind === "replay") return endReplayed(decision.grantId, client, requestId, core);

  const { code, bound, audience } = decision;
  const opened: NewGrant = {
    id: newId(core.clock, core.randomBytes),
    clientId: client.clientId,
    userId: code.userId,
    scopes: code.scopes,
    audience: bound,
    authTime: code.authTime,
  };
  const jti = newJti(core.randomBytes, opened.id);
  const refresh = client.grantTypes.includes("refresh_token") ? newRefresh(core) : undefined;
  const audit: AuditEntry = {
    event: "token.issued",
    outcome: "success",
    actor: { type: "user", id: code.userId },
    userId: code.userId,
    clientId: client.clientId,
    grantType: "authorization_code",
    scope: printScope(code.scopes),
    resources: audience,
    jti,
    grantId: opened.id,
    requestId,
  };
  if (!(await core.codes.redeem(codeHash, opened, refresh?.family, audit))) {
    const now = decideCode(await core.codes.byHash(codeHash), client, grant);
    if (now.kind === "replay") return endReplayed(now.grantId, client, requestId, core);
    throw new Refusal("invalid_grant", "code_expired", { rule: CODE_UNEXPIRED.name });
  }
  const [answer, idToken] = await Promise.all([
    accessTokenAnswer({ subject: code.userId, client, scopes: code.scopes, audience, jti, lifetime: core.lifetimes.accessToken }, core),
    code.scopes.includes("openid") ? idTokenFor(code, client, core) : undefined,
  ]);
  return { ...answer, ...(refresh && { refreshToken: refresh.token }), ...(idToken !== undefined && { idToken }) };
}

/** A first refresh token with the family that it begins. */
export function newRefresh(core: Core): { readonly token: string; readonly family: NewFamily } {
  const token = newHexSecret(core.randomBytes);
  const { refreshToken: ttl, refreshFamilyMax: maxAge } = core.lifetimes;
  return { token, family: { id: newId(core.clock, core.randomBytes), tokenHash: hashSecret(token), ttl, maxAge } };
}

function idTokenFor(code: CodeState, client: Client, core: Core): Promise<string> {
  const claims = idTokenClaims({
    issuer: core.issuer,
    subject: code.subject,
    clientId: client.clientId,
    scopes: code.scopes,
    authTime: code.authTime,
    nonce: code.nonce,
    now: core.clock(),
    lifetime: core.lifetimes.idToken,
  });
  return signJwt(claims, "JWT", core.keys.signing().idToken, core.sign);
}
