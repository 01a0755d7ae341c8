import type { Sessions } from "../accounts/ports.ts";
import { isUuid } from "../identifier.ts";
import { auditRow, entriesIn, insertAudit, record } from "./audit-rows.ts";
import { dropCodes, endGrants } from "./grant-rows.ts";
import { removeOfUser } from "./removals.ts";
import { jsonRows, type Sql, statement } from "./sql.ts";

const END = statement(
  "session_end",
  `with ended as (update sessions set ended_at = now() where token_hash = $1::bytea and ended_at is null returning id),
   logged as (${insertAudit(`ended, ${entriesIn("$2")}`)})
   select 1 as one from ended`,
);

const living = "user_id = $1::uuid and expires_at > now()";
/** A statement that ends the sessions for which `which` holds, in the order of their ids (docs/decisions/0014-locks-in-one-order.md). */
const endSessions = (which: string): string =>
  `update sessions set ended_at = now()
   where id = any(array(select id from sessions where ${which} and ended_at is null order by id for no key update))`;
const endedOnes = (which: string): string => `with ended as (${endSessions(`${living} and ${which}`)} returning id, grant_id)`;
const END_ONE = statement(
  "session_end_one",
  `${endedOnes("id = $2::uuid")}, logged as (${insertAudit(`ended, ${entriesIn("$3")}`)})
   select id::text, grant_id::text from ended`,
);
const END_OTHERS = statement("session_end_others", `${endedOnes("id <> $2::uuid")} select id::text, grant_id::text from ended`);
const DROP_THEIR_CODES = statement(
  "session_drop_their_codes",
  dropCodes("user_id = $1::uuid and session_id = any(select id::uuid from unnest($2::text[]) as id)"),
);
const END_THEIR_GRANTS = statement(
  "session_end_their_grants",
  `with ${endGrants("id = any(select id::uuid from unnest($1::text[]) as id)", "signed_out_at")} select 1 as one from ended`,
);

const END_ALL = statement("session_end_all", endSessions("user_id = $1::uuid"));

/** Ends a person's sessions. What is being born of them is waited for, and seen by the statements that follow this one. */
export const endAllSessions = (tx: Pick<Sql, "query">, userId: string): Promise<unknown> => tx.query(END_ALL, [userId]);

/**
 * Ends a user's sessions, codes and refresh families. What is being stored of a session holds it until it is there (Grants.open,
 * AuthorizationCodes.issue), so the end of the sessions waits for it, and the statements after that see it.
 */
export const endSignIns = (tx: Pick<Sql, "query">, userId: string): Promise<void> => removeOfUser(tx, "user_signed_out", userId);

interface EndedColumns {
  readonly id: string;
  readonly grant_id: string | null;
}

/** In a statement after the end of the sessions: what was being born of them is seen there, and not before. */
async function endWhatBegan(tx: Pick<Sql, "query">, userId: string, ended: readonly EndedColumns[]): Promise<void> {
  await tx.query(DROP_THEIR_CODES, [userId, ended.map(({ id }) => id)]);
  await tx.query(END_THEIR_GRANTS, [ended.flatMap(({ grant_id }) => (grant_id === null ? [] : [grant_id]))]);
}

/** The ways in which sessions end. */
export const sessionEndings = (sql: Sql): Pick<Sessions, "end" | "endAll" | "endOne" | "endOthers"> => ({
  end: async (hash, audit) => {
    await sql.query(END, [hash, jsonRows([auditRow(audit)])]);
  },
  endAll: async (userId, audit) => {
    if (!isUuid(userId)) return;
    await sql.transaction(async (tx) => {
      await endSignIns(tx, userId);
      await record(tx, audit);
    });
  },
  endOne: async (id, userId, audit) => {
    if (!isUuid(id) || !isUuid(userId)) return false;
    return sql.transaction(async (tx) => {
      const ended = await tx.query<EndedColumns>(END_ONE, [userId, id, jsonRows([auditRow(audit)])]);
      if (ended.length > 0) await endWhatBegan(tx, userId, ended);
      return ended.length > 0;
    });
  },
  endOthers: async (keep, userId, audit) => {
    if (!isUuid(keep) || !isUuid(userId)) return;
    await sql.transaction(async (tx) => {
      await endWhatBegan(tx, userId, await tx.query<EndedColumns>(END_OTHERS, [userId, keep]));
      await record(tx, audit);
    });
  },
});
