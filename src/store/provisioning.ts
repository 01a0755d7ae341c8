import type { AuditActor } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { Provisioner } from "../management/ports.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { hashSecret } from "../secret.ts";
import { endSignIns } from "./sessions.ts";
import { hex, type Sql, statement } from "./sql.ts";
import { emailKey } from "./user-rows.ts";

type Tx = Pick<Sql, "query">;
type Outcome = "created" | "changed" | "unchanged";
/** Who acts where a file is applied without anybody asking: at start, or by the command line on the spot. */
const PROVISIONING: AuditActor = { type: "service", id: "provisioning" };

type FileUser = ProvisionFile["users"][number];
type FileClient = ProvisionFile["clients"][number];

/** Several processes may start with the same file at once: one after the other. */
const oneAtATime = statement("provision_lock", "select pg_advisory_xact_lock(7226471) is null as locked");

const upsertRealm = statement(
  "provision_realm",
  `with before as (select dynamic_registration_scopes as scopes from realms where name = $1),
     written as (
       insert into realms (name, dynamic_registration_scopes) values ($1, $2::text[])
       on conflict (name) do update set dynamic_registration_scopes = coalesce($2::text[], realms.dynamic_registration_scopes)
       returning dynamic_registration_scopes as scopes)
   select case when not exists (select from before) then 'created'
     when (select scopes from before) is distinct from scopes then 'changed' else 'unchanged' end as outcome
   from written`,
);

interface AccountRow {
  readonly id: string;
  readonly email_verified: boolean;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly role: string;
  readonly password_hash: string | null;
}

const accountOf = statement(
  "provision_account",
  `select u.id::text as id, u.email_verified, u.first_name, u.last_name, u.role, c.password_hash
   from users u left join credentials c on c.user_id = u.id and c.type = 'password' where u.email_key = $1`,
);

/** @param actor where the parameters of the actor begin: its type, then its id */
const recordPerson = (actor: number): string =>
  `insert into audit_records (event, outcome, actor_type, actor_id, user_id)
   select 'user.provisioned', 'success', $${actor}, $${actor + 1}, id::text from person`;

const insertUser = statement(
  "provision_insert_user",
  `with person as (
     insert into users (realm_id, email, email_key, email_verified, first_name, last_name, role)
     select id, $1, $7, $2::boolean, $3, $4, $5 from realms where name = 'default' returning id),
   secret as (insert into credentials (user_id, type, password_hash) select id, 'password', $6 from person)
   ${recordPerson(8)}`,
);

const updateUser = statement(
  "provision_update_user",
  `with person as (
     update users set email_verified = $2::boolean, first_name = $3, last_name = $4, role = $5, updated_at = now() where id = $1::uuid returning id)
   ${recordPerson(6)}`,
);

const replacePassword = statement(
  "provision_password",
  `insert into credentials (user_id, type, password_hash) values ($1::uuid, 'password', $2)
   on conflict (user_id, type) do update set
     password_hash = excluded.password_hash, generation = credentials.generation + 1, updated_at = now()`,
);

/** What of a client the file can say: column, type, and how it is read and written. */
const CLIENT_COLUMNS = {
  name: "text",
  description: "text",
  redirect_uris: "text[]",
  scopes: "text[]",
  grant_types: "text[]",
  response_types: "text[]",
  token_endpoint_auth_method: "text",
  secret_hash: "text",
  enabled: "boolean",
  environment: "text",
  is_agent: "boolean",
  max_agent_mode: "text",
  audience: "text[]",
  jwks: "jsonb",
  jwks_uri: "text",
  owner_id: "uuid",
} as const;
type Column = keyof typeof CLIENT_COLUMNS;
type ClientColumns = Record<Column, unknown>;
const COLUMNS = Object.keys(CLIENT_COLUMNS) as readonly Column[];

const readColumn = (column: Column): string => {
  if (column === "secret_hash") return "encode(secret_hash, 'hex') as secret_hash";
  return column === "owner_id" ? "owner_id::text as owner_id" : column;
};
const given = (column: Column): string => (column === "secret_hash" ? "decode(f.secret_hash, 'hex')" : `f.${column}`);
const asRecord = `jsonb_to_record($2::jsonb) as f(${COLUMNS.map((column) => `${column} ${CLIENT_COLUMNS[column]}`).join(", ")})`;

const clientOf = statement("provision_client", `select ${COLUMNS.map(readColumn).join(", ")} from clients where client_id = $1 for update`);

const recordClient = (event: string): string =>
  `insert into audit_records (event, outcome, actor_type, actor_id, client_id)
   select '${event}', 'success', $3, $4, client_id from done`;

const insertClient = statement(
  "provision_insert_client",
  `with done as (
     insert into clients (client_id, realm_id, origin, ${COLUMNS.join(", ")})
     select $1, r.id, 'operator', ${COLUMNS.map(given).join(", ")} from realms r, ${asRecord} where r.name = 'default' returning client_id)
   ${recordClient("client.registered")}`,
);

const updateClient = statement(
  "provision_update_client",
  `with done as (
     update clients set ${COLUMNS.map((column) => `${column} = ${given(column)}`).join(", ")}, updated_at = now()
     from ${asRecord} where client_id = $1 returning client_id)
   ${recordClient("client.changed")}`,
);

const NEW_CLIENT: ClientColumns = {
  name: "",
  description: null,
  redirect_uris: [],
  scopes: [],
  grant_types: [],
  response_types: [],
  token_endpoint_auth_method: "none",
  secret_hash: null,
  enabled: true,
  environment: null,
  is_agent: false,
  max_agent_mode: null,
  audience: null,
  jwks: null,
  jwks_uri: null,
  owner_id: null,
};

const isObject = (value: unknown): value is object => typeof value === "object" && value !== null && !Array.isArray(value);

/** The same text for the same value, in whatever order the database gives an object's members back. */
const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, each: unknown) =>
    isObject(each) ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))) : each,
  );

/** The client as it is to be: what the file leaves out stays as it was. */
function mergedClient(client: FileClient, ownerId: string | null | undefined, before: ClientColumns): ClientColumns {
  const secretMethod = client.tokenEndpointAuthMethod.startsWith("client_secret");
  const said: Record<Column, unknown> = {
    name: client.name,
    description: client.description,
    redirect_uris: client.redirectUris,
    scopes: client.scopes,
    grant_types: client.grantTypes,
    response_types: client.responseTypes ?? (client.grantTypes.includes("authorization_code") ? ["code"] : []),
    token_endpoint_auth_method: client.tokenEndpointAuthMethod,
    secret_hash: secretMethod ? client.clientSecret && hex(hashSecret(client.clientSecret)) : null,
    enabled: client.enabled,
    environment: client.environment,
    is_agent: client.isAgent,
    max_agent_mode: client.maxAgentMode,
    audience: client.audience,
    jwks: client.jwks,
    jwks_uri: client.jwksUri,
    owner_id: ownerId,
  };
  return { ...before, ...Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)) };
}

async function ownerOf(email: string | null | undefined, tx: Tx): Promise<string | null | undefined> {
  if (email === null || email === undefined) return email;
  const [owner] = await tx.query<AccountRow>(accountOf, [emailKey(email)]);
  if (owner === undefined) throw new Refusal("invalid_request", "owner_unknown", { description: "an ownerEmail belongs to nobody" });
  return owner.id;
}

async function applyClient(client: FileClient, actor: AuditActor, tx: Tx): Promise<Outcome> {
  const [before] = await tx.query<ClientColumns>(clientOf, [client.clientId]);
  const after = mergedClient(client, await ownerOf(client.ownerEmail, tx), before ?? NEW_CLIENT);
  if (before !== undefined && canonical(before) === canonical(after)) return "unchanged";
  await tx.query(before === undefined ? insertClient : updateClient, [client.clientId, JSON.stringify(after), actor.type, actor.id]);
  return before === undefined ? "created" : "changed";
}

/** A user of the file with the password hash to be stored, or none where the stored one holds. */
interface PreparedUser {
  readonly user: FileUser;
  readonly passwordHash: string | undefined;
}

async function applyUser({ user, passwordHash }: PreparedUser, actor: AuditActor, tx: Tx): Promise<Outcome> {
  const [before] = await tx.query<AccountRow>(accountOf, [emailKey(user.email)]);
  const verified = user.emailVerified ?? before?.email_verified ?? false;
  const firstName = user.firstName === undefined ? (before?.first_name ?? null) : user.firstName;
  const lastName = user.lastName === undefined ? (before?.last_name ?? null) : user.lastName;
  const role = user.role ?? before?.role ?? "developer";
  if (before === undefined) {
    if (passwordHash === undefined) throw new Refusal("temporarily_unavailable", "account_deleted_meanwhile", { retryAfter: 1 });
    const person = [user.email, verified, firstName, lastName, role, passwordHash, emailKey(user.email)];
    await tx.query(insertUser, [...person, actor.type, actor.id]);
    return "created";
  }
  const same =
    before.email_verified === verified && before.first_name === firstName && before.last_name === lastName && before.role === role;
  if (!same) await tx.query(updateUser, [before.id, verified, firstName, lastName, role, actor.type, actor.id]);
  if (passwordHash !== undefined) {
    await tx.query(replacePassword, [before.id, passwordHash]);
    await endSignIns(tx, before.id); // a new password ends what the old one opened
  }
  return same && passwordHash === undefined ? "unchanged" : "changed";
}

/** What provisioning needs of password hashing. */
export interface ProvisioningPasswords {
  hash(password: string): Promise<string>;
  verify(hash: string | null | undefined, password: string): Promise<{ readonly kind: string }>;
}

export function provisioner(sql: Sql, passwords: ProvisioningPasswords): Provisioner {
  /** Hashing takes its time, so it is done before the transaction begins. */
  async function prepare(user: FileUser): Promise<PreparedUser> {
    const [before] = await sql.query<AccountRow>(accountOf, [emailKey(user.email)]);
    const holds = before?.password_hash != null && (await passwords.verify(before.password_hash, user.password)).kind !== "wrong";
    return { user, passwordHash: holds ? undefined : await passwords.hash(user.password) };
  }

  return {
    async apply(file, actor = PROVISIONING) {
      const users: PreparedUser[] = [];
      for (const user of file.users) users.push(await prepare(user));
      return sql.transaction(async (tx) => {
        await tx.query(oneAtATime, []);
        const realms: Outcome[] = [];
        for (const { name, dynamicRegistrationScopes } of file.realms) {
          const [row] = await tx.query<{ outcome: Outcome }>(upsertRealm, [name, dynamicRegistrationScopes ?? null]);
          realms.push(row?.outcome ?? "unchanged");
        }
        const people: Outcome[] = [];
        for (const user of users) people.push(await applyUser(user, actor, tx));
        const clients: Outcome[] = [];
        for (const client of file.clients) clients.push(await applyClient(client, actor, tx));
        return { realms: count(realms), users: count(people), clients: count(clients) };
      });
    },
  };
}

const count = (outcomes: readonly Outcome[]) => {
  const of = (wanted: Outcome): number => outcomes.filter((outcome) => outcome === wanted).length;
  return { created: of("created"), changed: of("changed"), unchanged: of("unchanged") };
};
