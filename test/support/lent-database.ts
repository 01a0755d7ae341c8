import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { type Database, openDatabase } from "../../src/store/orm.ts";
import { type Sql, type Statement, statement } from "../../src/store/sql.ts";
import { freshDataDir } from "./data-directory.ts";
import { createTestDatabase } from "./postgres.ts";

/**
 * Databases that a worker of the test run lends to one file after another. A new embedded database costs 200 ms, and a second until it has
 * parsed and planned the statements of a server; to empty a used one costs a few.
 */
export interface LentDatabase {
  readonly database: Database;
  /** On PostgreSQL. */
  readonly url: string | undefined;
}

/** A database that is kept for the next borrower. */
interface Kept extends LentDatabase {
  /** The schema, so that a borrower who leaves it changed is noticed. */
  readonly shape: string;
  readonly tables: readonly string[];
  /** The rows that the migrations wrote, as JSON. */
  readonly rows: ReadonlyMap<string, string>;
  /** The texts of its prepared statements by name. */
  readonly prepared: Map<string, string>;
  discard(): Promise<void>;
  uses: number;
}

const idle: Record<Database["kind"], Kept[]> = { embedded: [], postgresql: [] };

/** Uses of a database after which the space of deleted rows is freed. */
const VACUUM_EVERY = 8;

const TABLES = statement(
  "lent_tables",
  "select relname::text as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1",
);

const SHAPE = statement(
  "lent_shape",
  `select md5(string_agg(part, ',' order by part)) as shape from (
     select concat_ws(' ', oid, relnatts) as part from pg_class where relnamespace = 'public'::regnamespace
     union all select concat_ws(' ', oid, convalidated) from pg_constraint where connamespace = 'public'::regnamespace
     union all select concat_ws(' ', oid, prosrc) from pg_proc where pronamespace = 'public'::regnamespace
     union all select concat_ws(' ', oid, tgenabled) from pg_trigger) as parts`,
);

/**
 * A statement is planned once, as PostgreSQL itself does from the sixth time on, and not each time before: a test seldom runs one so often.
 * PostgreSQL servers keep their default.
 */
const PLAN_ONCE = statement("lent_plan_once", "select set_config('plan_cache_mode', 'force_generic_plan', false)");

const shapeOf = async ({ sql }: Database): Promise<string> => (await sql.query<{ shape: string }>(SHAPE, []))[0]?.shape ?? "";

async function made(kind: Database["kind"]): Promise<Kept> {
  const postgres = kind === "embedded" ? undefined : await createTestDatabase();
  const dir = postgres === undefined ? await freshDataDir() : undefined;
  const database = await openDatabase({ url: postgres?.url, dir });
  if (database.kind === "embedded") await database.sql.query(PLAN_ONCE, []);
  const tables = (await database.sql.query<{ name: string }>(TABLES, [])).map(({ name }) => name);
  const rows = new Map<string, string>();
  for (const name of tables) {
    const all = statement(`lent_rows_${name}`, `select jsonb_agg(to_jsonb(t))::text as rows from ${name} as t`);
    const found = (await database.sql.query<{ rows: string | null }>(all, []))[0]?.rows;
    if (found) rows.set(name, found);
  }
  const discard = async () => {
    await database.close();
    await postgres?.drop();
    if (dir !== undefined) rmSync(dir, { recursive: true, force: true });
  };
  return { database, url: postgres?.url, shape: await shapeOf(database), tables, rows, prepared: new Map(), discard, uses: 0 };
}

/** Deletes all rows but those of the migrations, past foreign keys and triggers. */
async function empty({ database: { sql }, tables, rows }: Kept): Promise<void> {
  await sql.transaction(async (tx) => {
    await tx.query(statement("lent_replica", "set local session_replication_role = replica"), []);
    const deleted = tables.map((name) => `deleted_${name} as (delete from ${name})`).join(", ");
    const restarted =
      "select setval(oid::regclass, 1, false)::text from pg_class where relnamespace = 'public'::regnamespace and relkind = 'S'";
    await tx.query(statement("lent_delete", `with ${deleted} ${restarted}`), []);
    for (const [name, values] of rows) {
      const insert = `insert into ${name} select * from jsonb_populate_recordset(null::${name}, $1::text::jsonb)`;
      await tx.query(statement(`lent_insert_${name}`, insert), [values]);
    }
  });
}

async function takeBack(kept: Kept): Promise<void> {
  try {
    if ((await shapeOf(kept.database)) !== kept.shape) return await kept.discard();
    await empty(kept);
    kept.uses += 1;
    const vacuum = statement("lent_vacuum", `vacuum ${kept.tables.join(", ")}`);
    if (kept.uses % VACUUM_EVERY === 0) await kept.database.sql.query(vacuum, []);
    idle[kept.database.kind].push(kept);
  } catch {
    await kept.discard(); // a test has cut its connections
  }
}

/** A name always has the same text (src/store/sql.ts), but two test files may choose the same name. */
function distinct(prepared: Map<string, string>, { name, text }: Statement): Statement {
  const first = prepared.get(name);
  if (first === undefined) prepared.set(name, text);
  if (first === undefined || first === text) return { name, text };
  return { name: `lent_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`, text };
}

/** The statements of one borrower, none of which runs after the database has been given back. */
function whileLent({ database: { sql }, prepared }: Kept) {
  const running = new Set<Promise<unknown>>();
  let isLent = true;
  function during<Result>(work: () => Promise<Result>): Promise<Result> {
    if (!isLent) return Promise.reject(new Error("This test has given its database back."));
    const result = work();
    running.add(result);
    const ended = () => running.delete(result);
    result.then(ended, ended);
    return result;
  }
  const lent: Sql = {
    query: (one, parameters) => during(() => sql.query(distinct(prepared, one), parameters)),
    transaction: (work) =>
      during(() => sql.transaction((tx) => work({ query: (one, parameters) => tx.query(distinct(prepared, one), parameters) }))),
  };
  const end = async () => {
    isLent = false;
    await Promise.allSettled([...running]);
  };
  return { lent, end };
}

/** A database with the current schema and only the rows of the migrations. Closing it gives it back. */
export async function lentDatabase(kind: Database["kind"]): Promise<LentDatabase> {
  const kept = idle[kind].pop() ?? (await made(kind));
  const { lent, end } = whileLent(kept);
  let back: Promise<void> | undefined;
  let isReusable = true;
  const database: Database = {
    kind: kept.database.kind,
    sql: lent,
    full: kept.database.full,
    orm() {
      isReusable = false; // it has connections of its own
      return kept.database.orm();
    },
    migrate() {
      isReusable = false;
      return kept.database.migrate();
    },
    close() {
      back ??= end().then(() => (isReusable ? takeBack(kept) : kept.discard()));
      return back;
    },
  };
  return { database, url: kept.url };
}
