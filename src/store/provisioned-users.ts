import type { User } from "../accounts/ports.ts";
import { type AuditActor, realmUri } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { ProvisionFile } from "../management/provision.ts";
import { merged } from "../merged.ts";
import { record } from "./audit-log.ts";
import { SET_PASSWORD } from "./password-changes.ts";
import { endSignIns, endUnproven } from "./session-revocation.ts";
import { statements, type Tx } from "./sql.ts";
import { USERS } from "./tables/accounts.ts";
import { emailKey, NEWCOMER, openAccounts, openedIn } from "./users.ts";

type FileUser = ProvisionFile["users"][number];
export type Outcome = "created" | "changed" | "unchanged";

type AccountRow = Pick<User, (typeof ACCOUNT)[number]> & { readonly passwordHash: string | null };

const ACCOUNT = ["id", "emailVerified", "firstName", "lastName", "role", "realmId"] as const;

const SQL = statements("provision", {
  account: `select ${USERS.select(ACCOUNT)}, password_hash as "passwordHash"
   from users left join credentials on credentials.user_id = users.id and credentials.type = 'password' where email_key = $1`,
  updateUser:
    "update users set email_verified = $2::boolean, first_name = $3, last_name = $4, role = $5, realm_id = $6::uuid, updated_at = now() where id = $1::uuid",
});

/** A user of the file, with the hash that was stored, and the one to store; undefined where the stored one matches. */
export type PreparedUser = { readonly user: FileUser; readonly stored: string | null; readonly passwordHash: string | undefined };

/** The password was changed since the user was prepared. */
export class Overtaken extends Error {
  override readonly name = "Overtaken";
}

export interface ProvisioningPasswords {
  hash(password: string, turn: string): Promise<string>;
  verify(hash: string | null | undefined, password: string, turn: string): Promise<{ readonly kind: string }>;
}

/** The turn of provisioning in the queue for password hashing; others have that of their network address. */
const TURN = "provisioning";

/** Hashes before the transaction begins, since hashing takes long. */
export async function prepareUser(sql: Tx, passwords: ProvisioningPasswords, user: FileUser): Promise<PreparedUser> {
  const [before] = await sql.query<AccountRow>(SQL.account, [emailKey(user.email)]);
  const stored = before?.passwordHash ?? null;
  const isCurrent = stored !== null && (await passwords.verify(stored, user.password, TURN)).kind !== "wrong";
  return { user, stored, passwordHash: isCurrent ? undefined : await passwords.hash(user.password, TURN) };
}

/**
 * Creates or changes a user of the file.
 * @param named the realm of the file; undefined: the user's own, or the default one
 * @throws {Overtaken}  @throws {Refusal} temporarily_unavailable for an account that its user just opened
 */
export async function applyUser(
  { user, stored, passwordHash }: PreparedUser,
  named: string | undefined,
  actor: AuditActor,
  tx: Tx,
): Promise<Outcome> {
  const [before] = await tx.query<AccountRow>(SQL.account, [emailKey(user.email)]);
  if ((before?.passwordHash ?? null) !== stored) throw new Overtaken();
  const { email, password: _, realm: __, ...stated } = user;
  const { emailVerified, firstName, lastName, role } = merged(before ?? NEWCOMER, stated);
  const provisioned = { event: "user.provisioned", outcome: "success", actor } as const;
  if (before === undefined) {
    const [added] = await openAccounts(tx, [{ email, emailVerified, firstName, lastName, role, realmId: named, passwordHash }]);
    if (added === undefined) throw new Refusal("temporarily_unavailable", "account_just_opened", { retryAfter: 1 });
    await record(tx, openedIn(added, { ...provisioned, reason: "created", userId: added.id }));
    return "created";
  }
  const realmId = named ?? before.realmId;
  const moved = realmId !== before.realmId && { resources: [realmUri(realmId)] };
  const renamed = before.firstName !== firstName || before.lastName !== lastName;
  const same = !(moved || renamed || before.emailVerified !== emailVerified || before.role !== role);
  if (passwordHash !== undefined) await tx.query(SET_PASSWORD, [before.id, passwordHash]); // before sessions, as a sign-in locks them
  if (emailVerified && !before.emailVerified) await endUnproven(tx, before.id); // the file verifies the address
  if (!same) await tx.query(SQL.updateUser, [before.id, emailVerified, firstName, lastName, role, realmId]);
  if (passwordHash !== undefined) await endSignIns(tx, before.id); // a new password ends sessions of the old one
  if (same && passwordHash === undefined) return "unchanged";
  const reason = passwordHash === undefined ? "changed" : "password_replaced";
  await record(tx, { ...provisioned, ...moved, userId: before.id, reason });
  return "changed";
}
