import type { Issue } from "../errors.ts";
import { isLoopbackHost } from "../protocol/access.ts";
import { CONFIDENTIAL_GRANT_TYPES, type GrantType } from "../protocol/grants.ts";
import { type AuthMethod, type ClientSettings, demandsOf } from "./client.ts";
import { redirectUriFault } from "./redirect-uri.ts";

/** Whether a client authenticates with a secret that this server issued. */
export const usesSecret = (method: AuthMethod): boolean => method === "client_secret_basic" || method === "client_secret_post";

/** The default response types: `code` with the authorization code grant. */
export const impliedResponseTypes = (grantTypes: readonly GrantType[]): readonly "code"[] =>
  grantTypes.includes("authorization_code") ? ["code"] : [];

/**
 * Grants that need client authentication, of a client that has none. Registration refuses them. A provisioning file may contain them; the
 * token endpoint then refuses their use (docs/protocol.md#token-exchange-rules). Pure.
 */
export const uselessGrants = (client: Pick<ClientSettings, "grantTypes" | "tokenEndpointAuthMethod">): readonly Issue[] =>
  client.tokenEndpointAuthMethod === "none" && client.grantTypes.some((grant) => CONFIDENTIAL_GRANT_TYPES.includes(grant))
    ? [{ path: "tokenEndpointAuthMethod", message: "none cannot be combined with a grant that requires client authentication" }]
    : [];

/** @see OpenID Connect Back-Channel Logout 1.0 §2.2 */
function backchannelFault(uri: string, environment: ClientSettings["environment"]): string | undefined {
  const url = URL.parse(uri);
  if (url === null || url.username !== "" || url.password !== "" || uri.includes("#"))
    return "is not a URL without credentials and fragment";
  const isLocal = url.protocol === "http:" && isLoopbackHost(url.hostname) && environment === "development";
  return url.protocol === "https:" || isLocal ? undefined : "must be https, or http on loopback for a client in development";
}

/**
 * Contradictions in the record of a client. Pure. private_key_jwt does not require keys: an operator may add them later.
 * @see RFC 7591 §2, docs/protocol.md#clients, docs/protocol.md#redirect-uris
 */
export function incoherences(client: ClientSettings): readonly Issue[] {
  const found: Issue[] = [];
  const fault = (path: string, message: string): void => {
    found.push({ path, message });
  };
  // The other way round is no contradiction: what a client may do follows from its grants alone.
  if (client.grantTypes.includes("authorization_code") && !client.responseTypes.includes("code"))
    fault("responseTypes", "must have code with the grant authorization_code");
  for (const member of ["redirectUris", "postLogoutRedirectUris"] as const) {
    client[member].forEach((uri, index) => {
      const wrong = redirectUriFault(uri, client);
      if (wrong !== undefined) fault(`${member}.${index}`, wrong);
    });
  }
  const logoutFault = client.backchannelLogoutUri === null ? undefined : backchannelFault(client.backchannelLogoutUri, client.environment);
  if (logoutFault !== undefined) fault("backchannelLogoutUri", logoutFault);
  if (!demandsOf(client).authMethods.includes(client.tokenEndpointAuthMethod))
    fault("tokenEndpointAuthMethod", `must be private_key_jwt with the security profile ${client.securityProfile}`);
  if (client.jwks !== null && client.jwksUri !== null) fault("jwksUri", "cannot be combined with jwks: give one of the two");
  return found;
}
