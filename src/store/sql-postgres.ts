import pg from "pg";
import {
  asRefusedBy,
  type Fullness,
  isOutOfRoom,
  leavesConnection,
  mayBeRepeated,
  repeatedOnce,
  storageUnavailable,
  translated,
} from "./availability.ts";
import { type Sql, statement, type Tx } from "./sql.ts";

/** Milliseconds. */
const CONNECT = 1_000;
const POOL_WAIT = 500;
const STATEMENT = 2_000;
/** For a silently lost connection: the server's deadline and a margin. */
const ANSWER = STATEMENT + 500;

const BYTEA = 17;
/** Of either form, which bytea_output of the server chooses. */
const bytes = (text: string): Uint8Array => {
  const buffer: Buffer = pg.types.getTypeParser(BYTEA)(text);
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
};

/** Bytes as Uint8Array, as the embedded database returns them; all other types as the driver does. */
export const types = new pg.TypeOverrides();
types.setTypeParser(BYTEA, bytes);

/** `size`: connections at most. `pooler`: `transaction` where a pooler gives each transaction another connection of the server. */
export interface PoolOptions {
  readonly size?: number;
  readonly pooler?: "none" | "transaction";
}

/** A statement sees what was committed before it, also after it waited for a lock: what limits, revokes and seals relies on that. */
const ISOLATION = "-c default_transaction_isolation=read\\ committed";

/** Statements and parameters are read as they are written: a backslash is one, and NULL in an array is null. */
const READING = "-c standard_conforming_strings=on -c array_nulls=on";

/**
 * What a connection of the server is set to, whatever the defaults of server, role and URL. An acknowledged write is on disk. Times come as
 * numbers with all of their digits. JIT compilation takes longer than these statements: 200 ms when an estimate is too high. The pool ends
 * idle connections, not the server, which could do it while a statement is on its way.
 */
const SESSION = {
  statement_timeout: STATEMENT,
  lock_timeout: 500,
  idle_in_transaction_session_timeout: 5_000,
  options: `${ISOLATION} ${READING} -c extra_float_digits=1 -c synchronous_commit=on -c jit=off -c idle_session_timeout=0`,
};

/** A migration takes as long as it takes. */
const MIGRATING = { options: `${ISOLATION} ${READING} -c statement_timeout=0 -c idle_in_transaction_session_timeout=0` };

type Session = { readonly options: string } & Partial<typeof SESSION>;

/**
 * Where a connection leads, and what it is set to. The driver lets parameters of the URL win, so those that are set here are taken out of
 * it; other `options` of the URL count, such as a `search_path`.
 * @param pooler one that sets up the connections itself, when it connects
 */
function setUp(url: string, pooler: PoolOptions["pooler"], session: Session) {
  if (pooler === "transaction") return { connectionString: url };
  const at = new URL(url);
  const options = [at.searchParams.get("options") ?? "", session.options].join(" ").trimStart(); // of two settings the later one counts
  for (const name of Object.keys(SESSION)) if (name in session || session.options.includes(` ${name}=`)) at.searchParams.delete(name);
  return { connectionString: at.search === new URL(url).search ? url : at.href, ...session, options };
}

/** How a migration connects. */
export const migratingSession = (url: string, { pooler }: PoolOptions = {}) => setUp(url, pooler, MIGRATING);

/** Parameters of the URL that name files, and those that say with them how TLS is spoken. */
const TLS_FILES = ["sslrootcert", "sslcert", "sslkey"];
const TLS = [...TLS_FILES, "sslmode", "ssl", "sslnegotiation", "uselibpqcompat"];

/**
 * The driver reads the files of the URL for each connection, so that renewed ones count. One that cannot be read at the moment (it is being
 * replaced, no descriptor is left) counts as it was: the pool also connects where nothing catches an error, which would end the process.
 * @throws {Error} when a file cannot be read now
 */
function tlsOf(url: string) {
  const at = new URL(url);
  if (!TLS_FILES.some((name) => at.searchParams.has(name))) return { url };
  const read = (): pg.ClientConfig["ssl"] => Reflect.get(new pg.Client(url), "ssl");
  let ssl = read();
  const isDirect = at.searchParams.get("sslnegotiation") === "direct";
  class Client extends pg.Client {
    constructor(config?: pg.ClientConfig) {
      try {
        ssl = read();
      } catch {}
      super({ ...config, ssl, ...(isDirect && { sslnegotiation: "direct" }) });
    }
  }
  for (const name of TLS) at.searchParams.delete(name);
  return { url: at.href, Client };
}

export function postgresPool(given: string, { size = 8, pooler = "none" }: PoolOptions): pg.Pool {
  const { url, Client } = tlsOf(given);
  const pool = new pg.Pool({
    ...setUp(url, pooler, SESSION),
    ...(Client && { Client }),
    max: size,
    types,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT,
    idleTimeoutMillis: 60_000,
    query_timeout: ANSWER,
    application_name: "countersign",
  });
  // The waiting call gets the error of a lost connection; without listeners it would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** A connection of the pool. @throws {Refusal} when there is none, whatever the reason: no request is to blame for it */
async function connection(pool: pg.Pool): Promise<pg.PoolClient> {
  const client = pool.connect().catch((error: unknown) => {
    throw storageUnavailable(error);
  });
  if (pool.idleCount > 0 || pool.totalCount < (pool.options.max ?? 0)) return client;
  let timer: NodeJS.Timeout | undefined;
  const overdue = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(storageUnavailable(new Error("every connection is taken"))), POOL_WAIT);
  });
  try {
    return await Promise.race([client, overdue]);
  } catch (error) {
    client.then(
      (late) => late.release(),
      () => {},
    );
    throw error;
  } finally {
    clearTimeout(timer);
  }
}

async function inTransaction<Result>(client: pg.PoolClient, isNamed: boolean, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  await translated(() => client.query("begin"));
  try {
    const result = await work({
      query: ({ name, text }, parameters) =>
        translated(async () => (await client.query({ name: isNamed ? name : undefined, text, values: [...parameters] })).rows),
    });
    await translated(() => client.query("commit"));
    return result;
  } catch (error) {
    if (leavesConnection(error)) await translated(() => client.query("rollback"));
    throw error;
  }
}

/**
 * A connection is reused only after success or an ordinary error of the server.
 * @param pool its errors are translated here
 * @param full notes that a statement or transaction failed for want of room
 * @param isNamed false where a connection of the server served another transaction before, which may have named other statements alike
 */
export const poolSql = (pool: { connect(): Promise<pg.PoolClient> }, full: Fullness, isNamed = true): Sql => ({
  async query({ name, text }, parameters) {
    for (let isRepeated = false; ; isRepeated = true) {
      let client: pg.PoolClient | undefined;
      let keep = true;
      try {
        client = await pool.connect();
        return (await client.query({ name: isNamed ? name : undefined, text, values: [...parameters] })).rows;
      } catch (error) {
        const refused = asRefusedBy(error);
        full.since ||= isOutOfRoom(refused);
        keep = leavesConnection(refused);
        if (!mayBeRepeated(refused)) throw refused;
        if (isRepeated) throw storageUnavailable(refused);
      } finally {
        client?.release(!keep);
      }
    }
  },
  transaction: (work) =>
    repeatedOnce(async () => {
      let client: pg.PoolClient | undefined;
      let keep = true;
      try {
        client = await translated(() => pool.connect());
        return await inTransaction(client, isNamed, work);
      } catch (error) {
        full.since ||= isOutOfRoom(error);
        keep = leavesConnection(error);
        throw error;
      } finally {
        client?.release(!keep);
      }
    }),
});

export const postgresSql = (pool: pg.Pool, full: Fullness, { pooler }: PoolOptions): Sql =>
  poolSql({ connect: () => connection(pool) }, full, pooler !== "transaction");

const READ_SESSION = statement(
  "pooler_session",
  `select current_setting('synchronous_commit') not in ('off', 'local') as durable,
     current_setting('default_transaction_isolation') = 'read committed' and current_setting('extra_float_digits')::int > 0
       and current_setting('standard_conforming_strings') = 'on' and current_setting('array_nulls') = 'on' as sound,
     (select bool_and(setting::int between 1 and 60000) from pg_settings
      where name in ('statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout')) as bounded`,
);

/** @throws {Error} when the connections that a pooler opens lack the settings that this process gives to its own */
export async function assertPoolerSettings(sql: Tx): Promise<void> {
  const [session] = await sql.query<{ durable: boolean; sound: boolean; bounded: boolean }>(READ_SESSION, []);
  if (session?.sound === false)
    throw new Error(
      "DATABASE_POOLER: default_transaction_isolation has to be read committed, extra_float_digits 1, and standard_conforming_strings and array_nulls on; reset them for role and database.",
    );
  if (session?.durable === true && session.bounded) return;
  throw new Error(
    "DATABASE_POOLER: the pooler's connections lack synchronous_commit, statement_timeout, lock_timeout or idle_in_transaction_session_timeout; set its connect_query as docs/production.md says.",
  );
}
