import type { AuditActor } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { record } from "./audit-rows.ts";
import { endSignIns } from "./session-revocation.ts";
import { type Sql, statement } from "./sql.ts";
import { endUnproven } from "./unproven-accounts.ts";
import { emailKey } from "./user-rows.ts";

type Tx = Pick<Sql, "query">;
type FileUser = ProvisionFile["users"][number];
export type Outcome = "created" | "changed" | "unchanged";

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

/** A user of the file with the password hash to be stored, or none where the stored one holds. */
export interface PreparedUser {
  readonly user: FileUser;
  readonly passwordHash: string | undefined;
}

/** What provisioning needs of password hashing. */
export interface ProvisioningPasswords {
  hash(password: string, turn: string): Promise<string>;
  verify(hash: string | null | undefined, password: string, turn: string): Promise<{ readonly kind: string }>;
}

/** Files of operators take their turn beside the network addresses of others. */
const TURN = "provisioning";

/** Hashing takes its time, so it is done before the transaction begins. */
export async function prepareUser(sql: Tx, passwords: ProvisioningPasswords, user: FileUser): Promise<PreparedUser> {
  const [before] = await sql.query<AccountRow>(accountOf, [emailKey(user.email)]);
  const holds = before?.password_hash != null && (await passwords.verify(before.password_hash, user.password, TURN)).kind !== "wrong";
  return { user, passwordHash: holds ? undefined : await passwords.hash(user.password, TURN) };
}

/** Brings one person to what the file says. @throws {Refusal} temporarily_unavailable for an account that was deleted meanwhile */
export async function applyUser({ user, passwordHash }: PreparedUser, actor: AuditActor, tx: Tx): Promise<Outcome> {
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
    await record(tx, { ...provisioned, reason: "created", ...(added && { userId: added.id }) });
    return "created";
  }
  const same =
    before.email_verified === verified && before.first_name === firstName && before.last_name === lastName && before.role === role;
  if (verified && !before.email_verified) await endUnproven(tx, before.id); // the file proves the address
  if (!same) await tx.query(updateUser, [before.id, verified, firstName, lastName, role]);
  if (passwordHash !== undefined) {
    await tx.query(replacePassword, [before.id, passwordHash]);
    await endSignIns(tx, before.id); // a new password ends what the old one opened
  }
  if (same && passwordHash === undefined) return "unchanged";
  await record(tx, { ...provisioned, userId: before.id, reason: passwordHash === undefined ? "changed" : "password_replaced" });
  return "changed";
}
