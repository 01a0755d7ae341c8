import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";

export type StoredByHost = {
  tokens?: Awaited<ReturnType<OAuthClientProvider["tokens"]>>;
  client?: Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;
};

export const HOST_REDIRECT = "http://127.0.0.1:33418/callback";

/**
 * What an agent host keeps while the SDK walks through discovery, registration and authorization.
 * @param clientMetadataUrl where its metadata document is published; without one it registers itself
 * @param redirectUris what it registers; it uses the first
 */
export function agentHost(clientMetadataUrl?: string, redirectUris: readonly [string, ...string[]] = [HOST_REDIRECT]) {
  const stored: StoredByHost = {};
  const opened: URL[] = [];
  let verifier = "";
  let discovery: OAuthDiscoveryState | undefined;
  const provider: OAuthClientProvider = {
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    redirectUrl: redirectUris[0],
    clientMetadata: {
      client_name: "Interop host",
      redirect_uris: [...redirectUris],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    clientInformation: () => stored.client,
    saveClientInformation: (client) => {
      stored.client = client;
    },
    tokens: () => stored.tokens,
    saveTokens: (tokens) => {
      stored.tokens = tokens;
    },
    redirectToAuthorization: (url) => {
      opened.push(url);
    },
    saveCodeVerifier: (value) => {
      verifier = value;
    },
    codeVerifier: () => verifier,
    saveDiscoveryState: (state) => {
      discovery = state;
    },
    discoveryState: () => discovery,
  };
  return { provider, stored, opened };
}
