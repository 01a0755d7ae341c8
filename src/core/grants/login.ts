import { FIRST_PARTY_CLIENT_ID } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import type { LoginTokensRequest } from "../../gen/countersign/token/v1/token_pb.ts";
import { newId } from "../../random.ts";
import type { Core } from "../ports.ts";
import type { NewGrant } from "../token-state.ts";
import { newJti } from "../tokens/access-token.ts";
import { newRefresh } from "./authorization-code/grant.ts";
import { accessTokenAnswer, issueRecord } from "./grant.ts";

/** Seconds. */
const ONE_CALL_LIFETIME = 300;

const LOGIN_SCOPES = ["openid", "profile", "email"];

/**
 * Issues a token set to a user who has just signed in with the service itself. Its audience is the issuer.
 * @throws {Refusal} access_denied when the user or the session is no longer valid
 * @see docs/protocol.md#login-tokens
 */
export async function loginTokens({ userId, sessionId, authTime, requestId, oneCall, address }: LoginTokensRequest, core: Core) {
  const client = await core.clients.byClientId(FIRST_PARTY_CLIENT_ID);
  if (client === undefined || !client.enabled) throw new Refusal("access_denied", "first_party_client_disabled");
  const audience = [core.issuer];
  const { clientId } = client;
  const grant: NewGrant = { id: newId(core.clock, core.randomBytes), clientId, userId, scopes: LOGIN_SCOPES, audience, authTime };
  const jti = newJti(core.randomBytes, grant.id);
  const refresh = oneCall ? undefined : newRefresh(core);
  const issued = { userId, clientId, grantType: "login", scopes: LOGIN_SCOPES, audience, jti, grantId: grant.id, requestId };
  const audit = issueRecord("user", { ...issued, ...(oneCall && { reason: "one_call", address }) });
  if (!(await core.grants.open(grant, refresh?.family, sessionId, audit))) throw new Refusal("access_denied", "session_not_live");
  const lifetime = core.lifetimes.accessToken;
  const { accessToken, expiresIn, tokenType } = await accessTokenAnswer(
    { subject: userId, client, scopes: LOGIN_SCOPES, audience, jti, lifetime: oneCall ? Math.min(lifetime, ONE_CALL_LIFETIME) : lifetime },
    core,
  );
  return { accessToken, expiresIn, tokenType, refreshToken: refresh?.token ?? "" };
}
