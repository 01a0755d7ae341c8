import type { AuditEntry } from "../../audit.ts";
import type { Client } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import type { AuthorizationCodeGrant } from "../../gen/countersign/token/v1/token_pb.ts";
import { newId } from "../../identifier.ts";
import { isCodeVerifier, verifierMatches } from "../../protocol/pkce.ts";
import { printScope } from "../../protocol/scope.ts";
import { hashSecret, newHexSecret } from "../../secret.ts";
import type { Core } from "../core.ts";
import { narrowResource } from "../policy/resource.ts";
import type { CodeState, NewFamily, NewGrant } from "../ports.ts";
import { signJwt } from "../signing/jws.ts";
import { newJti } from "../tokens/access-token.ts";
import { idTokenClaims } from "../tokens/id-token.ts";
import { accessTokenAnswer } from "./token-answer.ts";

const refuse = (reason: string): never => {
  throw new Refusal("invalid_grant", reason);
};

const malformedVerifier = () =>
  new Refusal("invalid_request", "code_verifier_malformed", {
    description: "code_verifier must be 43 to 128 characters of A-Z a-z 0-9 - . _ ~",
  });

/**
 * What a presented code entitles its client to. Pure.
 * A used code that is presented rightly in everything else is a replay, which ends its grant; with wrong parameters it ends nothing,
 * or whoever saw a code go by could sign its owner out.
 * @throws {Refusal} invalid_request, invalid_grant, invalid_target
 * @see OAuth 2.1 §4.1.3 and §7.5.2, RFC 7636 §4.6, specification §3 and §4.7
 */
export function decideCode(code: CodeState | undefined, client: Client, grant: AuthorizationCodeGrant) {
  if (!isCodeVerifier(grant.codeVerifier)) throw malformedVerifier();
  if (code === undefined) return refuse("code_unknown");
  if (code.clientId !== client.clientId) refuse("code_of_another_client");
  if (code.redirectUri !== grant.redirectUri) refuse("redirect_uri_differs");
  if (!verifierMatches(grant.codeVerifier, code.codeChallenge)) refuse("code_verifier_wrong");
  if (code.grantId !== null) return { kind: "replay", grantId: code.grantId } as const;
  if (code.expiresAt <= code.now) refuse("code_expired");
  if (!code.subject.enabled) refuse("user_disabled");
  // Without `resource` the token is for the client itself, which lets the client exchange it later on (RFC 9068 §3).
  const bound = code.resources.length > 0 ? code.resources : [client.clientId];
  return { kind: "redeem", code, bound, audience: narrowResource(grant.resource, bound) } as const;
}

/** Ends what a code was redeemed for, and refuses. The end is written before the refusal leaves. */
async function endReplayed(grantId: string, client: Client, requestId: string, core: Core): Promise<never> {
  const actor = { type: "client", id: client.clientId } as const;
  await core.grants.revoke(grantId, {
    event: "code.replayed",
    outcome: "failure",
    reason: "code_replayed",
    actor,
    clientId: client.clientId,
    grantId,
    requestId,
  });
  return refuse("code_replayed");
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
    const winner = await core.codes.byHash(codeHash);
    return winner?.grantId ? endReplayed(winner.grantId, client, requestId, core) : refuse("code_expired");
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
  return signJwt(claims, "JWT", core.keys.idToken, core.sign);
}
