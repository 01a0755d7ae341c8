import type { IdentityLinks } from "../upstream/ports.ts";
import { consume } from "./consumed-ids.ts";
import { holdUser } from "./held-sessions.ts";
import { endSession } from "./session-revocation.ts";
import { startSession } from "./sessions.ts";
import { deleteInOrder, isStorable, type Sql, statement } from "./sql.ts";

// The connection may have been disabled or removed while the user was at the provider, or looked for a code.
const HOLD_LINK = statement(
  "identity_hold",
  `select 1 as one from identity_links where issuer = $1 and subject = $2 and user_id = $3::uuid and confirmed
     and exists (select 1 from connections where connections.issuer = $1 and connections.enabled) for key share`,
);
// By itself: waits for sign-ins that hold the link, and holds nothing while sessions end.
const AWAIT_STARTS = statement(
  "identity_await_starts",
  "select 1 as one from identity_links where issuer = $1 and subject = $2 for update",
);
const OF_SESSION = statement(
  "identity_session",
  "insert into upstream_sessions (session_id, issuer, subject, sid) values ($1::uuid, $2, $3, $4)",
);
const OF_CONTINUED_SESSION = statement(
  "identity_continued_session",
  "update upstream_sessions set sid = $4 where session_id = $1::uuid and issuer = $2 and subject = $3",
);

const BATCH = 500;
// Without a session of the provider in the token, all that its user started end.
const LIVE = `from upstream_sessions
     join sessions on sessions.id = upstream_sessions.session_id and ended_at is null and expires_at > now()
   where issuer = $1 and (subject = $2 or $2 is null) and (sid = $3 or $3 is null)`;
const SESSIONS_OF = statement(
  "identity_sessions",
  `select sessions.id::text, sessions.user_id::text as "userId" ${LIVE} order by sessions.user_id, sessions.id limit ${BATCH}`,
);

/** Before the first of their sessions (docs/decisions/0014). */
const HOLD_USERS = statement(
  "identity_hold_users",
  `select 1 as one from users where id = any(array(select sessions.user_id ${LIVE})) order by id for no key update`,
);

// By itself too: waits for starts that complete such a sign-in, and then finds their sessions.
const END_HALVES = statement(
  "identity_end_halves",
  deleteInOrder(
    "proof_challenges",
    "id_hash",
    "upstream ->> 'issuer' = $1 and (upstream ->> 'subject' = $2 or $2 is null) and (upstream ->> 'sid' = $3 or $3 is null)",
  ),
);

/** Sessions that an identity started, and that end with the provider's. */
export const upstreamSessions = (sql: Sql): Pick<IdentityLinks, "startSession" | "endSessions"> => ({
  endSessions: async (issuer, { jti, subject, sid, remember }, audit) => {
    const whose = [subject, sid].every((value) => value === undefined || isStorable(value)) && [issuer, subject ?? null, sid ?? null];
    if (whose) {
      await sql.query(AWAIT_STARTS, [issuer, subject ?? null]);
      await sql.query(END_HALVES, whose);
    }
    return sql.transaction(async (tx) => {
      if (!(await consume(tx, "logout_token", issuer, jti, remember))) return false;
      if (!whose) return true;
      await tx.query(HOLD_USERS, whose);
      for (let more = true; more; ) {
        const found = await tx.query<{ id: string; userId: string }>(SESSIONS_OF, whose);
        for (const { id, userId } of found) await endSession(tx, id, userId, { ...audit, userId });
        more = found.length === BATCH;
      }
      return true;
    });
  },

  startSession: ({ upstream: { issuer, subject, sid }, ...session }, audit) =>
    sql.transaction(async (tx) => {
      if (session.factor !== undefined) await holdUser(tx, session.userId); // before the link, as startSession does before the rest
      if ((await tx.query(HOLD_LINK, [issuer, subject, session.userId])).length === 0) return undefined;
      const started = await startSession(tx, session, audit);
      if (started === undefined) return undefined;
      // A session that goes on is the provider's only if its user has started it there.
      const upstream = started.id === session.id ? OF_SESSION : OF_CONTINUED_SESSION;
      await tx.query(upstream, [started.id, issuer, subject, sid !== undefined && isStorable(sid) ? sid : null]);
      return started;
    }),
});
