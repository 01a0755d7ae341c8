import { FIRST_PARTY_CLIENT_ID, MANAGE_CLIENTS } from "../clients/client.ts";
import { Refusal, refusing } from "../errors.ts";
import { AccessTokenUse } from "../gen/countersign/token/v1/token_pb.ts";
import { parseScope } from "../protocol/access.ts";
import type { Core } from "./ports.ts";
import { type AccessTokenClaims, audienceList, stateHolds, tokenReference, verifiedAccessToken } from "./tokens/access-token.ts";

const refuse = refusing("invalid_token");

/**
 * Checks that a valid token permits one use by the service's own routes. Pure.
 * @throws {Refusal} invalid_token, insufficient_scope
 * @see docs/protocol.md#client-management, OIDC Core §5.3
 */
export function assertUse(claims: AccessTokenClaims, use: AccessTokenUse, issuer: string): void {
  const scopes = parseScope(claims.scope);
  switch (use) {
    case AccessTokenUse.USERINFO:
      if (!scopes.includes("openid")) throw new Refusal("insufficient_scope", "openid_missing", { scope: "openid" });
      return;
    case AccessTokenUse.MANAGEMENT:
      // Otherwise every resource server that receives a user's token could manage the user's clients with it.
      if (!audienceList(claims).includes(issuer)) refuse("audience_is_not_the_issuer");
      if (claims.client_id !== FIRST_PARTY_CLIENT_ID && !scopes.includes(MANAGE_CLIENTS)) {
        throw new Refusal("insufficient_scope", "clients_manage_missing", { scope: MANAGE_CLIENTS });
      }
      return;
    case AccessTokenUse.LOGOUT:
      // Otherwise every resource server and agent that receives a user's token could sign the user out everywhere.
      if (claims.act !== undefined) refuse("delegated_token");
      if (!audienceList(claims).every((audience) => audience === issuer || audience === claims.client_id)) refuse("bound_to_a_resource");
      return;
    case AccessTokenUse.UNSPECIFIED:
      throw new Refusal("invalid_request", "use_not_named");
  }
}

/**
 * Validates a user's access token for one of the service's own routes. Sign-out also accepts a token that expired less than a refresh token
 * lifetime ago, and a first-party token whose grant is revoked. It accepts the token of an application only while its grant is valid.
 * @throws {Refusal} invalid_token, insufficient_scope
 */
export async function verifyBearer(token: string, use: AccessTokenUse, core: Core) {
  const claims = verifiedAccessToken(token, core);
  if (claims === undefined) return refuse("not_an_access_token");
  if (claims.cnf !== undefined) refuse("token_bound"); // a bearer does not prove possession of the key
  const reference = tokenReference(claims);
  if (reference.userId === undefined) refuse("no_user_behind_token");
  const forgiven = use === AccessTokenUse.LOGOUT ? core.lifetimes.refreshToken : 0;
  const state = await core.tokens.of(reference);
  if (claims.exp + forgiven <= state.now) refuse("token_expired");
  const suffices = use === AccessTokenUse.LOGOUT && claims.client_id === FIRST_PARTY_CLIENT_ID;
  const holds = suffices ? state.subject?.enabled === true : stateHolds(claims, state);
  if (!holds || state.subject === undefined) return refuse("token_ended");
  assertUse(claims, use, core.issuer);
  const scopes = parseScope(claims.scope);
  const { email, emailVerified, role } = state.subject;
  return {
    sub: claims.sub,
    clientId: claims.client_id,
    scopes: [...scopes],
    role,
    ...(scopes.includes("email") && emailVerified && { email }),
  };
}
