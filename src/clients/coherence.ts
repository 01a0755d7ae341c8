import { CONFIDENTIAL_GRANT_TYPES, type GrantType } from "../protocol/grants.ts";
import type { AuthMethod, ClientSettings } from "./client.ts";
import { redirectUriFault } from "./redirect-uri.ts";

/** What is wrong with which member. The message is public: fixed words, never a value. */
export interface Incoherence {
  readonly path: string;
  readonly message: string;
}

/** The methods by which a client proves itself with a secret of ours. */
export const usesSecret = (method: AuthMethod): boolean => method === "client_secret_basic" || method === "client_secret_post";

/** The response types of a client that named none: `code` where it uses codes. */
export const impliedResponseTypes = (grantTypes: readonly GrantType[]): readonly "code"[] =>
  grantTypes.includes("authorization_code") ? ["code"] : [];

/**
 * What is of no use to a client, though it contradicts nothing: a grant for which it would have to prove who it is, and cannot. Who asks for
 * it is told; a provisioning file may lay down what the token endpoint will refuse (docs/protocol.md#token-exchange-rules). Pure.
 */
export const uselessGrants = (client: Pick<ClientSettings, "grantTypes" | "tokenEndpointAuthMethod">): readonly Incoherence[] =>
  client.tokenEndpointAuthMethod === "none" && client.grantTypes.some((grant) => CONFIDENTIAL_GRANT_TYPES.includes(grant))
    ? [{ path: "tokenEndpointAuthMethod", message: "none does not go with a grant for which the client must prove who it is" }]
    : [];

/**
 * What of a client contradicts itself, judged on the whole record as it would be stored. Pure; an empty list is a coherent client.
 * Keys are no condition of private_key_jwt: they are the operator's to give, and until then the client authenticates nowhere.
 * @see RFC 7591 §2, docs/protocol.md#clients, docs/protocol.md#redirect-uris
 */
export function incoherences(client: ClientSettings): readonly Incoherence[] {
  const found: Incoherence[] = [];
  const fault = (path: string, message: string): void => {
    found.push({ path, message });
  };
  const usesCode = client.grantTypes.includes("authorization_code");
  if (usesCode !== client.responseTypes.includes("code"))
    fault("responseTypes", "must be code if, and only if, grantTypes has authorization_code");
  for (const member of ["redirectUris", "postLogoutRedirectUris"] as const) {
    client[member].forEach((uri, index) => {
      const wrong = redirectUriFault(uri, client);
      if (wrong !== undefined) fault(`${member}.${index}`, wrong);
    });
  }
  if (client.jwks !== null && client.jwksUri !== null) fault("jwksUri", "goes with no jwks: give one of the two");
  return found;
}
