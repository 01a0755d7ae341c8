import type { LiveSession, NewSessionRecord, Session, Sessions, SignedIn } from "../accounts/ports.ts";
import type { AuditEntry } from "../audit.ts";
import { isUuid, type SecretHash } from "../random.ts";
import { entriesIn, insertAudit } from "./audit-log.ts";
import { isUnavailable } from "./availability.ts";
import { coalesceReads } from "./coalesce.ts";
import { userEpochPassed } from "./grant-rows.ts";
import { sessionEndings } from "./session-revocation.ts";
import { amongKeys, hex, jsonRows, readRows, rowsStatement, type Sql, statement } from "./sql.ts";
import { SESSIONS, USERS } from "./tables/accounts.ts";
import { USER } from "./users.ts";

const SESSION = ["id", "userId", "authTime", "expiresAt"] as const;

// Locks the proved password until the session is stored: a password change waits, and then ends the session (PasswordChanges.change).
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
   select ${SESSIONS.select(SESSION, "started")} from started`,
);

/** `last_seen_at` is updated at most this often: a write for each request would cost too much. */
const LAST_SEEN = "interval '10 minutes'";

const BY_HASH = rowsStatement(
  "session_by_hash",
  `select encode(token_hash, 'hex') as key, last_seen_at < now() - ${LAST_SEEN} as stale,
     (select found from (select ${SESSIONS.select(SESSION)}) as found) as session, (select found from (select ${USERS.select(USER)}) as found) as "user"
   from sessions join users on users.id = sessions.user_id and users.enabled and users.epoch = sessions.user_epoch
   where ${amongKeys("token_hash", "decode(key, 'hex')", "unnest($1::text[]) as key")} and ended_at is null and expires_at > now()`,
);
const SEEN = statement(
  "session_seen",
  `update sessions set last_seen_at = now() where id in (
     select id from sessions where id = any(select id::uuid from unnest($1::text[]) as id) and last_seen_at < now() - ${LAST_SEEN}
     for no key update skip locked)`,
);

const LIVE = ["id", "authTime", "lastSeenAt", "address", "browser", "system"] as const;
const OF_USER = statement(
  "sessions_of_user",
  `select ${SESSIONS.select(LIVE)}
   from sessions where user_id = $1::uuid and ended_at is null and expires_at > now() and not ${userEpochPassed("sessions")}
   order by sessions.id desc limit 200`,
);

/** Starts a session, by itself or within another transaction. */
export async function startSession(
  tx: Pick<Sql, "query">,
  { id, hash, userId, ttl, place, replaces, generation }: NewSessionRecord,
  audit: AuditEntry,
): Promise<Session | undefined> {
  const origin = [place?.address ?? null, place?.browser ?? null, place?.system ?? null];
  const parameters = [id, hash, userId, ttl, replaces ?? null, jsonRows([audit]), generation ?? null, ...origin];
  return (await tx.query<Session>(START, parameters))[0];
}

type FoundRow = SignedIn & { readonly key: string; readonly stale: boolean };

export function sessions(sql: Sql): Sessions {
  /** Updates when sessions were seen. They can still be read when the database takes no writes. */
  const seen = async (ids: readonly string[]): Promise<void> => {
    if (ids.length === 0) return;
    await sql.query(SEEN, [ids]).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
    });
  };
  const load = coalesceReads(async (hashes: readonly SecretHash[]) => {
    const rows = await readRows<FoundRow>(sql, BY_HASH, [hashes.map(hex)]);
    await seen(rows.filter(({ stale }) => stale).map(({ session }) => session.id));
    return new Map(rows.map(({ key, session, user }): [string, SignedIn] => [key, { session, user }]));
  }, hex);
  return {
    start: async (session, audit) => (isUuid(session.userId) ? startSession(sql, session, audit) : undefined),
    byHash: load,
    ...sessionEndings(sql),
    ofUser: async (userId) => (isUuid(userId) ? sql.query<LiveSession>(OF_USER, [userId]) : []),
  };
}
