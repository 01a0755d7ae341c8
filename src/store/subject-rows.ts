import type { Role } from "../accounts/ports.ts";
import type { Subject } from "../core/token-state.ts";

export interface SubjectColumns {
  readonly user_id: string;
  readonly user_enabled: boolean;
  readonly email: string;
  readonly email_verified: boolean;
  readonly first_name: string | null;
  readonly last_name: string | null;
  readonly role: Role;
}

/** What to select for subjectOf. @param users `users` or its alias */
export const subjectColumns = (users: string): string =>
  `${users}.id::text as user_id, ${users}.enabled as user_enabled, ${users}.email, ${users}.email_verified, ${users}.first_name,
   ${users}.last_name, ${users}.role`;

export const subjectOf = (row: SubjectColumns): Subject & { readonly role: Role } => ({
  userId: row.user_id,
  enabled: row.user_enabled,
  email: row.email,
  emailVerified: row.email_verified,
  firstName: row.first_name,
  lastName: row.last_name,
  role: row.role,
});
