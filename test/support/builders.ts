import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Branding } from "../../src/branding/branding.ts";
import type { Client } from "../../src/clients/client.ts";
import type { FamilyState } from "../../src/core/ports.ts";
import type { CodeState, Subject, TokenState } from "../../src/core/stored-grants.ts";
import { accessTokenClaims } from "../../src/core/tokens/access-token.ts";
import { Refusal } from "../../src/errors.ts";
import {
  AuthorizationCodeGrantSchema,
  ClientCredentialsGrantSchema,
  RefreshTokenGrantSchema,
  TokenExchangeGrantSchema,
} from "../../src/gen/countersign/token/v1/token_pb.ts";
import { hashSecret } from "../../src/random.ts";
import type { ResourceTerms } from "../../src/resources/resource.ts";

/** RFC 7636 appendix B. */
export const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
export const CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

/** Brandings of a deployment whose realms have none. */
export const aBrandings = (branding: Branding = {}) => ({
  of: () => branding,
  all: () => [branding],
  current: async () => [branding],
  refresh: async () => {},
});

/** Claims of an access token that a client got in its own name. */
export const clientTokenClaims = (issuer: string) =>
  accessTokenClaims({
    ...{ issuer, subject: "client", clientId: "client", audience: ["client"] },
    ...{ scopes: [], jti: "x", now: 1000, lifetime: 900 },
  });

export const aClient = (members: Partial<Client> = {}): Client => ({
  id: "01900000-0000-7000-8000-000000000001",
  clientId: "notes-app",
  realmId: "01900000-0000-7000-8000-000000000002",
  ownerId: null,
  origin: "operator",
  name: "Notes",
  description: null,
  redirectUris: ["https://notes.example.test/cb"],
  postLogoutRedirectUris: [],
  backchannelLogoutUri: null,
  backchannelLogoutSessionRequired: false,
  scopes: ["openid", "profile", "email", "notes:read", "notes:write"],
  grantTypes: ["authorization_code", "refresh_token", "client_credentials"],
  responseTypes: ["code"],
  tokenEndpointAuthMethod: "client_secret_basic",
  secretHash: hashSecret("the-secret"),
  enabled: true,
  environment: "production",
  isAgent: false,
  dpopBoundAccessTokens: false,
  requirePushedAuthorizationRequests: false,
  securityProfile: null,
  maxAgentMode: null,
  audience: null,
  jwks: null,
  jwksUri: null,
  createdAt: 1000,
  updatedAt: null,
  lastUsedAt: null,
  ...members,
});

export const aSubject = (members: Partial<Subject> = {}): Subject => ({
  userId: "01900000-0000-7000-8000-00000000000a",
  enabled: true,
  email: "ada@example.test",
  emailVerified: true,
  firstName: "Ada",
  lastName: "Lovelace",
  ...members,
});

export const someTerms = (members: Partial<ResourceTerms> = {}): ResourceTerms => ({
  realmId: aClient().realmId,
  resource: "https://notes.example.test/mcp",
  clients: ["registered", "document", "named"],
  accessTokenLifetime: null,
  enabled: true,
  scopeNames: [],
  ...members,
});

export const aCode = (members: Partial<CodeState> = {}): CodeState => ({
  clientId: "notes-app",
  redirectUri: "https://notes.example.test/cb",
  codeChallenge: CHALLENGE,
  scopes: ["openid", "notes:read"],
  resources: ["https://notes.example.test/mcp", "https://mail.example.test/mcp"],
  nonce: null,
  userId: aSubject().userId,
  sessionId: "01900000-0000-7000-8000-00000000000b",
  authTime: 900,
  expiresAt: 1060,
  grantId: null,
  subject: aSubject(),
  agentPaused: false,
  resourceTerms: [],
  now: 1000,
  ...members,
});

export const aFamily = (members: Partial<FamilyState> = {}): FamilyState => ({
  familyId: "01900000-0000-7000-8000-00000000000c",
  grantId: "01900000-0000-7000-8000-00000000000d",
  clientId: "notes-app",
  subject: aSubject(),
  agentPaused: false,
  scopes: ["openid", "notes:read", "notes:write"],
  audience: ["https://notes.example.test/mcp", "https://mail.example.test/mcp"],
  absentClients: [],
  resourceTerms: [],
  authTime: 900,
  expiresAt: 5000,
  cnf: null,
  revoked: false,
  currentHash: hashSecret("current"),
  usedAt: null,
  now: 1000,
  ...members,
});

/** The state of a user's token that is valid. */
export const aTokenState = (members: Partial<TokenState> = {}): TokenState => ({
  now: 1000,
  revoked: false,
  agentPaused: false,
  grantLives: true,
  clientEnabled: true,
  subject: { ...aSubject(), role: "developer" },
  root: { grantId: "01900000-0000-7000-8000-00000000000d", authTime: 900, signedOut: false },
  ...members,
});

export const exchangeGrant = (members: MessageInitShape<typeof TokenExchangeGrantSchema> = {}) =>
  create(TokenExchangeGrantSchema, {
    subjectToken: "subject",
    subjectTokenType: "urn:ietf:params:oauth:token-type:access_token",
    ...members,
  });

export const codeGrant = (members: { codeVerifier?: string; redirectUri?: string; resource?: string[] } = {}) =>
  create(AuthorizationCodeGrantSchema, { code: "code", redirectUri: "https://notes.example.test/cb", codeVerifier: VERIFIER, ...members });

export const refreshGrant = (members: { scope?: string; resource?: string[] } = {}) =>
  create(RefreshTokenGrantSchema, { refreshToken: "a".repeat(64), ...members });

export const clientGrant = (members: { scope?: string; resource?: string[] } = {}) => create(ClientCredentialsGrantSchema, members);

/** What a decision gives, or the public code and private reason of its refusal. */
export function outcomeOf<Given>(decide: () => Given): Given | readonly [string, string] {
  try {
    return decide();
  } catch (error) {
    const { code, reason } = error as { code: string; reason: string };
    return [code, reason];
  }
}

/** The same, without what it gives. */
export const refusalOf = (decide: () => unknown): readonly [string, string] | "granted" =>
  outcomeOf(() => {
    decide();
    return "granted" as const;
  });

/** The public description of a decision's refusal; undefined for a bare one. */
export function descriptionOf(decide: () => unknown): string | undefined {
  try {
    decide();
  } catch (error) {
    return (error as Refusal).detail.description;
  }
  throw new Error("nothing was refused");
}

/** The same as one string, for tables; `accepted` where nothing is refused, and the text of any other error. */
export function refusalText(run: () => unknown): string {
  try {
    run();
    return "accepted";
  } catch (error) {
    return error instanceof Refusal ? `${error.code} ${error.reason}` : String(error);
  }
}
