import type { User, Users } from "../accounts/ports.ts";
import { isUuid } from "../identifier.ts";
import { auditRow, entriesIn, insertAudit } from "./audit-rows.ts";
import { hex, isStorable, jsonRows, type Sql, statement } from "./sql.ts";
import { emailKey, type UserColumns, userColumns, userOf } from "./user-rows.ts";

const REGISTER = statement(
  "user_register",
  `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       id uuid, email text, email_key text, realm_id uuid, first_name text, last_name text, role text, email_verified boolean, password_hash text,
       token_hash text, token_ttl int, recipient text, subject text, text text, html text, audit jsonb)),
   added as (
     insert into users (id, realm_id, email, email_key, email_verified, first_name, last_name, role)
     select id, realm_id, email, email_key, email_verified, first_name, last_name, role from input
     on conflict (email_key) do nothing returning *),
   with_password as (
     insert into credentials (user_id, type, password_hash)
     select added.id, 'password', password_hash from added join input using (id)),
   to_verify as (
     insert into verification_tokens (token_hash, user_id, expires_at)
     select decode(token_hash, 'hex'), added.id, now() + make_interval(secs => token_ttl) from added join input using (id)),
   queued as (
     insert into outbox (recipient, subject, text, html, user_id, about, expires_at)
     select recipient, subject, text, html, added.id, 'verification', now() + make_interval(secs => token_ttl) from added join input using (id)),
   logged as (${insertAudit("added join input using (id)")})
   select ${userColumns("added")} from added`,
);

const BY_ID = statement("user_by_id", `select ${userColumns("users")} from users where id = $1::uuid and deleted_at is null`);

const BY_EMAIL = statement(
  "user_by_email",
  `select ${userColumns("users")}, password_hash, coalesce(generation, 0) as generation
   from users left join credentials on credentials.user_id = users.id and credentials.type = 'password' where email_key = $1`,
);

const ISSUE_VERIFICATION = statement(
  "user_issue_verification",
  `with person as (select id from users where id = $1::uuid and not email_verified for no key update),
   earlier as (delete from verification_tokens using person where user_id = person.id and used_at is null),
   unsent as (delete from outbox using person where user_id = person.id and about = 'verification'),
   queued as (
     insert into outbox (recipient, subject, text, html, user_id, about, expires_at)
     select $4, $5, $6, $7, person.id, 'verification', now() + make_interval(secs => $3::int) from person)
   insert into verification_tokens (token_hash, user_id, expires_at) select $2::bytea, id, now() + make_interval(secs => $3::int) from person`,
);

// The person is held before her tokens, as whoever issues one does (docs/decisions/0014-locks-in-one-order.md).
const VERIFY_EMAIL = statement(
  "user_verify_email",
  `with person as materialized (
     select users.id from verification_tokens join users on users.id = user_id
     where token_hash = $1::bytea and used_at is null and expires_at > now() for no key update of users),
   token as (
     update verification_tokens set used_at = now() from person
     where token_hash = $1::bytea and user_id = person.id and used_at is null and expires_at > now() returning user_id),
   verified as (
     update users set email_verified = true, updated_at = now() from token where users.id = token.user_id returning users.*),
   logged as (
     insert into audit_records (event, outcome, actor_type, actor_id, user_id)
     select 'user.verified', 'success', 'user', id::text, id::text from verified)
   select ${userColumns("verified")} from verified`,
);

const REPLACE_PASSWORD = statement(
  "user_replace_password",
  "update credentials set password_hash = $2, updated_at = now() where user_id = $1::uuid and type = 'password'",
);

const RENAME = statement(
  "user_rename",
  `with changed as (
     update users set first_name = $2, last_name = $3, updated_at = now()
     where id = $1::uuid and (first_name, last_name) is distinct from ($2::text, $3::text) returning id),
   logged as (${insertAudit(`changed, ${entriesIn("$4")}`)})
   select 1 as one from changed`,
);

const only = (rows: readonly UserColumns[]): User | undefined => (rows[0] === undefined ? undefined : userOf(rows[0]));

export const users = (sql: Sql): Users => ({
  register: async ({ id, ...user }, verification, mail, audit) => {
    const row = {
      id,
      email: user.email,
      email_key: emailKey(user.email),
      realm_id: user.realmId,
      first_name: user.firstName,
      last_name: user.lastName,
      role: user.role,
      email_verified: user.emailVerified,
      password_hash: user.passwordHash,
      token_hash: hex(verification.tokenHash),
      token_ttl: verification.ttl,
      recipient: mail.to,
      subject: mail.subject,
      text: mail.text,
      html: mail.html,
      audit: auditRow(audit),
    };
    return only(await sql.query<UserColumns>(REGISTER, [jsonRows([row])]));
  },
  byId: async (id) => (isUuid(id) ? only(await sql.query<UserColumns>(BY_ID, [id])) : undefined),
  byEmail: async (email) => {
    if (!isStorable(email)) return undefined;
    const [row] = await sql.query<UserColumns & { password_hash: string | null; generation: number }>(BY_EMAIL, [emailKey(email)]);
    return row && { user: userOf(row), passwordHash: row.password_hash, generation: row.generation };
  },
  issueVerification: async (userId, { tokenHash, ttl }, mail) => {
    if (isUuid(userId)) await sql.query(ISSUE_VERIFICATION, [userId, tokenHash, ttl, mail.to, mail.subject, mail.text, mail.html]);
  },
  verifyEmail: async (tokenHash) => only(await sql.query<UserColumns>(VERIFY_EMAIL, [tokenHash])),
  replacePasswordHash: async (userId, passwordHash) => {
    if (isUuid(userId)) await sql.query(REPLACE_PASSWORD, [userId, passwordHash]);
  },
  rename: async (userId, { firstName, lastName }, audit) => {
    if (isUuid(userId)) await sql.query(RENAME, [userId, firstName, lastName, jsonRows([auditRow(audit)])]);
  },
});
