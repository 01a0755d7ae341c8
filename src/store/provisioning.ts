import { type AuditActor, type AuditEntry, realmUri } from "../audit.ts";
import { isRefusal, Refusal } from "../errors.ts";
import type { Provisioner } from "../management/ports.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { auditRow, insertAudit } from "./audit-rows.ts";
import { applyClient } from "./provisioned-clients.ts";
import { describeScope } from "./scope-descriptions.ts";
import { endSignIns } from "./sessions.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";
import { emailKey } from "./user-rows.ts";

type Tx = Pick<Sql, "query">;
type Outcome = "created" | "changed" | "unchanged";
/** Who acts where a file is applied without anybody asking: at start, or by the command line on the spot. */
const PROVISIONING: AuditActor = { type: "service", id: "provisioning" };

type FileRealm = ProvisionFile["realms"][number];
type FileUser = ProvisionFile["users"][number];
type FileClient = ProvisionFile["clients"][number];
type FileScope = ProvisionFile["scopes"][number];

/** Several processes may start with the same file at once: one after the other. */
const oneAtATime = statement("provision_lock", "select pg_advisory_xact_lock(7226471) is null as locked");

// Whoever is named is held before anything is changed, in the order in which others take more than one (decision 0021).
const holdUsers = statement(
  "provision_hold_people",
  "select 1 as one from users where email_key = any($1::text[]) order by id for no key update",
);
const holdClients = statement(
  "provision_hold_clients",
  "select 1 as one from clients where client_id = any($1::text[]) order by id for no key update",
);

const upsertRealm = statement(
  "provision_realm",
  `with before as (select dynamic_registration_scopes as scopes from realms where name = $1),
     written as (
       insert into realms (name, dynamic_registration_scopes) values ($1, $2::text[])
       on conflict (name) do update set dynamic_registration_scopes = coalesce($2::text[], realms.dynamic_registration_scopes)
       returning id, dynamic_registration_scopes as scopes)
   select id::text as id, case when not exists (select from before) then 'created'
     when (select scopes from before) is distinct from scopes then 'changed' else 'unchanged' end as outcome
   from written`,
);

/** For what has no record in its own statement. */
const RECORD = statement("provision_record", insertAudit("(select value as audit from jsonb_array_elements($1::jsonb)) as given"));
const record = (entry: AuditEntry, tx: Tx) => tx.query(RECORD, [jsonRows([auditRow(entry)])]);

async function applyRealm({ name, dynamicRegistrationScopes: scopes }: FileRealm, actor: AuditActor, tx: Tx): Promise<Outcome> {
  const [done] = await tx.query<{ id: string; outcome: Outcome }>(upsertRealm, [name, scopes ?? null]);
  if (done === undefined || done.outcome === "unchanged") return "unchanged";
  const told = { resources: [realmUri(done.id)], ...(scopes !== undefined && { scope: scopes.join(" ") }) };
  await record({ event: "realm.changed", outcome: "success", reason: done.outcome, actor, ...told }, tx);
  return done.outcome;
}

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

const insertUser = statement(
  "provision_insert_person",
  `with person as (
     insert into users (realm_id, email, email_key, email_verified, first_name, last_name, role)
     select id, $1, $7, $2::boolean, $3, $4, $5 from realms where name = 'default' returning id),
   secret as (insert into credentials (user_id, type, password_hash) select id, 'password', $6 from person)
   select id::text as id from person`,
);

const updateUser = statement(
  "provision_update_person",
  "update users set email_verified = $2::boolean, first_name = $3, last_name = $4, role = $5, updated_at = now() where id = $1::uuid",
);

const replacePassword = statement(
  "provision_password",
  `insert into credentials (user_id, type, password_hash) values ($1::uuid, 'password', $2)
   on conflict (user_id, type) do update set
     password_hash = excluded.password_hash, generation = credentials.generation + 1, updated_at = now()`,
);

interface Issue {
  readonly path: string;
  readonly message: string;
}

/** @returns undefined where the file leaves the owner out, null where it says that there is none, and false where there is no such person */
async function ownerOf(email: string | null | undefined, tx: Tx): Promise<string | null | undefined | false> {
  if (email === null || email === undefined) return email;
  const [owner] = await tx.query<AccountRow>(accountOf, [emailKey(email)]);
  return owner?.id ?? false;
}

/** What a refusal finds wrong with a client. Whatever else went wrong goes on its way. */
function issuesOf(error: unknown): readonly Issue[] {
  if (!isRefusal(error) || (error.code !== "invalid_request" && error.code !== "forbidden")) throw error;
  const { description = error.code, issues = [{ path: "", message: description }] } = error.detail;
  return issues;
}

/** All clients of the file; what is wrong with any of them is told together. @throws {Refusal} invalid_request */
async function applyClients(clients: readonly FileClient[], actor: AuditActor, tx: Tx): Promise<readonly Outcome[]> {
  const outcomes: Outcome[] = [];
  const issues: Issue[] = [];
  for (const [index, client] of clients.entries()) {
    const tell = ({ path, message }: Issue) => issues.push({ path: `clients.${index}${path && `.${path}`}`, message });
    const owner = await ownerOf(client.ownerEmail, tx);
    if (owner === false) tell({ path: "ownerEmail", message: "belongs to nobody" });
    try {
      outcomes.push(await applyClient(client, owner === false ? undefined : owner, actor, tx));
    } catch (error) {
      for (const issue of issuesOf(error)) tell(issue);
    }
  }
  if (issues.length > 0) throw new Refusal("invalid_request", "file_incoherent", { description: "The file cannot be applied.", issues });
  return outcomes;
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
  const provisioned = { event: "user.provisioned", outcome: "success", actor } as const;
  if (before === undefined) {
    if (passwordHash === undefined) throw new Refusal("temporarily_unavailable", "account_deleted_meanwhile", { retryAfter: 1 });
    const person = [user.email, verified, firstName, lastName, role, passwordHash, emailKey(user.email)];
    const [added] = await tx.query<{ id: string }>(insertUser, person);
    await record({ ...provisioned, reason: "created", ...(added && { userId: added.id }) }, tx);
    return "created";
  }
  const same =
    before.email_verified === verified && before.first_name === firstName && before.last_name === lastName && before.role === role;
  if (!same) await tx.query(updateUser, [before.id, verified, firstName, lastName, role]);
  if (passwordHash !== undefined) {
    await tx.query(replacePassword, [before.id, passwordHash]);
    await endSignIns(tx, before.id); // a new password ends what the old one opened
  }
  if (same && passwordHash === undefined) return "unchanged";
  await record({ ...provisioned, userId: before.id, reason: passwordHash === undefined ? "changed" : "password_replaced" }, tx);
  return "changed";
}

const realmNamed = statement("provision_realm_named", "select id::text as id from realms where name = $1");

async function applyScope({ realm, ...scope }: FileScope, index: number, actor: AuditActor, tx: Tx): Promise<Outcome> {
  const [named] = await tx.query<{ id: string }>(realmNamed, [realm ?? "default"]);
  const outcome = named && (await describeScope(tx, named.id, scope, { event: "scope.changed", outcome: "success", actor }));
  if (outcome === undefined) {
    const issues = [{ path: `scopes.${index}.realm`, message: "names no realm" }];
    throw new Refusal("invalid_request", "realm_unknown", { description: "The file cannot be applied.", issues });
  }
  return outcome;
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
        await tx.query(holdUsers, [file.users.map(({ email }) => emailKey(email))]);
        await tx.query(holdClients, [file.clients.map(({ clientId }) => clientId)]);
        const realms: Outcome[] = [];
        for (const realm of file.realms) realms.push(await applyRealm(realm, actor, tx));
        const people: Outcome[] = [];
        for (const user of users) people.push(await applyUser(user, actor, tx));
        const clients = await applyClients(file.clients, actor, tx);
        const scopes: Outcome[] = [];
        for (const [index, scope] of file.scopes.entries()) scopes.push(await applyScope(scope, index, actor, tx));
        const counts = { realms: count(realms), users: count(people), clients: count(clients) };
        return scopes.length === 0 ? counts : { ...counts, scopes: count(scopes) };
      });
    },
  };
}

const count = (outcomes: readonly Outcome[]) => {
  const of = (wanted: Outcome): number => outcomes.filter((outcome) => outcome === wanted).length;
  return { created: of("created"), changed: of("changed"), unchanged: of("unchanged") };
};
