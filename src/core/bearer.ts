import { CONSOLE_CLIENT_ID, demandsOf, FIRST_PARTY_CLIENT_ID, isFirstParty, MANAGE_CLIENTS } from "../clients/client.ts";
import { Refusal, refusing } from "../errors.ts";
import { AccessTokenUse, type DpopProof } from "../gen/countersign/token/v1/token_pb.ts";
import { parseScope } from "../protocol/access.ts";
import { consumeProof, type ProvenKey, verifyProof } from "./dpop.ts";
import type { Core } from "./ports.ts";
import { type AccessTokenClaims, audienceList, stateHolds, tokenReference } from "./tokens/access-token.ts";

const refuse = refusing("invalid_token");

/** Refuses a token that a resource server receives too, which could use it here as well. */
function assertForServiceAlone(claims: AccessTokenClaims, issuer: string): void {
  if (!audienceList(claims).every((audience) => audience === issuer || audience === claims.client_id)) refuse("bound_to_a_resource");
}

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
      if (!audienceList(claims).includes(issuer)) refuse("audience_is_not_the_issuer");
      assertForServiceAlone(claims, issuer);
      if (!isFirstParty({ clientId: claims.client_id, scopes }) && !scopes.includes(MANAGE_CLIENTS)) {
        throw new Refusal("insufficient_scope", "clients_manage_missing", { scope: MANAGE_CLIENTS });
      }
      return;
    case AccessTokenUse.LOGOUT:
      if (claims.act !== undefined) refuse("delegated_token");
      assertForServiceAlone(claims, issuer);
      return;
    case AccessTokenUse.UNSPECIFIED:
      throw new Refusal("invalid_request", "use_not_named");
  }
}

/**
 * Checks that a bound token comes with a proof by its key, as the client's security profile demands, and an unbound one as a bearer token.
 * @throws {Refusal} invalid_token, invalid_dpop_proof, use_dpop_nonce  @see RFC 9449 §7.1, §7.2
 */
async function assertPresentedBy(
  token: string,
  { cnf, client_id }: AccessTokenClaims,
  dpop: DpopProof | undefined,
  core: Core,
): Promise<ProvenKey | undefined> {
  if (dpop === undefined) return cnf === undefined ? undefined : refuse("token_bound");
  if (cnf?.jkt === undefined) return refuse("token_not_bound");
  const client = await core.clients.byClientId(client_id);
  const proven = verifyProof(dpop, core, { accessToken: token, ...(client && demandsOf(client)) });
  return proven.jkt === cnf.jkt ? proven : refuse("dpop_key_differs");
}

/**
 * Validates a user's access token for one of the service's own routes. Sign-out also accepts a token that expired less than a refresh token
 * lifetime ago, and a first-party token whose grant is revoked. It accepts the token of an application only while its grant is valid. Tokens of
 * the console end with their session.
 * @param dpop set if the token came under the scheme `DPoP`
 * @throws {Refusal} invalid_token, insufficient_scope, invalid_dpop_proof, use_dpop_nonce
 */
export async function verifyBearer(token: string, use: AccessTokenUse, core: Core, dpop?: DpopProof) {
  const claims = core.issuedTokens.accessToken(token);
  if (claims === undefined) return refuse("not_an_access_token");
  const proven = await assertPresentedBy(token, claims, dpop, core);
  const reference = tokenReference(claims);
  if (reference.userId === undefined) refuse("no_user_behind_token");
  const forgiven = use === AccessTokenUse.LOGOUT ? core.lifetimes.refreshToken : 0;
  const state = await core.tokens.of(reference);
  if (claims.exp + forgiven <= state.now) refuse("token_expired");
  const suffices = use === AccessTokenUse.LOGOUT && claims.client_id === FIRST_PARTY_CLIENT_ID;
  const holds = suffices ? state.subject?.enabled === true : stateHolds(claims, state);
  if (!holds || state.subject === null) return refuse("token_ended");
  if (use !== AccessTokenUse.LOGOUT && claims.client_id === CONSOLE_CLIENT_ID && state.root?.signedOut) refuse("session_ended");
  assertUse(claims, use, core.issuer);
  if (proven !== undefined) await consumeProof(proven, core);
  const scopes = parseScope(claims.scope);
  const { email, emailVerified, role } = state.subject;
  return {
    sub: claims.sub,
    clientId: claims.client_id,
    scopes: [...scopes],
    role,
    ...(reference.grantId !== undefined && { grantId: reference.grantId }),
    ...(scopes.includes("email") && emailVerified && { email }),
    ...(claims.acr !== undefined && { acr: claims.acr }),
    ...(claims.auth_time !== undefined && { proofAge: Math.max(0, Math.ceil(state.now - claims.auth_time)) }),
    ...(proven?.dpopNonce !== undefined && { dpopNonce: proven.dpopNonce }),
  };
}
