import { Refusal } from "../errors.ts";

/** SQLSTATEs that say "not now" rather than "wrong". @see PostgreSQL documentation, Appendix A */
const NOT_NOW = new Set([
  "25006", // read-only: a standby answers
  "25P03", // idle in transaction for too long
  "55P03", // lock_timeout
  "57014", // statement_timeout
  "57P01", // shut down by an administrator
  "57P02", // crash of a sibling
  "57P03", // starting up or shutting down
]);
/** Connection exceptions, connections refused, resources, errors outside PostgreSQL itself. */
const NOT_NOW_CLASSES = new Set(["08", "28", "53", "58"]);

const sqlState = (error: unknown): string | undefined => {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in (error as Error) ? code : undefined;
};

/** What the server itself said, if this is its error or the refusal that came of it. */
const stateBehind = (error: unknown): string | undefined => sqlState(error instanceof Refusal ? error.detail.cause : error);

/** Whether a write failed since disk, memory or quota of the server are used up (class 53), or its files fail (class 58). */
export const isOutOfRoom = (error: unknown): boolean => /^(?:5310|58)/.test(stateBehind(error) ?? "");

/** SQLSTATEs of what collided with others: no order with them was found, waited in vain, or what a row hangs on went away meanwhile. */
const COLLIDED = new Set(["40001", "40P01", "55P03", "23503"]);

/** Whether the transaction collided with others, and would see what they did when it is tried again; nothing of it has happened. */
export const mayBeRepeated = (error: unknown): boolean => COLLIDED.has(stateBehind(error) ?? "");

/**
 * Does something once more when it collided with others. What collides twice is unavailable, and not wrong: nothing of it has happened, and
 * later it may well go through.
 */
export const repeatedOnce = <Result>(work: () => Promise<Result>): Promise<Result> =>
  work().catch((error: unknown) => {
    if (!mayBeRepeated(error)) throw error;
    return work().catch((second: unknown) => {
      throw mayBeRepeated(second) ? storageUnavailable(second) : second;
    });
  });

/** Whether a failed write has certainly changed nothing: any error but those after which it may have happened. */
export const changedNothing = (error: unknown): boolean => !isUnavailable(error) || mayBeRepeated(error);

/** Whether the connection may go on serving after this error: the server itself said no, and has not hung up. */
export const leavesConnection = (error: unknown): boolean => {
  if (error instanceof Refusal && error.reason !== "storage_unavailable") return true;
  const cause = error instanceof Refusal ? error.detail.cause : error;
  return sqlState(cause) !== undefined && (cause as { readonly severity?: string }).severity === "ERROR";
};

/** How the drivers speak of a lost or late connection; they give these errors no code, or one of the operating system. */
const CONNECTION_LOST = /connection|timeout|timed out|terminated|closed|closing|calling end/i;

const isConnectionLost = (error: unknown): boolean =>
  error instanceof Error &&
  (("code" in error && typeof error.code === "string" && /^E[A-Z]/.test(error.code)) || CONNECTION_LOST.test(error.message));

interface DatabaseError {
  readonly message: string;
  readonly table: string;
  readonly where: string;
}

/** No record, no effect: whatever keeps the audit trail from being written makes the request one to be tried later, and no fault of it. */
const isOfTheTrail = ({ message = "", table = "", where = "" }: Partial<DatabaseError>): boolean =>
  [message, table, where].some((text) => text.includes("audit_records"));

/**
 * What a driver threw, as the rest of the service may see it: a refusal when the database is out of reach, overdue or unable,
 * else the fault as it was.
 */
export function asUnavailable(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const state = sqlState(error);
  const unavailable =
    state === undefined
      ? isConnectionLost(error)
      : NOT_NOW.has(state) || NOT_NOW_CLASSES.has(state.slice(0, 2)) || isOfTheTrail(error as Partial<DatabaseError>);
  return unavailable ? storageUnavailable(error) : error;
}

/** Runs a call of a driver, so that its errors are told as asUnavailable says. */
export async function told<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw asUnavailable(error);
  }
}

export const storageUnavailable = (cause: unknown): Refusal =>
  new Refusal("temporarily_unavailable", "storage_unavailable", { cause, retryAfter: 5 });

export const isUnavailable = (error: unknown): boolean => error instanceof Refusal && error.code === "temporarily_unavailable";
