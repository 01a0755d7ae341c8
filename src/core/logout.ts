import { Refusal } from "../errors.ts";
import type { ValidateLogoutRequest } from "../gen/countersign/token/v1/token_pb.ts";
import type { Core } from "./ports.ts";
import { readIdTokenHint } from "./tokens/id-token.ts";

const refuse = (reason: string, description: string): never => {
  throw new Refusal("invalid_request", reason, { description });
};

/**
 * Finds whom a client asks to sign out, by an ID token that was issued to it and may have expired, and where the user may be redirected.
 * @throws {Refusal} invalid_request for a text that is not an ID token of this issuer, one of another client, or an unregistered address
 * @see OpenID Connect RP-Initiated Logout §2 and §3
 */
export async function validateLogout({ idTokenHint, clientId, postLogoutRedirectUri }: ValidateLogoutRequest, core: Core) {
  const hint = readIdTokenHint(idTokenHint, core);
  if (hint === undefined) return refuse("id_token_hint_invalid", "id_token_hint is not an ID token of this issuer.");
  const { sub, aud } = hint;
  if (clientId !== undefined && clientId !== aud) refuse("id_token_hint_of_another_client", "id_token_hint was issued to another client.");
  if (postLogoutRedirectUri === undefined) return { hintedSub: sub };
  const client = await core.clients.byClientId(aud);
  if (client?.enabled !== true || !client.postLogoutRedirectUris.includes(postLogoutRedirectUri))
    refuse("post_logout_redirect_uri_not_registered", "post_logout_redirect_uri is not registered for this client.");
  return { hintedSub: sub, postLogoutRedirectUri };
}
