import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { performance } from "node:perf_hooks";
import { Duplex } from "node:stream";
import { buffer } from "node:stream/consumers";
import { setFlagsFromString } from "node:v8";
import { gunzipSync } from "node:zlib";
import type { Extension, PGlite } from "@electric-sql/pglite";
import type { Pool } from "pg";
import { assertOwn, lockDirectory } from "./directory-lock.ts";
import { type Sql, statement } from "./sql.ts";

/** Bytes that stay free. PostgreSQL does not survive a file of its log (16 MiB) that it cannot create, so that writes end before. */
const RESERVE = 48 * 2 ** 20;
/** Milliseconds between two looks. */
const EVERY = 1_000;

const READ_ONLY = statement("embedded_read_only", "select set_config('default_transaction_read_only', $1::text, false)");

/** Bytes that are free on the disk of a directory. */
const freeSpace = async (dir: string): Promise<number> => {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
};

/** @param full whether less than 48 MiB are free */
export type OnDisk = (full: boolean) => void;

/** @throws {Error} when the disk of a data directory is full */
export async function assertSpace(dir: string, free = freeSpace): Promise<void> {
  if ((await free(dir)) < RESERVE)
    throw new Error(`DATA_DIR: less than ${RESERVE / 2 ** 20} MiB are free on the disk of ${dir}; the embedded database needs them.`);
}

/**
 * Makes the embedded database read-only while its disk is nearly full: writes are refused and health reports it, reads go on.
 * @param changed is called when the disk has become full, and when it has room again
 * @returns a function that stops it, and one that looks at once
 */
export function guardSpace(sql: Sql, dir: string, changed: OnDisk = () => undefined, free = freeSpace) {
  let readOnly = false;
  const look = async (): Promise<void> => {
    const isShort = (await free(dir)) < RESERVE;
    if (isShort === readOnly) return;
    await sql.query(READ_ONLY, [isShort ? "on" : "off"]);
    readOnly = isShort;
    changed(isShort);
  };
  const timer = setInterval(() => void look().catch(() => undefined), EVERY).unref();
  return { look, stop: () => clearInterval(timer) };
}

export type EmbeddedDatabase = { readonly pglite: PGlite; close(): Promise<void> };

/**
 * The embedded PostgreSQL, in memory or under `dir`/pg, which is locked until it is closed. An interrupted first start leaves a marker
 * file; its directory holds no data yet and is created again.
 * @throws {Error} when the directory is in use
 */
export async function embeddedDatabase(dir?: string): Promise<EmbeddedDatabase> {
  const lock = dir === undefined ? undefined : lockDirectory(dir);
  try {
    if (dir !== undefined) await assertSpace(dir);
    const pglite = await (dir === undefined ? pgliteInMemory() : pgliteIn(join(dir, "pg"), join(dir, "pg.beginning")));
    const watch = setInterval(() => {
      if (lock?.isHeld() === false && !ended.has(pglite)) end(pglite, new DirectoryReplaced());
    }, EVERY).unref();
    return {
      pglite,
      close: async () => {
        clearInterval(watch);
        try {
          if (lock?.isHeld() === false) throw new DirectoryReplaced();
          if (!pglite.closed && !ended.has(pglite)) await pglite.close();
        } finally {
          lock?.close();
        }
      },
    };
  } catch (error) {
    lock?.close();
    throw error;
  }
}

/** Databases that take no more calls, and why. A call after a PANIC would never return; only a new process can recover the files. */
const ended = new WeakMap<PGlite, Error>();
/** The severity in an error of the server; no value has a NUL. */
const PANIC = Buffer.from("VPANIC\0");

/** PostgreSQL prepares all of its buffers at the start. The default of 128 MB costs 90 of 190 ms; further pages are in the system's cache. */
const BUFFERS = ["-c", "shared_buffers=16MB"];

/**
 * Functions of PostgreSQL that are long and seldom called, since statements stay parsed. V8 would find them worth optimising during the
 * migrations, or after some days, and take 600 MB of memory and 3 s of a processor for the parser, 150 MB and 4 s for the others.
 */
const UNOPTIMISED = ["_raw_parser", "_standard_ProcessUtility", "_outNode", "_nodeRead"];

/** What these call first, as many others do. */
const OPTIMISED = ["_check_stack_depth", "_appendStringInfoString"];

/**
 * What V8 compiles while only function 0 may be optimised stays as it is, and it compiles a function when that is first called. The address
 * lies outside of the database's memory, so that each call ends at its first read.
 */
function leaveUnoptimised(database: Readonly<Record<string, (address: number) => void>>): void {
  const call = (name: string) => {
    try {
      database[name]?.(-1);
    } catch {}
  };
  OPTIMISED.forEach(call);
  setFlagsFromString("--wasm-tier-up-filter=0");
  UNOPTIMISED.forEach(call);
  setFlagsFromString("--wasm-tier-up-filter=-1");
}

const sparing: Extension = {
  name: "sparing",
  setup: async (_database, options) => ({ emscriptenOpts: { ...options, postRun: [leaveUnoptimised] } }),
};

/** Whether there is a database in this data directory, for callers that must not make one. */
export const hasEmbedded = (dir: string): boolean => existsSync(join(dir, "pg"));

async function pgliteIn(dataDir: string, marker: string): Promise<PGlite> {
  if (existsSync(marker)) rmSync(dataDir, { recursive: true, force: true });
  if (!existsSync(dataDir)) {
    writeFileSync(marker, "", { mode: 0o600 });
    // Unpacking a prepared cluster takes a tenth of the time of initdb, and a fifth of unpacking through PGlite's file system.
    await unpack(new Uint8Array(await (await blankCluster()).arrayBuffer()), dataDir);
    rmSync(marker);
  }
  const { PGlite } = await import("@electric-sql/pglite");
  // Without this file PGlite would take the directory for a new one and overwrite it.
  if (!existsSync(join(dataDir, "PG_VERSION"))) throw damaged(dataDir);
  try {
    return await PGlite.create({ dataDir, startParams: [...PGlite.defaultStartParams, ...BUFFERS], extensions: { sparing } });
  } catch (cause) {
    throw damaged(dataDir, cause);
  }
}

function damaged(dataDir: string, cause?: unknown): Error {
  assertOwn(dataDir);
  return new Error(
    `DATA_DIR: the database files under ${dataDir} are damaged and were left as they are; restore the directory from a backup, or move it away to begin with an empty database.`,
    { cause },
  );
}

async function pgliteInMemory(): Promise<PGlite> {
  const [{ PGlite }, loadDataDir] = await Promise.all([import("@electric-sql/pglite"), blankCluster()]);
  return PGlite.create({ loadDataDir, startParams: [...PGlite.defaultStartParams, ...BUFFERS], extensions: { sparing } });
}

const blankCluster = async (): Promise<Blob> => {
  const { dataDir } = await import("@electric-sql/pglite-prepopulatedfs");
  return dataDir();
};

/**
 * Unpacks a gzipped tar below `target`, readable by this user alone.
 * @throws {Error} for an entry that is no plain file or directory, or leads outside
 */
async function unpack(packed: Uint8Array, target: string): Promise<void> {
  const { extract } = await import("tar-stream");
  const archive = extract();
  archive.end(gunzipSync(packed));
  for await (const entry of archive) {
    const { name, type } = entry.header;
    if (name.split("/").includes("..")) throw new Error("the archive is damaged");
    const path = join(target, name);
    mkdirSync(type === "directory" ? path : dirname(path), { recursive: true, mode: 0o700 });
    if (type === "file") writeFileSync(path, await buffer(entry), { mode: 0o600 });
    else if (type !== "directory") throw new Error("the archive contains more than files and directories");
    entry.resume();
  }
}

/**
 * One connection to the embedded database, on which statements and transactions wait for each other. The driver of PostgreSQL keeps its
 * statements parsed and planned, which PGlite's own `query` does not: requests cost two thirds of what they did (docs/performance.md).
 * Inside a transaction only its `tx` may be used; any other statement would deadlock.
 */
export async function embeddedPool(database: PGlite): Promise<Pool> {
  const [{ default: pg }, { types }] = await Promise.all([import("pg"), import("./sql-postgres.ts")]);
  const stream = () => new EmbeddedStream(database);
  return new pg.Pool({ user: "postgres", database: "postgres", ssl: false, types, max: 1, idleTimeoutMillis: 0, stream });
}

/** PostgreSQL opens files by their paths: it would mix the database that was there with one that is put in its place, as by a restore. */
class DirectoryReplaced extends Error {
  override readonly name = "DirectoryReplaced";
}

/** Ends the process as after any unexpected error: a supervisor starts it again, and PostgreSQL recovers. */
function end(database: PGlite, why: Error): void {
  ended.set(database, why);
  setImmediate(() => {
    throw why;
  });
}

/** Carries the protocol of PostgreSQL (its documentation, chapter 55) between the driver and the database in this process. */
class EmbeddedStream extends Duplex {
  readonly #database: PGlite;

  constructor(database: PGlite) {
    super();
    this.#database = database;
  }

  /** The driver's call for a socket. A predecessor may have left a transaction and prepared statements in the only session there is. */
  connect(): this {
    const why = ended.get(this.#database);
    if (why !== undefined) return this.destroy(why);
    this.#database.exec("rollback; deallocate all").then(
      () => this.emit("connect"),
      (error: Error) => this.destroy(error),
    );
    return this;
  }

  override _writev(messages: readonly { readonly chunk: Uint8Array }[], done: (error?: Error) => void): void {
    const database = this.#database;
    const why = ended.get(database);
    if (why !== undefined) {
      done(why);
      return;
    }
    const onRawData = (answer: Uint8Array) => {
      const copy = Buffer.from(answer);
      if (copy.includes(PANIC) && !ended.has(database)) end(database, new Error("the embedded database ended after a write that failed"));
      this.push(copy);
    };
    const chunks: Uint8Array[] = [];
    for (const { chunk } of messages) chunks.push(chunk);
    const message = Buffer.concat(chunks);
    database.runExclusive(() => database.execProtocolRawStream(message, { onRawData })).then(() => done(), done);
  }

  override _read(): void {}

  override _final(done: () => void): void {
    this.push(null);
    done();
  }

  setNoDelay(): void {}
  setKeepAlive(): void {}
  ref(): void {}
  unref(): void {}
}

export interface VacuumTerms {
  /** Writing transactions between two vacuums of a table, at least. */
  readonly transactions: number;
  /** A table rests so many times as long as its last vacuum took: all requests wait for a vacuum. */
  readonly rest: number;
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number;
}

const TERMS: VacuumTerms = { transactions: 2_000, rest: 50, now: () => performance.now() };

/** The number of the next transaction, and the tables; none while the database is read-only because its disk is nearly full. */
const STATE = statement(
  "vacuum_state",
  `select pg_snapshot_xmax(pg_current_snapshot())::text::float8 as next,
     array(select oid::regclass::text from pg_class
       where relkind = 'r' and relnamespace = 'public'::regnamespace and current_setting('default_transaction_read_only') = 'off'
       order by oid) as tables`,
);

/**
 * The vacuum of the embedded database, which has no autovacuum: without it the space of deleted rows is never used again, and statements are
 * planned for tables that are empty. Every table is due once after a start.
 * @returns vacuums one table that is due, and returns its name; undefined when none is due
 */
export function embeddedVacuum(sql: Sql, terms: Partial<VacuumTerms> = {}): () => Promise<string | undefined> {
  const { transactions, rest, now } = { ...TERMS, ...terms };
  const last = new Map<string, { readonly transaction: number; readonly restsUntil: number }>();
  return async () => {
    const [state] = await sql.query<{ next: number; tables: readonly string[] }>(STATE, []);
    if (state === undefined) return undefined;
    const begun = now();
    const isDue = (table: string): boolean => {
      const vacuumed = last.get(table);
      return vacuumed === undefined || (begun >= vacuumed.restsUntil && state.next - vacuumed.transaction >= transactions);
    };
    // Those that were not vacuumed yet first, then the one whose turn was longest ago: a Map keeps the order in which they were set.
    const [table] = [...state.tables.filter((one) => !last.has(one)), ...last.keys()].filter(isDue);
    if (table === undefined) return undefined;
    await sql.query(statement("", `vacuum (analyze) ${table}`), []);
    const ended = now();
    last.delete(table);
    last.set(table, { transaction: state.next, restsUntil: ended + (ended - begun) * rest });
    return table;
  };
}
