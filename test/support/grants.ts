import type { Client } from "../../src/clients/client.ts";
import type { NewClient } from "../../src/clients/ports.ts";
import type { CodeBinding, NewFamily, NewGrant } from "../../src/core/stored-grants.ts";
import type { SecretHash } from "../../src/random.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { managedClients } from "../../src/store/clients.ts";
import { consents } from "../../src/store/consents.ts";
import { sessions } from "../../src/store/sessions.ts";
import type { Sql } from "../../src/store/sql.ts";
import { aHash, anAudit, anId, aUser, DEFAULT_REALM_ID } from "./accounts.ts";

export const aNewClient = (more: Partial<NewClient> = {}): NewClient => {
  const id = anId();
  return {
    id,
    clientId: `client-${id}`,
    realmId: DEFAULT_REALM_ID,
    ownerId: null,
    origin: "operator",
    name: "A client",
    description: null,
    redirectUris: ["https://client.example.test/cb"],
    postLogoutRedirectUris: [],
    backchannelLogoutUri: null,
    backchannelLogoutSessionRequired: false,
    scopes: ["openid", "crm:read", "crm:write"],
    grantTypes: ["authorization_code", "refresh_token"],
    responseTypes: ["code"],
    tokenEndpointAuthMethod: "none",
    secretHash: null,
    enabled: true,
    environment: null,
    isAgent: false,
    dpopBoundAccessTokens: false,
    requirePushedAuthorizationRequests: false,
    securityProfile: null,
    maxAgentMode: null,
    audience: null,
    jwks: null,
    jwksUri: null,
    ...more,
  };
};

export const aClient = (sql: Sql, more: Partial<NewClient> = {}): Promise<Client> =>
  managedClients(sql).register(aNewClient(more), anAudit("client.registered"));

/** A signed-in user who has consented to crm:read on one resource for a client. */
export interface Scene {
  readonly userId: string;
  readonly sessionId: string;
  readonly sessionHash: SecretHash;
  readonly clientId: string;
  readonly consentId: string;
}

export const RESOURCE = "https://crm.example.test/mcp";

export async function aScene(sql: Sql): Promise<Scene> {
  const [user, client] = [await aUser(sql), await aClient(sql)];
  const scene = { userId: user.id, sessionId: anId(), sessionHash: aHash(), clientId: client.clientId, consentId: anId() };
  await sessions(sql).start({ id: scene.sessionId, hash: scene.sessionHash, userId: user.id, ttl: 3_600 }, anAudit("session.started"));
  const consent = {
    id: scene.consentId,
    userId: user.id,
    clientId: client.clientId,
    clientName: client.name,
    scopes: ["crm:read"],
    resources: [RESOURCE],
    sessionId: scene.sessionId,
  };
  await consents(sql).give(consent, anAudit("consent.given"));
  return scene;
}

export const aBinding = (scene: Scene, more: Partial<CodeBinding> = {}): CodeBinding => ({
  clientId: scene.clientId,
  redirectUri: "https://client.example.test/cb",
  codeChallenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
  scopes: ["crm:read"],
  resources: [RESOURCE],
  nonce: null,
  userId: scene.userId,
  sessionId: scene.sessionId,
  authTime: 1_790_000_000,
  ...more,
});

export const aGrant = (scene: Scene, more: Partial<NewGrant> = {}): NewGrant => ({
  id: anId(),
  clientId: scene.clientId,
  userId: scene.userId,
  scopes: ["crm:read"],
  audience: [RESOURCE],
  authTime: 1_790_000_000,
  ...more,
});

export const aFamily = (more: Partial<NewFamily> = {}): NewFamily => ({
  id: anId(),
  tokenHash: aHash(),
  ttl: 3_600,
  maxAge: 86_400,
  ...more,
});

export async function aCode(sql: Sql, scene: Scene): Promise<SecretHash> {
  const code = aHash();
  if (!(await authorizationCodes(sql).issue(code, aBinding(scene), 60, anAudit("code.issued")))) throw new Error("no code was issued");
  return code;
}

/** A redeemed code: its grant and refresh family, with the hash of the current token. */
export async function anOpenFamily(sql: Sql, scene: Scene, more: Partial<NewFamily> = {}) {
  const [grant, family] = [aGrant(scene), aFamily(more)];
  const won = await authorizationCodes(sql).redeem(await aCode(sql, scene), grant, family, anAudit("token.issued"));
  if (!won) throw new Error("the code was not redeemed");
  return { grant, family };
}
