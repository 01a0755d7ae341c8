import type { OAuthClientProvider, OAuthDiscoveryState } from "@modelcontextprotocol/client";

export type StoredByHost = {
  tokens?: Awaited<ReturnType<OAuthClientProvider["tokens"]>>;
  client?: Awaited<ReturnType<OAuthClientProvider["clientInformation"]>>;
};

export const HOST_REDIRECT = "http://127.0.0.1:33418/callback";

/**
 * What an agent host keeps while the SDK walks through discovery, registration and authorization.
 * @param clientMetadataUrl where its metadata document is published; without one it registers itself
 */
export function agentHost(clientMetadataUrl?: string) {
  const stored: StoredByHost = {};
  const opened: URL[] = [];
  let verifier = "";
  let discovery: OAuthDiscoveryState | undefined;
  const provider: OAuthClientProvider = {
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    redirectUrl: HOST_REDIRECT,
    clientMetadata: {
      client_name: "Interop host",
      redirect_uris: [HOST_REDIRECT],
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
