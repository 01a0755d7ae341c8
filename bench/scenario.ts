import { createHash, createPrivateKey, createPublicKey, hash } from "node:crypto";

/** How many requests are under way at any moment. */
export const IN_FLIGHT = 32;

export const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const CLIENTS = 8;
const USERS = 16;

export const SCOPE = "openid notes:read";
export const OWN_SCOPE = "notes:read";
export const REDIRECT_URI = "https://app.bench.test/cb";

/** A client of the scenario, the same for every server under measurement. */
export interface BenchClient {
  readonly clientId: string;
  readonly clientSecret: string;
  /** The `Authorization` header. */
  readonly basic: string;
}

/** 43 characters that look random and are the same in every process. */
const secretOf = (what: string): string => hash("sha256", `bench ${what}`, "base64url");

const clientsNamed = (prefix: string): readonly BenchClient[] =>
  Array.from({ length: CLIENTS }, (_, n) => {
    const clientId = `${prefix}-${n}`;
    const clientSecret = secretOf(clientId);
    return { clientId, clientSecret, basic: `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}` };
  });

export const clients = clientsNamed("bench");
/** Agents that act for users by token exchange (RFC 8693). */
export const agents = clientsNamed("bench-agent");

/** What stands before the seed in the PKCS #8 form of an Ed25519 key (RFC 8410 §7). */
const ED25519_PKCS8 = Buffer.from("302e020100300506032b657004220420", "hex");

/** The key by which the clients of private_key_jwt prove themselves, the same in every process. */
export const assertionKey = createPrivateKey({
  key: Buffer.concat([ED25519_PKCS8, hash("sha256", "bench assertion key", "buffer")]),
  format: "der",
  type: "pkcs8",
});
export const assertionPublicKey = createPublicKey(assertionKey);

/** Clients that authenticate by private_key_jwt. */
export const assertingClients: readonly string[] = Array.from({ length: CLIENTS }, (_, n) => `bench-key-${n}`);

/** A resource server: it has tokens for itself, and asks about them. */
export const RESOURCE = "https://notes.bench.test/mcp";
export const resourceServer = { clientId: "bench-notes", clientSecret: secretOf("bench-notes") };

/** A user who is signed in and has agreed to every client. */
export interface BenchUser {
  readonly email: string;
  readonly sessionSecret: string;
}

/** The password of a user, by their address. */
export const passwordOf = (email: string): string => secretOf(`password of ${email}`);

export const users: readonly BenchUser[] = Array.from({ length: USERS }, (_, n) => {
  const email = `user-${n}@bench.test`;
  return { email, sessionSecret: secretOf(email) };
});

export const pick = <Item>(list: readonly Item[], n: number): Item => list[n % list.length] as Item;

/** One PKCE pair will do: what it costs to check is the same. */
export const codeVerifier = secretOf("code verifier");
export const codeChallenge = createHash("sha256").update(codeVerifier).digest("base64url");

/** The scenario as a provisioning file. */
export const PROVISION = {
  users: users.map(({ email }) => ({ email, password: passwordOf(email), emailVerified: true, firstName: "Ben" })),
  clients: [
    ...clients.map(({ clientId, clientSecret }) => ({
      clientId,
      clientSecret,
      name: clientId,
      tokenEndpointAuthMethod: "client_secret_basic",
      grantTypes: ["authorization_code", "refresh_token", "client_credentials"],
      scopes: SCOPE.split(" "),
      redirectUris: [REDIRECT_URI],
      environment: "production",
    })),
    ...agents.map(({ clientId, clientSecret }) => ({
      clientId,
      clientSecret,
      name: clientId,
      tokenEndpointAuthMethod: "client_secret_basic",
      grantTypes: [TOKEN_EXCHANGE],
      scopes: [OWN_SCOPE],
      redirectUris: [],
      isAgent: true,
      environment: "production",
    })),
    ...assertingClients.map((clientId) => ({
      clientId,
      name: clientId,
      tokenEndpointAuthMethod: "private_key_jwt",
      grantTypes: ["client_credentials"],
      scopes: [OWN_SCOPE],
      jwks: { keys: [{ ...assertionPublicKey.export({ format: "jwk" }), use: "sig", alg: "EdDSA" }] },
      redirectUris: [],
      environment: "production",
    })),
    {
      ...resourceServer,
      name: "Notes",
      tokenEndpointAuthMethod: "client_secret_basic",
      grantTypes: ["client_credentials"],
      scopes: [OWN_SCOPE],
      audience: [RESOURCE],
      redirectUris: [],
      environment: "production",
    },
  ],
};
