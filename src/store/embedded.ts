import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Duplex } from "node:stream";
import type { PGlite } from "@electric-sql/pglite";
import type { Pool } from "pg";
import { lockDirectory } from "./directory-lock.ts";
import { assertSpace } from "./embedded-space.ts";

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
    return {
      pglite,
      close: async () => {
        if (!pglite.closed && !ended.has(pglite)) await pglite.close();
        lock?.close();
      },
    };
  } catch (error) {
    lock?.close();
    throw error;
  }
}

/** Databases whose PostgreSQL ended by a PANIC, after which a call would never return. Only a new process can recover the files. */
const ended = new WeakSet<PGlite>();
/** The severity in an error of the server; no value has a NUL. */
const PANIC = Buffer.from("VPANIC\0");

/** PostgreSQL prepares all of its buffers at the start. The default of 128 MB costs 90 of 190 ms; further pages are in the system's cache. */
const BUFFERS = ["-c", "shared_buffers=16MB"];

async function pgliteIn(dataDir: string, marker: string): Promise<PGlite> {
  if (existsSync(marker)) rmSync(dataDir, { recursive: true, force: true });
  if (!existsSync(dataDir)) {
    writeFileSync(marker, "", { mode: 0o600 });
    // Unpacking a prepared cluster takes a tenth of the time of initdb, and a fifth of unpacking through PGlite's file system.
    const [{ unpack }, cluster] = await Promise.all([import("./unpack.ts"), blankCluster()]);
    await unpack(new Uint8Array(await cluster.arrayBuffer()), dataDir);
    rmSync(marker);
  }
  const { PGlite } = await import("@electric-sql/pglite");
  // Without this file PGlite would take the directory for a new one and overwrite it.
  if (!existsSync(join(dataDir, "PG_VERSION"))) throw damaged(dataDir);
  try {
    return await PGlite.create({ dataDir, startParams: [...PGlite.defaultStartParams, ...BUFFERS] });
  } catch (cause) {
    throw damaged(dataDir, cause);
  }
}

const damaged = (dataDir: string, cause?: unknown): Error =>
  new Error(
    `DATA_DIR: the database files under ${dataDir} are damaged and were left as they are; restore the directory from a backup, or move it away to begin with an empty database.`,
    { cause },
  );

async function pgliteInMemory(): Promise<PGlite> {
  const [{ PGlite }, loadDataDir] = await Promise.all([import("@electric-sql/pglite"), blankCluster()]);
  return PGlite.create({ loadDataDir, startParams: [...PGlite.defaultStartParams, ...BUFFERS] });
}

const blankCluster = async (): Promise<Blob> => {
  const { dataDir } = await import("@electric-sql/pglite-prepopulatedfs");
  return dataDir();
};

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

/** Ends the process as after any unexpected error: a supervisor starts it again, and PostgreSQL recovers. */
function end(database: PGlite): void {
  ended.add(database);
  setImmediate(() => {
    throw new Error("the embedded database ended after a write that failed");
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
    if (ended.has(this.#database)) {
      this.destroy(new Error("the embedded database has closed after a failed write"));
      return this;
    }
    this.#database.exec("rollback; deallocate all").then(
      () => this.emit("connect"),
      (error: Error) => this.destroy(error),
    );
    return this;
  }

  override _writev(messages: readonly { readonly chunk: Uint8Array }[], done: (error?: Error) => void): void {
    const database = this.#database;
    const onRawData = (answer: Uint8Array) => {
      const copy = Buffer.from(answer);
      if (copy.includes(PANIC) && !ended.has(database)) end(database);
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
