import type { LiveSession, NewSessionRecord, Session, Sessions, SignedIn } from "../accounts/ports.ts";
import { signInOver, signInTooWeak } from "../accounts/second-factor.ts";
import type { AuditEntry } from "../audit.ts";
import { ACR_VALUES, isAsStrong, PASSWORD_ACR, PHISHING_RESISTANT_ACR, TWO_FACTOR_ACR } from "../protocol/authentication-context.ts";
import { isUuid, type SecretHash } from "../random.ts";
import { insertAudit } from "./audit-log.ts";
import { isUnavailable } from "./availability.ts";
import { coalesceReads } from "./coalesce.ts";
import { userEpochPassed } from "./grant-rows.ts";
import { holdUser } from "./held-sessions.ts";
import { useFactor } from "./second-factors.ts";
import { type EndedColumns, endCodesAndGrants, sessionEndings } from "./session-revocation.ts";
import {
  amongKeys,
  firstRow,
  hasRow,
  hex,
  jsonRows,
  readRows,
  rowsOf,
  rowsStatement,
  type Sql,
  seconds,
  statement,
  statements,
  storableOrNull,
  type Tx,
} from "./sql.ts";
import { SESSIONS, USERS } from "./tables/accounts.ts";
import { hasApp, USER } from "./users.ts";

/** The class that the realm of a user demands, or null. @param user `users`, or a CTE that returns its rows */
export const demandedOf = (user: string): string => `(select required_acr from realms where realms.id = ${user}.realm_id)`;

/** A Session. @param from `sessions`, or a CTE that returns its rows  @param user `users`, or a CTE likewise */
const session = (from: string, user: string): string =>
  `${SESSIONS.select(["id", "userId", "amr"], from)}, ${seconds(`${from}.proved_at`)} as "authTime", ${from}.proved_acr as acr,
   extract(epoch from now() - ${from}.proved_at)::float8 as "proofAge",
   ${demandedOf(user)} as "requiredAcr",
   case when exists (select 1 from passkeys where passkeys.user_id = ${from}.user_id and copied_at is null) then '${PHISHING_RESISTANT_ACR}'
     when ${hasApp(`${from}.user_id`)} then '${TWO_FACTOR_ACR}' else '${PASSWORD_ACR}' end as "reachableAcr", ${hasApp(`${from}.user_id`)} as "hasSecondFactor"`;

/** The place of a class in the order of strength; 1 is the weakest. */
const rank = (acr: string): string => `coalesce(array_position(array[${ACR_VALUES.map((value) => `'${value}'`).join(", ")}], ${acr}), 1)`;

/** Whether a row of `sessions` is as strong as the realm of that of `users` and a request demand. @param acr SQL expression, may be null */
export const strongEnough = (acr = "null"): string =>
  `${rank("sessions.proved_acr")} >= greatest(${rank(acr)}, ${rank(demandedOf("users"))})`;

// Locks the proved password or passkey until the session is stored: what changes the password, or removes all ways in, waits, and then ends the
// session (PasswordChanges.change, AddressChanges.stop). The app of a user may have been confirmed since the proof; a session that a new password starts
// has the proof of another ($16). Of a user who is signed in already in this browser the session goes on, with a new secret.
const START = statement(
  "session_start",
  `with proved as materialized (
     select user_id from credentials where user_id = $3::uuid and type = 'password' and generation = $7::int for share),
   proved_passkey as materialized (select id from passkeys where id = $15::uuid and user_id = $3::uuid for key share),
   entitled as (
     select id, epoch, realm_id from users where id = $3::uuid and enabled and ($7::int is null or exists (select 1 from proved))
       and ($15::uuid is null or exists (select 1 from proved_passkey))
       and ($11::text <> '${PASSWORD_ACR}' or $16::boolean or not ${hasApp("users.id")})),
   owner as (select * from entitled where not $17::boolean or ${rank("$11::text")} >= ${rank(demandedOf("entitled"))}),
   continued as (
     update sessions set token_hash = $2::bytea, expires_at = now() + make_interval(secs => $4::int), address = $8::text,
       browser = $9::text, system = $10::text, last_seen_at = now(), proved_at = coalesce(to_timestamp($13::float8), now()), proved_acr = $11::text, amr = $12::text[]
     from owner where token_hash = $5::bytea and user_id = owner.id and user_epoch = owner.epoch and ended_at is null and expires_at > now()
     returning sessions.*),
   started as (
     insert into sessions (id, token_hash, user_id, user_epoch, expires_at, address, browser, system, proved_acr, amr, proved_at)
     select $1::uuid, $2::bytea, id, epoch, now() + make_interval(secs => $4::int), $8::text, $9::text, $10::text, $11::text, $12::text[],
       coalesce(to_timestamp($13::float8), now())
     from owner where not exists (select 1 from continued) and not $14::boolean
     returning *),
   replaced as (
     update sessions set ended_at = now() from started where sessions.token_hash = $5::bytea and sessions.ended_at is null
     returning sessions.id::text, sessions.user_id::text, sessions.grant_id::text),
   present as (select * from continued union all select * from started),
   logged as (${insertAudit(`(
     select case when exists (select 1 from continued) then value || '{"event": "session.proved"}' else value end as audit
     from present, jsonb_array_elements($6::jsonb)) as entries`)})
   select ${session("present", "entitled")}, (select to_jsonb(replaced) from replaced) as replaced from entitled left join present on true`,
);

/** `last_seen_at` is updated at most this often: a write for each request would cost too much. */
const LAST_SEEN = "interval '10 minutes'";

const BY_HASH = rowsStatement(
  "session_by_hash",
  `select encode(token_hash, 'hex') as key, last_seen_at < now() - ${LAST_SEEN} as stale,
     (select found from (select ${session("sessions", "users")}) as found) as session, (select found from (select ${USERS.select(USER)}) as found) as "user"
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

const TAKE_HALF = statement(
  "session_take_half",
  "delete from proof_challenges where id_hash = $1::bytea and kind = 'second_factor' and expires_at > now() returning 1 as one",
);

const UPSTREAM = statements("identity", {
  // The connection may have been disabled or removed while the user was at the provider, or looked for a code.
  hold: `select 1 as one from identity_links where issuer = $1 and subject = $2 and user_id = $3::uuid and confirmed
     and exists (select 1 from connections where connections.issuer = $1 and connections.enabled) for key share`,
  session: "insert into upstream_sessions (session_id, issuer, subject, sid) values ($1::uuid, $2, $3, $4)",
  continuedSession: "update upstream_sessions set sid = $4 where session_id = $1::uuid and issuer = $2 and subject = $3",
});

type StartedRow = Session & { readonly replaced: (EndedColumns & { readonly user_id: string }) | null };
/** The user may start a session, but this one was too weak, or the one to be raised has ended. */
type NotStarted = { readonly id: null } & Pick<Session, "requiredAcr">;

/**
 * Starts a session, by itself or within another transaction; within one where it is of an upstream identity, completes a half, uses up a second
 * factor, or may replace another user's session, whose codes and token set end.
 * @throws {Refusal} as Sessions.start does: the transaction is to be rolled back, so that the code of the second factor stays unused
 */
export async function startSession(tx: Tx, record: NewSessionRecord, audit: AuditEntry | undefined): Promise<Session | undefined> {
  const { half, factor, upstream, place, acr = PASSWORD_ACR, amr = ["pwd"], raises = false } = record;
  if (factor !== undefined) await holdUser(tx, record.userId); // first, as what changes app and codes does
  if (upstream !== undefined && !(await hasRow(tx, UPSTREAM.hold, [upstream.issuer, upstream.subject, record.userId]))) return undefined;
  if (half !== undefined && !(await hasRow(tx, TAKE_HALF, [half]))) return undefined;
  if (factor !== undefined) await useFactor(tx, record.userId, factor);
  const audits = jsonRows(audit === undefined ? [] : [audit]);
  const parameters = [
    ...[record.id, record.hash, record.userId, record.ttl, record.replaces ?? null, audits, record.generation ?? null],
    ...[place?.address ?? null, place?.browser ?? null, place?.system ?? null],
    ...[acr, amr, record.provedAt ?? null, raises, record.passkey ?? null, record.carried === true, record.asDemanded === true],
  ];
  const started = await firstRow<StartedRow | NotStarted>(tx, START, parameters);
  if (started === undefined || started.id === null) {
    const demanded = record.asDemanded === true ? started?.requiredAcr : undefined;
    if (demanded && !isAsStrong(acr, demanded)) throw signInTooWeak(demanded);
    if (factor !== undefined) throw signInOver();
    return undefined;
  }
  const { replaced, ...session } = started;
  if (replaced !== null) await endCodesAndGrants(tx, replaced.user_id, [replaced]);
  if (upstream === undefined) return session;
  // A session that goes on is the provider's only if its user has started it there.
  const ofProvider = session.id === record.id ? UPSTREAM.session : UPSTREAM.continuedSession;
  await tx.query(ofProvider, [session.id, upstream.issuer, upstream.subject, storableOrNull(upstream.sid)]);
  return session;
}

type FoundRow = SignedIn & { readonly key: string; readonly stale: boolean };

export function sessions(sql: Sql): Sessions {
  /** Updates when sessions were seen. They can still be read when the database takes no writes. */
  const seen = async (ids: readonly string[]): Promise<void> => {
    await sql.query(SEEN, [ids]).catch((error: unknown) => {
      if (!isUnavailable(error)) throw error;
    });
  };
  const load = coalesceReads(async (hashes: readonly SecretHash[]) => {
    const rows = await readRows<FoundRow>(sql, BY_HASH, [hashes.map(hex)]);
    const found = new Map<string, SignedIn>();
    const staleIds: string[] = [];
    for (const { key, session, user, stale } of rows) {
      found.set(key, { session, user });
      if (stale) staleIds.push(session.id);
    }
    if (staleIds.length > 0) await seen(staleIds);
    return found;
  }, hex);
  return {
    start: async (session, audit) => {
      if (!isUuid(session.userId)) return undefined;
      const alone = [session.replaces, session.half, session.factor, session.upstream].every((more) => more === undefined);
      return alone ? startSession(sql, session, audit) : sql.transaction((tx) => startSession(tx, session, audit));
    },
    byHash: load,
    ...sessionEndings(sql),
    ofUser: (userId) => rowsOf<LiveSession>(sql, OF_USER, [userId]),
  };
}
