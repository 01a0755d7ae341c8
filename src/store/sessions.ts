import type { LiveSession, NewSessionRecord, Session, Sessions, SignedIn } from "../accounts/ports.ts";
import type { AuditEntry } from "../audit.ts";
import { isUuid } from "../identifier.ts";
import type { SecretHash } from "../secret.ts";
import { auditRow, entriesIn, insertAudit } from "./audit-rows.ts";
import { coalesceReads } from "./coalesce.ts";
import { userEpochPassed } from "./grant-rows.ts";
import { sessionEndings } from "./session-revocation.ts";
import { amongKeys, hex, jsonRows, readRows, rowsStatement, type Sql, seconds, statement } from "./sql.ts";
import { isUnavailable } from "./unavailable.ts";
import { type UserColumns, userColumns, userOf } from "./user-rows.ts";

interface SessionColumns {
  readonly id: string;
  readonly user_id: string;
  readonly auth_time: number;
  readonly expires_at: number;
}

const sessionOf = (row: SessionColumns): Session => ({
  id: row.id,
  userId: row.user_id,
  authTime: row.auth_time,
  expiresAt: row.expires_at,
});

const columns = `id::text, user_id::text, ${seconds("auth_time")} as auth_time, ${seconds("expires_at")} as expires_at`;

// The password is held as it was proved until the session is there: a change of it waits, and then ends the session
// (PasswordChanges.change).
const START = statement(
  "session_start",
  `with proved as materialized (
     select user_id from credentials where user_id = $3::uuid and type = 'password' and generation = $7::int for share),
   started as (
     insert into sessions (id, token_hash, user_id, user_epoch, expires_at, address, browser, system)
     select $1::uuid, $2::bytea, id, epoch, now() + make_interval(secs => $4::int), $8::text, $9::text, $10::text
     from users where id = $3::uuid and enabled and ($7::int is null or exists (select 1 from proved))
     returning id, user_id, auth_time, expires_at),
   replaced as (
     update sessions set ended_at = now() from started where token_hash = $5::bytea and ended_at is null),
   logged as (${insertAudit(`started, ${entriesIn("$6")}`)})
   select ${columns} from started`,
);

/** How much of the time since a session was seen may go unnoticed: a write for each request would cost more than it tells. */
const LAST_SEEN = "interval '10 minutes'";

const BY_HASH = rowsStatement(
  "session_by_hash",
  `select encode(token_hash, 'hex') as key, sessions.id::text as session_id, user_id::text, ${seconds("auth_time")} as auth_time,
     ${seconds("expires_at")} as expires_at, last_seen_at < now() - ${LAST_SEEN} as stale, ${userColumns("users")}
   from sessions join users on users.id = sessions.user_id and users.enabled and users.epoch = sessions.user_epoch
   where ${amongKeys("token_hash", "decode(key, 'hex')", "unnest($1::text[]) as key")} and ended_at is null and expires_at > now()`,
);
const SEEN = statement(
  "session_seen",
  `update sessions set last_seen_at = now() where id in (
     select id from sessions where id = any(select id::uuid from unnest($1::text[]) as id) and last_seen_at < now() - ${LAST_SEEN}
     for no key update skip locked)`,
);

const OF_USER = statement(
  "sessions_of_user",
  `select id::text, ${seconds("auth_time")} as auth_time, ${seconds("last_seen_at")} as last_seen_at, address, browser, system
   from sessions where user_id = $1::uuid and ended_at is null and expires_at > now() and not ${userEpochPassed("sessions")}
   order by id desc limit 200`,
);

/** Starts a session, by itself or within a transaction of whoever has changed something first. */
export async function startSession(
  tx: Pick<Sql, "query">,
  { id, hash, userId, ttl, place, replaces, generation }: NewSessionRecord,
  audit: AuditEntry,
): Promise<Session | undefined> {
  const of = [place?.address ?? null, place?.browser ?? null, place?.system ?? null];
  const given = [id, hash, userId, ttl, replaces ?? null, jsonRows([auditRow(audit)]), generation ?? null, ...of];
  const [row] = await tx.query<SessionColumns>(START, given);
  return row && sessionOf(row);
}

type FoundColumns = UserColumns & SessionColumns & { readonly key: string; readonly session_id: string; readonly stale: boolean };

interface LiveColumns {
  readonly id: string;
  readonly auth_time: number;
  readonly last_seen_at: number;
  readonly address: string | null;
  readonly browser: string | null;
  readonly system: string | null;
}

const liveOf = ({ auth_time, last_seen_at, ...row }: LiveColumns): LiveSession => ({
  ...row,
  authTime: auth_time,
  lastSeenAt: last_seen_at,
});

export function sessions(sql: Sql): Sessions {
  /** Remembers that they were seen. Only their owner is told of it, so that a database that takes no writes stops no reading. */
  const seen = async (ids: readonly string[]): Promise<void> => {
    if (ids.length === 0) return;
    await sql.query(SEEN, [ids]).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
    });
  };
  const load = coalesceReads(async (hashes: readonly SecretHash[]) => {
    const rows = await readRows<FoundColumns>(sql, BY_HASH, [hashes.map(hex)]);
    await seen(rows.filter(({ stale }) => stale).map(({ session_id }) => session_id));
    return new Map<string, SignedIn>(
      rows.map((row) => [row.key, { session: sessionOf({ ...row, id: row.session_id }), user: userOf(row) }]),
    );
  }, hex);
  return {
    start: async (session, audit) => (isUuid(session.userId) ? startSession(sql, session, audit) : undefined),
    byHash: load,
    ...sessionEndings(sql),
    ofUser: async (userId) => (isUuid(userId) ? (await sql.query<LiveColumns>(OF_USER, [userId])).map(liveOf) : []),
  };
}
