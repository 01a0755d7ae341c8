import type { Invitation, Invitations } from "../accounts/change-ports.ts";
import type { InvitationSort, SentInvitations } from "../accounts/registration.ts";
import { auditEach, insertAudit, record } from "./audit-log.ts";
import { type ListDescription, listPage } from "./list-query.ts";
import { MAIL_INPUT, queueMail } from "./outbox.ts";
import { firstRow, hex, jsonRows, type Sql, statements, undoable } from "./sql.ts";
import { INVITATIONS } from "./tables/accounts.ts";
import { assertRealm, emailKey, openAccounts, openedIn } from "./users.ts";

const MAY_INVITE = "users.role = 'operator' and users.enabled and users.deleted_at is null";
const INVITER_MAY = `(inviter_id is null or exists (select 1 from users where users.id = inviter_id and ${MAY_INVITE}))`;

/** Of an operator, with a link that works. */
export const WAITING = `invitations.email is not null and invitations.expires_at > now() and ${INVITER_MAY}`;

/** Deletes the mail of an invitation if it waits still. It has the time of the invitation's transaction, and no user. */
const unsentMail = (rows: string): string =>
  `delete from outbox using ${rows} where outbox.user_id is null and outbox.recipient = ${rows}.email and outbox.created_at = ${rows}.created_at`;

const HAS_OPERATOR = "exists (select 1 from users where role = 'operator')";
/** The link of the first operator, which has no address, works only while there is no operator. */
const USABLE = `token_hash = $1::bytea and expires_at > now() and (email is not null or not ${HAS_OPERATOR})`;

const SQL = statements("invitation", {
  issue: `with input as (
     select * from jsonb_to_recordset($1::jsonb) as i(
       token_hash text, email text, email_key text, role text, realm_id uuid, inviter_id uuid, ttl int, ${MAIL_INPUT}, audit jsonb)
     where ${INVITER_MAY}),
   homed as (select * from input where realm_id is null or exists (select 1 from realms where realms.id = input.realm_id)),
   free as (select homed.*, email as recipient, null::uuid as user_id from homed
     where not exists (select 1 from users where users.email_key = homed.email_key)),
   replaced as (select email, created_at from invitations where email_key in (select email_key from free)),
   unsent as (${unsentMail("replaced")}),
   link as (
     insert into invitations (token_hash, email, email_key, role, realm_id, inviter_id, expires_at)
     select decode(token_hash, 'hex'), email, email_key, role, realm_id, inviter_id, now() + make_interval(secs => ttl) from free
     on conflict (email_key) do update set
       token_hash = excluded.token_hash, role = excluded.role, realm_id = excluded.realm_id, inviter_id = excluded.inviter_id,
       created_at = now(), expires_at = excluded.expires_at
     returning id),
   queued as (${queueMail("free where subject is not null", "notice")}),
   logged as (${insertAudit("free")})
   select exists (select 1 from link) as issued, exists (select 1 from homed) as homed from input`,
  realmOf: `select realm_id::text as "realmId" from invitations where email_key = $1 and ${WAITING}`,
  byToken: `select email, role, realm_id::text as "realmId" from invitations where ${USABLE} and ${INVITER_MAY}`,
  /** Locks the inviter: a change of them that is under way counts before or after, not beside. */
  consume: `with inviter as materialized (
     select users.id from invitations join users on users.id = inviter_id where token_hash = $1::bytea and ${MAY_INVITE} for share of users)
   delete from invitations where ${USABLE} and (inviter_id is null or inviter_id in (select id from inviter))
   returning coalesce(email, $2) as email, role, realm_id::text as "realmId"`,
  hasOperator: `select ${HAS_OPERATOR} as found`,
  withdraw: `with withdrawn as (
     delete from invitations where id = $1::uuid and email is not null and expires_at > now() returning email, created_at),
   unsent as (${unsentMail("withdrawn")}),
   logged as (${auditEach("withdrawn", "$2")})
   select email from withdrawn`,
});

export const invitations = (sql: Sql): Invitations => ({
  issue: async ({ tokenHash, email, role, realmId, ttl, inviterId }, mail, audit) => {
    const key = email === null ? "" : emailKey(email);
    const link = { token_hash: hex(tokenHash), email, email_key: key, role, realm_id: realmId, inviter_id: inviterId, ttl };
    const audited = realmId === null ? audit : openedIn({ realmId }, audit);
    const [row] = await sql.query<{ issued: boolean; homed: boolean }>(SQL.issue, [jsonRows([{ ...link, ...mail, audit: audited }])]);
    if (row?.homed === false) return "realm_unknown";
    return row && (row.issued ? "issued" : "taken");
  },
  realmOf: async (email) => (await firstRow<Pick<Invitation, "realmId">>(sql, SQL.realmOf, [emailKey(email)]))?.realmId ?? undefined,
  byToken: (tokenHash) => firstRow<Invitation>(sql, SQL.byToken, [tokenHash]),
  accept: (tokenHash, { id, email, passwordHash }, audit) =>
    undoable(sql, async (tx, undo) => {
      const [link] = await tx.query<Invitation & { readonly email: string }>(SQL.consume, [tokenHash, email]);
      if (link === undefined) return undefined;
      const { realmId, ...invited } = link;
      const [user] = await openAccounts(tx, [{ id, ...invited, realmId: realmId ?? undefined, emailVerified: true, passwordHash }]);
      if (user === undefined) return undo("taken"); // the link stays unused
      await record(tx, openedIn(user, audit));
      return user;
    }),
  open: (account, audit) =>
    sql.transaction(async (tx) => {
      const [user] = await openAccounts(tx, [{ ...account, emailVerified: true }]);
      if (user === undefined) await assertRealm(tx, account.realmId);
      else await record(tx, openedIn(user, audit));
      return user;
    }),
  hasOperator: async () => (await firstRow<{ found: boolean }>(sql, SQL.hasOperator, []))?.found === true,
});

const SENT = ["id", "email", "role", "createdAt", "expiresAt"] as const;

const LIST: ListDescription<InvitationSort> = {
  table: INVITATIONS,
  select: `${INVITATIONS.select(SENT)}, coalesce(realm_id, (select realms.id from realms where realms.name = 'default'))::text as "realmId"`,
  search: ["email"],
  sorts: {
    created: { by: null, order: "desc" },
    email: { by: "invitations.email_key", type: "text", order: "asc" },
    expires: { by: "invitations.expires_at", type: "timestamptz", order: "asc" },
  },
};

export const sentInvitations = (sql: Sql): SentInvitations => ({
  list: (search, part) => listPage(sql, LIST, { conditions: [[WAITING, []]], search }, part),
  withdraw: async (id, audit) => (await firstRow<{ email: string }>(sql, SQL.withdraw, [id, jsonRows([audit])]))?.email,
});
