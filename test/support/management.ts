import { randomBytes } from "node:crypto";
import { Refusal } from "../../src/errors.ts";
import { clientApiRoutes } from "../../src/front/api/clients.ts";
import { bearersOf } from "../../src/front/api/context.ts";
import { trpcRoutes } from "../../src/front/api/trpc.ts";
import { AccessTokenUse } from "../../src/gen/countersign/token/v1/token_pb.ts";
import { newId } from "../../src/identifier.ts";
import type { ManagementPorts } from "../../src/management/ports.ts";
import { hashSecret } from "../../src/secret.ts";
import { apiKeyDirectory, apiKeys } from "../../src/store/api-keys.ts";
import { auditTrail } from "../../src/store/audit-trail.ts";
import { managedClients } from "../../src/store/clients-admin.ts";
import type { Database } from "../../src/store/orm.ts";
import { publishedKeys } from "../../src/store/published-keys.ts";
import { managedRealms } from "../../src/store/realms-admin.ts";
import { statement } from "../../src/store/sql.ts";
import { users } from "../../src/store/users.ts";
import { managedUsers } from "../../src/store/users-admin.ts";
import { freshEmbedded } from "./database.ts";
import { coreWith } from "./fake-core.ts";
import { ISSUER, startFront, type TestFront } from "./front.ts";

export const DEFAULT_REALM = "00000000-0000-7000-8000-000000000001";
export const clock = (): number => Math.floor(Date.now() / 1000);
export const aNewId = (): string => newId(clock, randomBytes);

/** A person in the database, who may then be signed in by name. */
export async function addUser(database: Database, email: string, role: "developer" | "operator" = "developer"): Promise<string> {
  const user = {
    id: aNewId(),
    email,
    realmId: DEFAULT_REALM,
    firstName: null,
    lastName: null,
    role,
    emailVerified: true,
    passwordHash: "x",
  };
  const hash = hashSecret(email);
  const mail = { to: email, subject: "", text: "", html: "" };
  const audit = { event: "user.registered", outcome: "success", actor: { type: "user", id: user.id } } as const;
  await users(database.sql).register(user, { tokenHash: hash, ttl: 60 }, mail, audit);
  return user.id;
}

/** A core that knows the bearers of a test: the token of a person is her id, of an operator `op:` and her id. */
const coreOfPeople = () =>
  coreWith({
    verifyAccessToken: async ({ accessToken, use }) => {
      const [, operator, sub] = /^(op\.)?([0-9a-f-]{36})$/.exec(accessToken) ?? [];
      if (use !== AccessTokenUse.MANAGEMENT || sub === undefined) throw new Refusal("invalid_token", "not_an_access_token");
      return { sub, clientId: "countersign", scopes: [], role: operator === undefined ? "developer" : "operator" };
    },
  });

export interface ManagementFront extends TestFront {
  readonly database: Database;
  readonly ports: ManagementPorts;
  /** One request of a person; the body is sent as JSON. */
  call(bearer: string | undefined, method: string, path: string, body?: unknown): Promise<Response>;
}

/** The management API over HTTP on a database of its own. */
export async function startManagement(members: Partial<ManagementPorts> = {}): Promise<ManagementFront> {
  const database = await freshEmbedded();
  const ports = { ...managementPorts(database), ...members };
  const front = await frontOf(ports);
  return {
    ...front,
    database,
    ports,
    call: (bearer, method, path, body) => callFront(front.url, bearer, method, path, body),
    close: async () => {
      await front.close();
      await database.close();
    },
  };
}

export const callFront = (url: string, bearer: string | undefined, method: string, path: string, body?: unknown): Promise<Response> =>
  fetch(`${url}${path}`, {
    method,
    headers: {
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });

export const frontOf = (ports: ManagementPorts): Promise<TestFront> => {
  const faults: unknown[] = [];
  const options = { issuer: ISSUER, ports, fault: ({ error }: { error: unknown }) => void faults.push(error) };
  return startFront({ groups: [clientApiRoutes(options), trpcRoutes(options)] }).then((front) => ({ ...front, faults }));
};

export function managementPorts({ sql }: Database): ManagementPorts {
  return {
    bearers: bearersOf(coreOfPeople()),
    registry: registryOf(sql),
    clients: managedClients(sql),
    apiKeys: apiKeys(sql),
    apiKeyDirectory: apiKeyDirectory(sql),
    users: managedUsers(sql),
    realms: { default: async () => ({ id: DEFAULT_REALM, name: "default", dynamicRegistrationScopes: null }) },
    managedRealms: managedRealms(sql),
    publishedKeys: publishedKeys(sql),
    auditTrail: auditTrail(sql),
    provisioner: {
      apply: async ({ realms, users, clients }) => ({ realms: realms.length, users: users.length, clients: clients.length }),
    },
    clock,
    randomBytes,
    defaultEnvironment: "development",
  };
}

const INSERT = statement(
  "test_client_insert",
  `insert into clients (id, client_id, realm_id, owner_id, origin, name, description, redirect_uris, scopes, grant_types, response_types,
     token_endpoint_auth_method, secret_hash, enabled, environment, is_agent, max_agent_mode, audience, jwks, jwks_uri)
   select id, client_id, realm_id, owner_id, origin, name, description, redirect_uris, scopes, grant_types, response_types,
     token_endpoint_auth_method, decode(secret_hash, 'hex'), enabled, environment, is_agent, max_agent_mode, audience, jwks, jwks_uri
   from jsonb_to_record($1::jsonb) as i(id uuid, client_id text, realm_id uuid, owner_id uuid, origin text, name text, description text,
     redirect_uris text[], scopes text[], grant_types text[], response_types text[], token_endpoint_auth_method text, secret_hash text,
     enabled boolean, environment text, is_agent boolean, max_agent_mode text, audience text[], jwks jsonb, jwks_uri text)`,
);

const registryOf = (sql: Database["sql"]): ManagementPorts["registry"] => ({
  register: async (client, _audit) => {
    const snake = Object.fromEntries(
      Object.entries(client).map(([name, value]) => [name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value]),
    );
    const secret_hash = client.secretHash === null ? null : Buffer.from(client.secretHash).toString("hex");
    await sql.query(INSERT, [JSON.stringify({ ...snake, secret_hash })]);
    const stored = await managedClients(sql).byId(client.id, { kind: "all" });
    if (stored === undefined) throw new Error("the client is not there");
    return stored;
  },
});
