import type { Session, Sessions, SignedIn } from "../accounts/ports.ts";
import { isUuid } from "../identifier.ts";
import type { SecretHash } from "../secret.ts";
import { auditRow, insertAudit } from "./audit-rows.ts";
import { coalesceReads } from "./coalesce.ts";
import { hex, jsonRows, readRows, rowsStatement, type Sql, seconds, statement } from "./sql.ts";
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

const START = statement(
  "session_start",
  `with started as (
     insert into sessions (id, token_hash, user_id, expires_at)
     select $1::uuid, $2::bytea, id, now() + make_interval(secs => $4::int) from users where id = $3::uuid and enabled
     returning id, user_id, auth_time, expires_at),
   replaced as (
     update sessions set ended_at = now() from started where token_hash = $5::bytea and ended_at is null),
   logged as (${insertAudit("started, (select value as audit from jsonb_array_elements($6::jsonb)) as given")})
   select ${columns} from started`,
);

const BY_HASH = rowsStatement(
  "session_by_hash",
  `select encode(token_hash, 'hex') as key, sessions.id::text as session_id, user_id::text, ${seconds("auth_time")} as auth_time,
     ${seconds("expires_at")} as expires_at, ${userColumns("users")}
   from sessions join users on users.id = sessions.user_id and users.enabled
   where token_hash = any(select decode(key, 'hex') from unnest($1::text[]) as key) and ended_at is null and expires_at > now()`,
);

const END = statement(
  "session_end",
  `with ended as (update sessions set ended_at = now() where token_hash = $1::bytea and ended_at is null returning id),
   logged as (${insertAudit("ended, (select value as audit from jsonb_array_elements($2::jsonb)) as given")})
   select 1 as one from ended`,
);

// What is being born of these sessions holds a share lock on them until it is there (Grants.open, AuthorizationCodes.issue). So this statement
// waits for it, and the next ones see it; they would not within one statement.
const END_ALL = statement("session_end_all", "update sessions set ended_at = now() where user_id = $1::uuid and ended_at is null");
const DROP_CODES = statement("session_drop_codes", "delete from authorization_codes where user_id = $1::uuid and grant_id is null");
const END_FAMILIES = statement(
  "session_end_families",
  `with signed_out as (update grants set signed_out_at = now() where user_id = $1::uuid and signed_out_at is null and revoked_at is null)
   update refresh_families set revoked_at = now() from grants
   where grants.id = refresh_families.grant_id and grants.user_id = $1::uuid and refresh_families.revoked_at is null`,
);
const RECORD = statement(
  "session_end_all_record",
  `with given as (select value as audit from jsonb_array_elements($1::jsonb)) ${insertAudit("given")}`,
);

/** Ends a person's sessions, codes and refresh families, and whatever of these is being born. */
export async function endSignIns(tx: Pick<Sql, "query">, userId: string): Promise<void> {
  for (const one of [END_ALL, DROP_CODES, END_FAMILIES]) await tx.query(one, [userId]);
}

export function sessions(sql: Sql): Sessions {
  const load = coalesceReads(async (hashes: readonly SecretHash[]) => {
    const rows = await readRows<UserColumns & SessionColumns & { key: string; session_id: string }>(sql, BY_HASH, [hashes.map(hex)]);
    return new Map<string, SignedIn>(
      rows.map((row) => [row.key, { session: sessionOf({ ...row, id: row.session_id }), user: userOf(row) }]),
    );
  }, hex);
  return {
    start: async ({ id, hash, userId, ttl, replaces }, audit) => {
      if (!isUuid(userId)) return undefined;
      const [row] = await sql.query<SessionColumns>(START, [id, hash, userId, ttl, replaces ?? null, jsonRows([auditRow(audit)])]);
      return row && sessionOf(row);
    },
    byHash: load,
    end: async (hash, audit) => {
      await sql.query(END, [hash, jsonRows([auditRow(audit)])]);
    },
    endAll: async (userId, audit) => {
      if (!isUuid(userId)) return;
      await sql.transaction(async (tx) => {
        await endSignIns(tx, userId);
        await tx.query(RECORD, [jsonRows([auditRow(audit)])]);
      });
    },
  };
}
