import { Refusal } from "../errors.ts";
import { execute, type Sql, statement, type Tx, Undone } from "./sql.ts";

/** SQLSTATEs of temporary failures. @see PostgreSQL documentation, Appendix A */
const TEMPORARY = new Set([
  "25006", // read-only: a standby answers
  "25P03", // idle in transaction for too long
  "55P03", // lock_timeout
]);
/** Connection exceptions, connections refused, resources, intervention (statement_timeout included), errors outside PostgreSQL itself. */
const TEMPORARY_CLASSES = new Set(["08", "28", "53", "57", "58"]);

const sqlState = (error: unknown): string | undefined => {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) && "severity" in (error as Error) ? code : undefined;
};

/** The SQLSTATE of a server error, or of the refusal that it caused. */
const stateBehind = (error: unknown): string | undefined => sqlState(error instanceof Refusal ? error.detail.cause : error);

/**
 * Whether the server may not open its own files, which belong to another user, or are on a disk that has become read-only. Of other parts of
 * the server the same SQLSTATE says that the role lacks a privilege.
 */
const mayNotOpenFiles = (error: unknown): boolean =>
  sqlState(error) === "42501" && /^(?:md|fd|slru)\.c$/.test(String(Reflect.get(Object(error), "file")));

/** Whether the server's disk, memory or quota are full (class 53), or its files fail (class 58). */
export const isOutOfRoom = (error: unknown): boolean =>
  /^(?:5310|58)/.test(stateBehind(error) ?? "") || mayNotOpenFiles(error instanceof Refusal ? error.detail.cause : error);

/** Conflicts with other transactions: serialization failure, deadlock, lock timeout, and a referenced row that was just deleted. */
const COLLIDED = new Set(["40001", "40P01", "55P03", "23503"]);

/** Whether the transaction conflicted with another. It had no effect, and a retry would see what the other did. */
export const mayBeRepeated = (error: unknown): boolean => COLLIDED.has(stateBehind(error) ?? "");

export const isUniqueViolation = (error: unknown): boolean => stateBehind(error) === "23505";

/** Retries work once after a conflict. A second conflict is temporarily_unavailable: it had no effect, and a later call may succeed. */
export const repeatedOnce = <Result>(work: () => Promise<Result>): Promise<Result> =>
  work().catch((error: unknown) => {
    if (!mayBeRepeated(error)) throw error;
    return work().catch((second: unknown) => {
      throw mayBeRepeated(second) ? storageUnavailable(second) : second;
    });
  });

/** Whether a failed write has certainly changed nothing. */
export const changedNothing = (error: unknown): boolean => !isUnavailable(error) || mayBeRepeated(error);

/** SQLSTATEs with which the server ends a connection. The severity would say it too, but in the language of the server (lc_messages). */
const ENDS_CONNECTION = /^(?:08|28|57P|25P0[34]|53300)/;

/** Whether the connection can be reused: after an ordinary error of the server, which has not closed it. */
export const leavesConnection = (error: unknown): boolean => {
  if (error instanceof Undone || (error instanceof Refusal && error.reason !== "storage_unavailable")) return true;
  const state = stateBehind(error);
  return state !== undefined && !ENDS_CONNECTION.test(state);
};

/** For errors of lost or late connections, whose code is absent or the operating system's. */
const CONNECTION_LOST = /connection|timeout|timed out|terminated|closed|closing|calling end/i;

const isConnectionLost = (error: unknown): boolean =>
  error instanceof Error &&
  (("code" in error && typeof error.code === "string" && /^E[A-Z]/.test(error.code)) || CONNECTION_LOST.test(error.message));

type DatabaseError = Readonly<Record<"message" | "table" | "where", string>>;

/** Nothing takes effect without its audit record, so a failure to write the log is temporary and no internal fault. */
const isOfAuditLog = ({ message = "", table = "", where = "" }: Partial<DatabaseError>): boolean =>
  [message, table, where].some((text) => text.includes("audit_records"));

/** Of `use_proof` (migration 0017). */
const PROOF_USED = "CSP01";

/** A refusal when the database is out of reach, late or unable, or a proof was used before; else the error itself. */
export function asRefusedBy(error: unknown): unknown {
  if (error instanceof Refusal) return error;
  const state = sqlState(error);
  if (state === PROOF_USED) return new Refusal("invalid_dpop_proof", "dpop_proof_used", { cause: error });
  const unavailable =
    state === undefined
      ? isConnectionLost(error)
      : TEMPORARY.has(state) ||
        TEMPORARY_CLASSES.has(state.slice(0, 2)) ||
        mayNotOpenFiles(error) ||
        isOfAuditLog(error as Partial<DatabaseError>);
  return unavailable ? storageUnavailable(error) : error;
}

/** Runs a call of a driver and translates its errors by asRefusedBy. */
export async function translated<Result>(call: () => Promise<Result>): Promise<Result> {
  try {
    return await call();
  } catch (error) {
    throw asRefusedBy(error);
  }
}

export const storageUnavailable = (cause: unknown): Refusal =>
  new Refusal("temporarily_unavailable", "storage_unavailable", { cause, retryAfter: 5 });

export const isUnavailable = (error: unknown): boolean => error instanceof Refusal && error.code === "temporarily_unavailable";

const PING = statement("ping", "select 1 as one");
const READ_ONLY = statement("read_only", "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean as read_only");
// A meaningless row, which the sweep deletes.
const WRITE = statement(
  "write_probe",
  `insert into consumed_ids (kind, id_hash, expires_at) values ('write_probe', '', now())
   on conflict (kind, id_hash) do update set expires_at = excluded.expires_at`,
);
// On a full disk the row above is often written again in its page. What does not fit into the least memory goes to a file.
const LEAST_MEMORY = statement("least_memory", "select set_config('work_mem', '64kB', true) as memory");
const ROOM = statement("room_probe", "select count(*)::int as rows from generate_series(1, 100000)");
const TEMP_FILE_LIMIT = "53400";
const NOW = statement("database_clock", "select extract(epoch from clock_timestamp())::float8 as now");

/** `since`: whether a write has failed since the last look because disk or quota are full; reads still succeed then. */
export type Fullness = { since: boolean };

export type Readiness = ReturnType<typeof readiness>;

export const readiness = (sql: Sql, full: Fullness = { since: false }) => ({
  /** @throws {Refusal} temporarily_unavailable when the database does not answer */
  ping: (): Promise<void> => execute(sql, PING, []),
  /** Also checks writes: by writing, if one failed because the disk was full. @throws {Refusal} temporarily_unavailable */
  writes: async (): Promise<void> => {
    const [row] = await sql.query<{ read_only: boolean }>(READ_ONLY, []);
    if (row?.read_only !== false) throw storageUnavailable(Object.assign(new Error("the database is read-only"), { code: "25006" }));
    if (!full.since) return;
    const probes = sql.transaction(async (tx) => {
      for (const probe of [LEAST_MEMORY, WRITE, ROOM]) await tx.query(probe, []);
    });
    await probes.catch((error: unknown) => {
      if (stateBehind(error) !== TEMP_FILE_LIMIT) throw error; // the file grew until a limit of the role, or may not grow at all
    });
    full.since = false;
  },
  /** The database's clock, in seconds since the epoch with their fraction. */
  time: async (): Promise<number> => {
    const [row] = await sql.query<{ now: number }>(NOW, []);
    if (row === undefined) throw new Error("the database did not say what time it is");
    return row.now;
  },
});

const READ_SETTINGS = statement(
  "durability_settings",
  `select name, setting from pg_settings where name in ('fsync', 'full_page_writes', 'synchronous_commit', 'server_version_num')`,
);

/** The settings of PostgreSQL that decide whether an acknowledged change survives a crash, and its version, by name. */
export async function durabilitySettings(sql: Tx): Promise<Readonly<Record<string, string>>> {
  const rows = await sql.query<{ name: string; setting: string }>(READ_SETTINGS, []);
  return Object.fromEntries(rows.map(({ name, setting }) => [name, setting]));
}
