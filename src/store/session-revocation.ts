import type { Sessions } from "../accounts/ports.ts";
import type { AuditEntry } from "../audit.ts";
import { CONSOLE_CLIENT_ID } from "../clients/client.ts";
import { isUuid } from "../random.ts";
import { auditEach, record } from "./audit-log.ts";
import { dropCodes, dropConsents, endGrants } from "./grant-rows.ts";
import { holdUser } from "./held-sessions.ts";
import { removeOfUser } from "./removals.ts";
import { deleteInOrder, jsonRows, rowsOf, type Sql, statements, type Tx } from "./sql.ts";

const living = "user_id = $1::uuid and expires_at > now()";
/** Ends the sessions for which `which` holds, in the order of ids (docs/decisions/0014). */
const endSessions = (which: string): string =>
  `update sessions set ended_at = now()
   where id = any(array(select id from sessions where ${which} and ended_at is null order by id for no key update))`;
const endedOnes = (which: string): string => `with ended as (${endSessions(`${living} and ${which}`)} returning id, grant_id)`;

const SQL = statements("session", {
  endOne: `${endedOnes("id = $2::uuid")}, logged as (${auditEach("ended", "$3")})
   select id::text, grant_id::text from ended`,
  endOthers: `${endedOnes("id <> $2::uuid")} select id::text, grant_id::text from ended`,
  dropTheirCodes: dropCodes("user_id = $1::uuid and session_id = any(select id::uuid from unnest($2::text[]) as id)"),
  endTheirGrants: `with ${endGrants(
    `id = any(select id::uuid from unnest($3::text[]) as id
       union all select grant_id from authorization_codes
         where user_id = $1::uuid and session_id = any(select id::uuid from unnest($2::text[]) as id) and client_id = '${CONSOLE_CLIENT_ID}')`,
    "signed_out_at",
  )} select 1 as one from ended`,
  endAll: endSessions("user_id = $1::uuid"),
});

/** Ends a user's sessions. Waits for codes and grants that are being stored for them, which later statements see. */
export const endAllSessions = (tx: Tx, userId: string): Promise<unknown> => tx.query(SQL.endAll, [userId]);

/**
 * Ends a user's sessions, codes and refresh families. Sessions end first: storing a code or grant locks its session (Grants.open,
 * AuthorizationCodes.issue), so that later statements see it.
 */
export const endSignIns = (tx: Tx, userId: string): Promise<void> => removeOfUser(tx, "user_signed_out", userId);

export type EndedColumns = { readonly id: string; readonly grant_id: string | null };

/** Ends one session of a user, with its codes, its token set and those of the console, within a transaction. @returns false for any other session */
export async function endSession(tx: Tx, id: string, userId: string, audit: AuditEntry): Promise<boolean> {
  const ended = await rowsOf<EndedColumns>(tx, SQL.endOne, [userId, id, jsonRows([audit])]);
  if (ended.length > 0) await endCodesAndGrants(tx, userId, ended);
  return ended.length > 0;
}

/** Runs after the end of the sessions, so that it sees the codes and grants that were being stored for them. */
export async function endCodesAndGrants(tx: Tx, userId: string, ended: readonly EndedColumns[]): Promise<void> {
  const sessionIds = ended.map(({ id }) => id);
  await tx.query(SQL.dropTheirCodes, [userId, sessionIds]);
  await tx.query(SQL.endTheirGrants, [userId, sessionIds, ended.flatMap(({ grant_id }) => (grant_id === null ? [] : [grant_id]))]);
}

export const sessionEndings = (sql: Sql): Pick<Sessions, "endAll" | "endOne" | "endOthers"> => ({
  endAll: async (userId, audit) => {
    if (!isUuid(userId)) return;
    await sql.transaction(async (tx) => {
      await endSignIns(tx, userId);
      await record(tx, audit);
    });
  },
  endOne: (id, userId, audit) => sql.transaction((tx) => endSession(tx, id, userId, audit)),
  endOthers: async (keep, userId, audit) => {
    if (!isUuid(keep) || !isUuid(userId)) return;
    await sql.transaction(async (tx) => {
      await holdUser(tx, userId); // a change of the password locks its own session before the others
      await endCodesAndGrants(tx, userId, await tx.query<EndedColumns>(SQL.endOthers, [userId, keep]));
      await record(tx, audit);
    });
  },
});

const OF_USER = "user_id = $1::uuid";

/** In the order in which they run. */
const BEFORE_SESSIONS = statements("unproven", {
  dropWalletLinks: deleteInOrder("wallet_links", "handle_hash", OF_USER),
  dropVerifications: deleteInOrder("verification_tokens", "token_hash", OF_USER),
  // Runs after the end of the links, so that it sees a wallet that is being linked.
  dropWallets: `delete from credentials where ${OF_USER} and type = 'wallet'`,
  dropPasskeys: deleteInOrder("passkeys", "id", OF_USER),
  dropApps: deleteInOrder("authenticator_apps", "user_id", OF_USER),
  dropRecoveryCodes: deleteInOrder("recovery_codes", "code_hash", OF_USER),
  dropIdentities: `delete from identity_links where ${OF_USER}`,
});
const AFTER_SESSIONS = statements("unproven", {
  dropConsents: dropConsents(OF_USER),
  dropCodes: dropCodes(OF_USER),
  endGrants: `with ${endGrants(OF_USER)} select 1 as one from ended`,
  dropMails: deleteInOrder("outbox", "id", `${OF_USER} and about = 'verification'`),
});

/**
 * Ends everything that was started before an account's address was verified, for it may be the work of someone who signed up with another
 * user's address: sessions, grants with their delegations, consents, wallets, passkeys, second factors, linked identities and mailed links.
 * The caller has locked the user, and has set the password in the same transaction or found that it is the right one. The account's clients stay: they give no access to
 * the user, and others may rely on them.
 */
export async function endUnproven(tx: Tx, userId: string): Promise<void> {
  for (const each of Object.values(BEFORE_SESSIONS)) await tx.query(each, [userId]);
  await endAllSessions(tx, userId);
  for (const each of Object.values(AFTER_SESSIONS)) await tx.query(each, [userId]);
}
