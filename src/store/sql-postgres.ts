import pg from "pg";
import { leavesConnection, repeatedOnce, storageUnavailable, translated } from "./availability.ts";
import type { Parameter, Sql, Statement } from "./sql.ts";

/** Milliseconds. */
const CONNECT = 1_000;
const POOL_WAIT = 500;
const STATEMENT = 2_000;
/** For a silently lost connection: the server's deadline and a margin. */
const ANSWER = STATEMENT + 500;

const BYTEA = 17;
const bytes = (text: string): Uint8Array => {
  const buffer = Buffer.from(text.slice(2), "hex");
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
};

/** Bytes as Uint8Array, as the embedded database returns them; all other types as the driver does. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: "text" | "binary") =>
    oid === BYTEA && format !== "binary" ? bytes : pg.types.getTypeParser(oid, format as "text")) as pg.CustomTypesConfig["getTypeParser"],
};

/** @param size connections at most */
export function postgresPool(url: string, size: number): pg.Pool {
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    types,
    keepAlive: true,
    connectionTimeoutMillis: CONNECT,
    idleTimeoutMillis: 60_000,
    query_timeout: ANSWER,
    statement_timeout: STATEMENT,
    lock_timeout: 500,
    idle_in_transaction_session_timeout: 5_000,
    application_name: "countersign",
    // An acknowledged write is on disk, whatever the server's and role's defaults. JIT compilation takes longer than these statements: 200
    // ms when an estimate is too high.
    options: "-c synchronous_commit=on -c jit=off",
  });
  // The waiting call gets the error of a lost connection; without listeners it would end the process.
  pool.on("error", () => {});
  pool.on("connect", (client) => client.on("error", () => {}));
  return pool;
}

/** A connection of the pool. @throws {Refusal} when all of them stay in use */
async function connection(pool: pg.Pool): Promise<pg.PoolClient> {
  const client = translated(() => pool.connect());
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

async function withConnection<Result>(pool: pg.Pool, work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
  const client = await connection(pool);
  let keep = true;
  try {
    return await work(client);
  } catch (error) {
    keep = leavesConnection(error);
    throw error;
  } finally {
    client.release(!keep);
  }
}

const run = <Row>(client: pg.PoolClient, { name, text }: Statement, parameters: readonly Parameter[]): Promise<Row[]> =>
  translated(async () => (await client.query({ name, text, values: [...parameters] })).rows as Row[]);

async function inTransaction<Result>(client: pg.PoolClient, work: (tx: Pick<Sql, "query">) => Promise<Result>): Promise<Result> {
  await translated(() => client.query("begin"));
  try {
    const result = await work({ query: (statement, parameters) => run(client, statement, parameters) });
    await translated(() => client.query("commit"));
    return result;
  } catch (error) {
    if (leavesConnection(error)) await translated(() => client.query("rollback"));
    throw error;
  }
}

/** A connection is reused only after success or an ordinary error of the server. */
export const postgresSql = (pool: pg.Pool): Sql => ({
  query: (statement, parameters) => repeatedOnce(() => withConnection(pool, (client) => run(client, statement, parameters))),
  transaction: (work) => repeatedOnce(() => withConnection(pool, (client) => inTransaction(client, work))),
});
