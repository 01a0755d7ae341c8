import type { IdentityLinks, LinkedIdentity, LinkedUser } from "../upstream/ports.ts";
import { record, recordAll } from "./audit-log.ts";
import { consume } from "./consumed-ids.ts";
import { holdSession, holdUser } from "./held-sessions.ts";
import { notifyUser } from "./outbox.ts";
import { endSession } from "./session-revocation.ts";
import { deleteInOrder, firstRow, hasRow, isStorable, rowsOf, type Sql, statements, storableOrNull, undoable } from "./sql.ts";
import { IDENTITY_LINKS } from "./tables/delegations.ts";
import { HAS_SECOND_FACTOR, openAccounts, openedIn, USER_JSON } from "./users.ts";

const BATCH = 500;
// Without a session of the provider in the token, all that its user started end.
const LIVE = `from upstream_sessions
     join sessions on sessions.id = upstream_sessions.session_id and ended_at is null and expires_at > now()
   where issuer = $1 and (subject = $2 or $2 is null) and (sid = $3 or $3 is null)`;

const SESSION_SQL = statements("identity", {
  // By itself: waits for sign-ins that hold the link, and holds nothing while sessions end.
  awaitStarts: "select 1 as one from identity_links where issuer = $1 and subject = $2 for update",
  sessions: `select sessions.id::text, sessions.user_id::text as "userId" ${LIVE} order by sessions.user_id, sessions.id limit ${BATCH}`,
  /** Before the first of their sessions (docs/decisions/0014). */
  holdUsers: `select 1 as one from users where id = any(array(select sessions.user_id ${LIVE})) order by id for no key update`,
  // By itself too: waits for starts that complete such a sign-in, and then finds their sessions.
  endHalves: deleteInOrder(
    "proof_challenges",
    "id_hash",
    "upstream ->> 'issuer' = $1 and (upstream ->> 'subject' = $2 or $2 is null) and (upstream ->> 'sid' = $3 or $3 is null)",
  ),
});

const OF_IDENTITY = "identity_links.issuer = $1 and identity_links.subject = $2";

/**
 * Whether a user can sign in: by a password, a passkey, or an identity of a provider. A caller that removes one locks the user's row first, so that
 * of two removals the second sees what the first has left.
 * @param userId SQL expression  @param but SQL condition over `other`, the identity that does not count
 */
export const hasWayIn = (userId: string, but = "false"): string =>
  `exists (select from credentials where user_id = ${userId} and type = 'password')
   or exists (select from passkeys where user_id = ${userId} and copied_at is null)
   or exists (
     select from identity_links as other join connections using (issuer)
     where other.user_id = ${userId} and other.confirmed and connections.enabled and not (${but}))`;

const LINKED = ["issuer", "subject", "email", "createdAt", "confirmed"] as const;

const LINK_SQL = statements("identity", {
  ofUser: `select ${IDENTITY_LINKS.select(LINKED)},
     (select connections.title from connections where connections.issuer = identity_links.issuer
      order by connections.realm_id = users.realm_id desc, connections.created_at, connections.name limit 1) as title
   from identity_links join users on users.id = identity_links.user_id where user_id = $1::uuid order by identity_links.created_at`,
  user: `select ${USER_JSON}, confirmed, ${HAS_SECOND_FACTOR} from identity_links join users on users.id = identity_links.user_id
   where ${OF_IDENTITY} and users.deleted_at is null`,
  // A link by an identity assertion to an account of the same user becomes one to sign in by. The connection may have been disabled or removed
  // while the provider answered.
  linkUser: `insert into identity_links as link (issuer, subject, user_id, email, confirmed)
   select $1, $2, $3::uuid, $4, true where exists (select 1 from connections where connections.issuer = $1 and connections.enabled)
   on conflict (issuer, subject) do update set confirmed = true, email = excluded.email
   where link.user_id = excluded.user_id and not link.confirmed
   returning 1 as linked`,
  own: `select user_id::text as id from identity_links where ${OF_IDENTITY}`,
  waysLeft: `select (${hasWayIn("$3::uuid", "other.issuer = $1 and other.subject = $2")}) as left`,
  unlink: `delete from identity_links where ${OF_IDENTITY} and user_id = $3::uuid returning 1 as gone`,
});

export const identityLinks = (sql: Sql): IdentityLinks => ({
  userOf: ({ issuer, subject }) => firstRow<LinkedUser>(sql, LINK_SQL.user, [issuer, subject]),

  open: ({ firstName, lastName, ...user }, { issuer, subject }, audits) =>
    undoable(sql, async (tx, undo) => {
      if (!isStorable(user.email) || !isStorable(subject)) return false;
      const names = { firstName: storableOrNull(firstName), lastName: storableOrNull(lastName) };
      const [opened] = await openAccounts(tx, [{ ...user, ...names, emailVerified: true }]);
      if (opened === undefined) return false;
      // The identity may have an account, of another address.
      if (!(await hasRow(tx, LINK_SQL.linkUser, [issuer, subject, opened.id, opened.email]))) return undo(false);
      await recordAll(
        tx,
        audits.map((audit) => (audit.event === "user.registered" ? openedIn(opened, audit) : audit)),
      );
      return true;
    }),

  link: ({ id, userId }, { issuer, subject, email }, mail, audit) =>
    sql.transaction(async (tx) => {
      if (!isStorable(subject)) return "taken";
      await holdSession(tx, { id, userId });
      if (!(await hasRow(tx, LINK_SQL.linkUser, [issuer, subject, userId, storableOrNull(email)]))) {
        const [owner] = await tx.query<{ id: string }>(LINK_SQL.own, [issuer, subject]);
        return owner?.id === userId ? "known" : "taken";
      }
      await record(tx, audit);
      await notifyUser(tx, userId, mail);
      return "linked";
    }),

  // The user's row is locked first, so that of two unlinkings the second sees what the first has left.
  unlink: ({ id, userId }, { issuer, subject }, mail, audit) =>
    sql.transaction(async (tx) => {
      await holdUser(tx, userId);
      const ways = await firstRow<{ left: boolean }>(tx, LINK_SQL.waysLeft, [issuer, subject, userId]);
      const owner = await firstRow<{ id: string }>(tx, LINK_SQL.own, [issuer, subject]);
      if (owner?.id !== userId) return "unknown";
      if (ways?.left !== true) return "last";
      await tx.query(LINK_SQL.unlink, [issuer, subject, userId]);
      await holdSession(tx, { id, userId }); // after the link, as a sign-in locks them
      await record(tx, audit);
      await notifyUser(tx, userId, mail);
      return "unlinked";
    }),

  ofUser: (userId) => rowsOf<LinkedIdentity>(sql, LINK_SQL.ofUser, [userId]),

  endSessions: async (issuer, { jti, subject, sid, remember }, audit) => {
    const whose = [subject, sid].every((value) => value === undefined || isStorable(value)) && [issuer, subject ?? null, sid ?? null];
    if (whose) {
      await sql.query(SESSION_SQL.awaitStarts, [issuer, subject ?? null]);
      await sql.query(SESSION_SQL.endHalves, whose);
    }
    return sql.transaction(async (tx) => {
      if (!(await consume(tx, "logout_token", issuer, jti, remember))) return false;
      if (!whose) return true;
      await tx.query(SESSION_SQL.holdUsers, whose);
      for (let more = true; more; ) {
        const found = await tx.query<{ id: string; userId: string }>(SESSION_SQL.sessions, whose);
        for (const { id, userId } of found) await endSession(tx, id, userId, { ...audit, userId });
        more = found.length === BATCH;
      }
      return true;
    });
  },
});
