/** What a client is, in the words of its developer, and the settings that follow. Pure. */
export const KINDS = ["web", "spa", "native", "service", "agent"] as const;
export type Kind = (typeof KINDS)[number];

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

interface Following {
  readonly tokenEndpointAuthMethod: "client_secret_basic" | "none";
  readonly grantTypes: readonly string[];
  readonly isAgent?: true;
  /** Whether users are sent back to it. */
  readonly redirects: boolean;
}

export const SETTINGS: Readonly<Record<Kind, Following>> = {
  web: { tokenEndpointAuthMethod: "client_secret_basic", grantTypes: ["authorization_code", "refresh_token"], redirects: true },
  spa: { tokenEndpointAuthMethod: "none", grantTypes: ["authorization_code"], redirects: true },
  native: { tokenEndpointAuthMethod: "none", grantTypes: ["authorization_code", "refresh_token"], redirects: true },
  service: { tokenEndpointAuthMethod: "client_secret_basic", grantTypes: ["client_credentials"], redirects: false },
  agent: { tokenEndpointAuthMethod: "client_secret_basic", grantTypes: [TOKEN_EXCHANGE], isAgent: true, redirects: false },
};

/** What an agent may do for users at most, from least to most. */
export const AGENT_MODES = ["readonly", "admin", "exec"] as const;
export type AgentMode = (typeof AGENT_MODES)[number];

/** What clients with users usually ask for. */
export const scopesFor = (kind: Kind): string => (SETTINGS[kind].redirects ? "openid profile email" : "");

/** Lines or words of a text field. */
export const listOf = (text: string): string[] => text.split(/\s+/).filter((word) => word !== "");

/** The resources of a client; without any its tokens are for itself alone. */
export const audienceOf = (text: string): string[] | null => (listOf(text).length === 0 ? null : listOf(text));

/** What an application reads from its environment. */
export const dotenv = (issuer: string, clientId: string, secret: string | undefined): string =>
  [`OAUTH_ISSUER=${issuer}`, `OAUTH_CLIENT_ID=${clientId}`, ...(secret === undefined ? [] : [`OAUTH_CLIENT_SECRET=${secret}`])].join("\n");
