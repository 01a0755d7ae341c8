import { parseForm } from "./form.ts";

/** A client's request to sign a user out. @see OpenID Connect RP-Initiated Logout §2 */
export interface LogoutRequest {
  readonly idTokenHint: string | undefined;
  readonly clientId: string | undefined;
  readonly postLogoutRedirectUri: string | undefined;
  readonly state: string | undefined;
}

/** Reads a logout request from a query or form. Ignores `logout_hint` and `ui_locales`. @throws {Refusal} invalid_request */
export function parseLogoutRequest(text: string): LogoutRequest {
  const { get } = parseForm(text);
  return {
    idTokenHint: get("id_token_hint"),
    clientId: get("client_id"),
    postLogoutRedirectUri: get("post_logout_redirect_uri"),
    state: get("state"),
  };
}

/** The request as a query. */
export function printLogoutRequest({ idTokenHint, clientId, postLogoutRedirectUri, state }: LogoutRequest): string {
  const members = { id_token_hint: idTokenHint, client_id: clientId, post_logout_redirect_uri: postLogoutRedirectUri, state };
  const sent = Object.entries(members).filter((member): member is [string, string] => member[1] !== undefined);
  return new URLSearchParams(sent).toString();
}
