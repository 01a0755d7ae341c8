import { SESSION_ENDED } from "../accounts/account.ts";
import type { OwnSession } from "../accounts/ports.ts";
import { Refusal } from "../errors.ts";
import { firstRow, hasRow, type Sql, statements, type Tx } from "./sql.ts";

const SQL = statements("hold", {
  user: "select enabled from users where id = $1::uuid for no key update",
  session: `select 1 as one from sessions join users on users.id = user_id and users.epoch = user_epoch
   where sessions.id = $1::uuid and user_id = $2::uuid and ended_at is null and expires_at > now() for no key update of sessions`,
  sessionsOfUser:
    "select 1 as one from sessions where user_id = $1::uuid and ended_at is null and expires_at > now() order by id for no key update",
});

/** Locks the user, so that two changes of their ways to sign in do not cross. @returns whether the user exists and is enabled */
export const holdUser = async (tx: Tx, userId: string): Promise<boolean> =>
  (await firstRow<{ enabled: boolean }>(tx, SQL.user, [userId]))?.enabled === true;

/**
 * Locks user and session for what only a living session may do, such as a change of the ways to sign in. What ends the user's sessions waits
 * for it, and then removes it; or it waits, and the session has ended. The lock is that of an update, for callers that end the session
 * themselves: raising a share lock could deadlock with a sign-out.
 * @throws {Refusal} login_required when the session has ended
 */
export async function holdSession(tx: Tx, { id, userId }: OwnSession): Promise<void> {
  if ((await holdUser(tx, userId)) && (await hasRow(tx, SQL.session, [id, userId]))) return;
  throw new Refusal("login_required", SESSION_ENDED, { description: "The session has ended. Sign in again." });
}

/** Runs work in a transaction that holds the session, as holdSession does. @throws {Refusal} login_required when it has ended */
export const withSession = <Result>(sql: Sql, session: OwnSession, work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  sql.transaction(async (tx) => {
    await holdSession(tx, session);
    return work(tx);
  });

/** Locks all living sessions of a user, for who holds one of them and then ends them all (docs/decisions/0014). */
export const holdSessionsOf = (tx: Tx, userId: string): Promise<unknown> => tx.query(SQL.sessionsOfUser, [userId]);

/**
 * Locks the user for a removal, and the session of a user who removes.
 * @param sessionId undefined where an operator removes
 * @throws {Refusal} login_required when the session has ended
 */
export const holdRemover = (tx: Tx, userId: string, sessionId: string | undefined): Promise<unknown> =>
  sessionId === undefined ? holdUser(tx, userId) : holdSession(tx, { id: sessionId, userId });
