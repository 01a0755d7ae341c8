import type { Role, User } from "../accounts/ports.ts";
import { preciseSeconds } from "./sql.ts";

export interface UserColumns {
  readonly id: string;
  readonly email: string;
  readonly email_verified: boolean;
  readonly realm_id: string;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly role: Role;
  readonly enabled: boolean;
  readonly created_at: number;
  readonly updated_at: number | null;
}

/** What to select for userOf. @param table `users`, its alias, or a CTE that returns its rows */
export const userColumns = (table: string): string =>
  `${table}.id::text, ${table}.email, ${table}.email_verified, ${table}.realm_id::text, ${table}.first_name, ${table}.last_name, ${table}.role,
   ${table}.enabled, ${preciseSeconds(`${table}.created_at`)} as created_at, ${preciseSeconds(`${table}.updated_at`)} as updated_at`;

export const userOf = (row: UserColumns): User => ({
  id: row.id,
  email: row.email,
  emailVerified: row.email_verified,
  realmId: row.realm_id,
  firstName: row.first_name,
  lastName: row.last_name,
  role: row.role,
  enabled: row.enabled,
  createdAt: row.created_at,
  updatedAt: row.updated_at,
});

/**
 * The spelling by which addresses are compared: without regard to case, and to how an accent is composed. Computed here and not by the
 * database, whose lower() depends on its locale.
 */
export const emailKey = (email: string): string => email.normalize("NFC").toLowerCase();
