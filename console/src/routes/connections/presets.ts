/** Providers that the server knows. */
export const PRESETS = ["google", "microsoft", "github", "gitlab"] as const;
export type Preset = (typeof PRESETS)[number];

/** How a provider authenticates this server. */
export const AUTH_METHODS = ["client_secret", "private_key_jwt", "none"] as const;
export type AuthMethod = (typeof AUTH_METHODS)[number];
