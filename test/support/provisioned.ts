import type { TestClient } from "./flow.ts";

const REDIRECT = "https://app.example.test/cb";
const USER_GRANTS = ["authorization_code", "refresh_token"];
const SCOPES = ["openid", "profile", "email", "offline_access", "notes:read", "notes:write"];

/** Clients of every kind that the tests use. */
const CLIENTS = [
  { clientId: "web", clientSecret: "web-secret", grantTypes: USER_GRANTS, scopes: SCOPES, redirectUris: [REDIRECT] },
  { clientId: "other", clientSecret: "other-secret", grantTypes: USER_GRANTS, scopes: SCOPES, redirectUris: [REDIRECT] },
  { clientId: "one-shot", clientSecret: "one-shot-secret", grantTypes: ["authorization_code"], scopes: SCOPES, redirectUris: [REDIRECT] },
  {
    clientId: "public-app",
    tokenEndpointAuthMethod: "none",
    grantTypes: USER_GRANTS,
    scopes: SCOPES,
    redirectUris: [REDIRECT, "http://127.0.0.1/cb"],
    environment: "development",
  },
  { clientId: "worker", clientSecret: "worker-secret", grantTypes: ["client_credentials"], scopes: ["openid", "notes:read"] },
  {
    clientId: "poster",
    clientSecret: "poster-secret",
    grantTypes: ["client_credentials"],
    scopes: ["notes:read"],
    tokenEndpointAuthMethod: "client_secret_post",
  },
  { clientId: "disabled", clientSecret: "disabled-secret", grantTypes: ["client_credentials"], scopes: ["notes:read"], enabled: false },
  { clientId: "urn:example:client 1", clientSecret: "s%:+ /", grantTypes: ["client_credentials"], scopes: ["notes:read"] },
  {
    clientId: "agent",
    clientSecret: "agent-secret",
    grantTypes: ["client_credentials"],
    scopes: ["crm:read"],
    audience: ["https://crm.example.test/mcp", "https://mail.example.test/mcp"],
  },
].map((client) => ({ name: client.clientId, tokenEndpointAuthMethod: "client_secret_basic", environment: "production", ...client }));

/** The credentials of the operator of the tests. */
export const OPERATOR = { email: "operator@example.test", password: "operator password 1" };

export const PROVISIONED = {
  users: [{ ...OPERATOR, emailVerified: true, firstName: "Olga", role: "operator" }],
  clients: CLIENTS,
} as const;

const client = (clientId: string): TestClient => {
  const secret = CLIENTS.find((each) => each.clientId === clientId)?.clientSecret;
  return { clientId, redirectUri: REDIRECT, ...(secret !== undefined && { secret }) };
};

/** The same clients, as `serverDriver` takes them. */
export const clients = {
  web: client("web"),
  other: client("other"),
  oneShot: client("one-shot"),
  publicApp: client("public-app"),
  worker: client("worker"),
  poster: client("poster"),
  disabled: client("disabled"),
  urn: client("urn:example:client 1"),
  agent: client("agent"),
};
