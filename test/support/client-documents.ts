/** A metadata document as it is published, with the members of RFC 7591. */
export type ClientDocument = { readonly client_id: string; readonly redirect_uris: readonly string[] } & Readonly<Record<string, unknown>>;

const CODE = { grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };

/**
 * Documents of widely used MCP clients, as published in autumn 2026 (a test replaces their addresses by its own): loopback redirects
 * without a port, several authentication methods, grants that are not supported here, members for display.
 */
export const PUBLISHED = {
  claudeCode: {
    client_id: "https://claude.ai/oauth/claude-code-client-metadata",
    client_name: "Claude Code",
    client_uri: "https://claude.ai",
    redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
    ...CODE,
    token_endpoint_auth_method: "none",
  },
  chatGpt: {
    client_id: "https://chatgpt.com/oauth/client.json",
    client_name: "ChatGPT",
    client_uri: "https://chatgpt.com/",
    logo_uri: "https://persistent.oaistatic.com/logo.png",
    redirect_uris: ["https://chatgpt.com/connector_platform_oauth_redirect"],
    ...CODE,
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
    token_endpoint_auth_signing_alg: "RS256",
    jwks_uri: "https://chatgpt.com/oauth/jwks.json",
  },
  chatGptApp: {
    client_id: "https://chatgpt.com/oauth/kDmjx77UnKOM/client.json",
    client_name: "ChatGPT",
    client_uri: "https://chatgpt.com/",
    redirect_uris: ["https://chatgpt.com/connector/oauth/kDmjx77UnKOM"],
    ...CODE,
    token_endpoint_auth_method: "private_key_jwt",
    token_endpoint_auth_signing_alg: "RS256",
    jwks_uri: "https://chatgpt.com/oauth/jwks.json",
  },
  vsCode: {
    client_id: "https://vscode.dev/oauth/client-metadata.json",
    client_name: "Visual Studio Code",
    client_uri: "https://vscode.dev/product",
    logo_uri: "https://vscode.dev/icon.png",
    application_type: "native",
    redirect_uris: ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
    response_types: ["code"],
    grant_types: ["authorization_code", "refresh_token", "urn:ietf:params:oauth:grant-type:device_code"],
    token_endpoint_auth_method: "none",
  },
  openCode: {
    client_id: "https://opencode.ai/oauth/opencode/client.json",
    client_name: "opencode",
    client_uri: "https://opencode.ai",
    logo_uri: "https://opencode.ai/icon-512.png",
    application_type: "native",
    redirect_uris: ["http://127.0.0.1/callback", "http://localhost/callback"],
    ...CODE,
    token_endpoint_auth_method: "none",
    token_endpoint_auth_methods_supported: ["none"],
  },
} as const satisfies Record<string, ClientDocument>;
