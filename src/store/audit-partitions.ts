import { SEAL_LOCK } from "./audit-sealer.ts";
import { firstId } from "./audit-trail.ts";
import { type Sql, seconds, statement, statements, type Tx } from "./sql.ts";

/** Seconds. */
const DAY = 86_400;

/** The state of the partitions of the audit trail. Times are seconds since the epoch; ranges of ids are named by the times that they begin with. */
export interface Partitions {
  readonly now: number;
  /** Whether all records are in the one partition that was there first, which has no range yet. */
  readonly isWhole: boolean;
  /** Where the last range ends; null: there is none. */
  readonly end: number | null;
  /** Whether the default partition has records that belong behind the last range. */
  readonly isFilled: boolean;
  /**
   * A constraint on the default partition: it holds nothing from `to` on. `isOfBoth`: links have it too, which a process of an earlier
   * release does not know; `isProven` of both for the rows that were there before it.
   */
  readonly limit: { readonly to: number; readonly isOfBoth: boolean; readonly isProven: boolean } | null;
}

/**
 * - `attach`: a new range `from` the end of the last one.
 * - `limit`, `prove`, `split`: turn a default partition that has records into a range, without a lock while its rows are read.
 * - `release`: removes a limit that was left behind, before it could refuse a record, or that records have alone.
 */
export type Step =
  | { readonly kind: "attach"; readonly from: number; readonly to: number }
  | { readonly kind: "limit" | "release"; readonly to: number }
  | { readonly kind: "prove"; readonly to: number }
  | { readonly kind: "split"; readonly from: number | null; readonly to: number };

/** Seconds for which there is room at least when a limit is set, and at which it is removed if it still stands. */
const ROOM = 7 * DAY;
const LAST_CALL = 3 * DAY;

/** Days of one range: a twelfth of what is kept, so that there are about fourteen partitions whatever AUDIT_KEEP_DAYS is. Pure. */
export const daysOfRange = (keepDays: number): number => Math.max(1, Math.ceil(keepDays / 12));

const startOfDay = (moment: number): number => Math.floor(moment / DAY) * DAY;

/** The limit that must go because its time is near. Pure. */
const expiringLimit = ({ limit, now }: Pick<Partitions, "limit" | "now">): number | undefined =>
  limit !== null && limit.to - now < LAST_CALL ? limit.to : undefined;

/** The next change of the partitions, so that the records of the days to come have a range. Pure. @returns undefined: they have */
export function nextStep(partitions: Partitions, keepDays: number): Step | undefined {
  const { now, isWhole, end, isFilled, limit } = partitions;
  const range = daysOfRange(keepDays) * DAY;
  const expiring = expiringLimit(partitions);
  if (expiring !== undefined) return { kind: "release", to: expiring };
  if (limit?.isOfBoth === false) return { kind: "release", to: limit.to };
  if (limit !== null) return limit.isProven ? { kind: "split", from: end, to: limit.to } : { kind: "prove", to: limit.to };
  if (isWhole || isFilled || end === null) return { kind: "limit", to: startOfDay(now) + Math.max(range, ROOM) + DAY };
  if (end > now + range) return undefined;
  return { kind: "attach", from: end, to: end > now ? end + range : startOfDay(now) + range + DAY };
}

/** The partitioned tables, which have the same ranges, in the order in which statements lock them; and the functions that keep their rows. */
const TABLES = { audit_records: "audit_trail_is_kept", audit_links: "audit_numbers_are_kept" } as const;
type Name = keyof typeof TABLES;
const NAMES = Object.keys(TABLES) as readonly Name[];
/** The partition that was there first (migration 0022), and the one for what no range holds. */
const firstOf = (table: Name): string => `${table}_first`;
const defaultOf = (table: Name): string => `${table}_default`;
const FIRST = firstOf("audit_records");
const DEFAULT = defaultOf("audit_records");
const LIMIT = "audit_records_limit";

/** SQLSTATE of a constraint that does not exist. */
const UNDEFINED_OBJECT = "42704";

/** SQL for the moment at which a range ends or a limit stands, from its definition: ids begin with milliseconds. */
const momentIn = (definition: string): string =>
  `('x' || lpad(replace(substring(${definition} from '.*''([0-9a-f]{8}-[0-9a-f]{4})'), '-', ''), 16, '0'))::bit(64)::bigint / 1000.0`;

const LOCK = 7_235_107_485;

const SQL = statements("audit", {
  partitions: `with ranges as (
     select max(${momentIn("pg_get_expr(child.relpartbound, child.oid)")})::float8 as end
     from pg_inherits join pg_class child on child.oid = inhrelid
     where inhparent = 'audit_records'::regclass and pg_get_expr(child.relpartbound, child.oid) <> 'DEFAULT'),
   rest as (select partdefid as oid from pg_partitioned_table where partrelid = 'audit_records'::regclass),
   of_links as (
     select convalidated from pg_constraint join pg_partitioned_table on partdefid = conrelid
     where partrelid = 'audit_links'::regclass and conname = '${LIMIT}')
   select ${seconds("now()")} as now, rest.oid = '${FIRST}'::regclass as "isWhole", ranges.end,
     (select json_build_object('to', ${momentIn("pg_get_constraintdef(pg_constraint.oid)")}, 'isOfBoth', exists (select from of_links),
        'isProven', convalidated and exists (select from of_links where convalidated)) from pg_constraint
      where conrelid = rest.oid and conname = '${LIMIT}') as limit
   from rest, ranges`,
  partitionsFilled: `select exists (select from ${DEFAULT} where id >= $1::uuid) as filled`,
  partitionsLock: "select pg_try_advisory_xact_lock($1::float8::bigint) as taken",
  /** The sealer locks links before records, and steps the other way round. */
  partitionsStopSealing: "select 1 as one from pg_advisory_xact_lock($1::float8::bigint)",
  /** The oldest range whose days have passed. */
  partitionsPassed: `select child.relname as name from pg_inherits join pg_class child on child.oid = inhrelid
   where inhparent = 'audit_records'::regclass and child.relname not in ('${FIRST}', '${DEFAULT}')
     and ${momentIn("pg_get_expr(child.relpartbound, child.oid)")} < extract(epoch from now()) order by 1 limit 1`,
});

async function stateOf(tx: Tx): Promise<Partitions> {
  const [state] = await tx.query<Omit<Partitions, "isFilled">>(SQL.partitions, []);
  if (state === undefined) throw new Error("the audit trail has no default partition");
  const [rest] = state.isWhole ? [] : await tx.query<{ filled: boolean }>(SQL.partitionsFilled, [firstId(state.end ?? 0)]);
  return { ...state, isFilled: rest?.filled === true };
}

const bound = (moment: number | null): string => (moment === null ? "minvalue" : `'${firstId(moment)}'`);
const nameOf = (table: Name, to: number): string => `${table}_until_${new Date(to * 1000).toISOString().slice(0, 10).replaceAll("-", "")}`;

/** A partition like the others. The triggers that statements have are those of the table they name, so each has its own. */
const create = (table: Name, name: string): readonly string[] => [
  `create table ${name} (like ${firstOf(table)} including all)`,
  `create trigger ${table}_not_deleted after delete on ${name} referencing old table as removed for each statement execute function ${TABLES[table]}()`,
  `create trigger ${table}_not_emptied before truncate on ${name} for each statement execute function audit_is_append_only()`,
];

const attach = (table: Name, name: string, from: number | null, to: number): string =>
  `alter table ${table} attach partition ${name} for values from (${bound(from)}) to (${bound(to)})`;

/** The statements of a step for one table. None of them reads the rows of a large table. */
function textsOf(table: Name, step: Exclude<Step, { kind: "prove" }>, isWhole: boolean): readonly string[] {
  const rest = isWhole ? firstOf(table) : defaultOf(table);
  const release = (name: string): string => `alter table ${name} drop constraint if exists ${LIMIT}`;
  switch (step.kind) {
    case "attach":
      return [...create(table, nameOf(table, step.to)), attach(table, nameOf(table, step.to), step.from, step.to)];
    case "limit":
      return [`alter table ${rest} add constraint ${LIMIT} check (id < ${bound(step.to)}) not valid`];
    case "release":
      return [release(rest)];
    case "split": {
      const name = isWhole ? rest : nameOf(table, step.to);
      return [
        `alter table ${table} detach partition ${rest}`,
        ...(isWhole ? [] : [`alter table ${rest} rename to ${name}`]),
        attach(table, name, step.from, step.to),
        release(name),
        ...create(table, defaultOf(table)),
        `alter table ${table} attach partition ${defaultOf(table)} default`,
      ];
    }
  }
}

/** Runs work as the only process that changes partitions. @returns undefined in the others */
const alone = <Result>(sql: Sql, work: (tx: Tx) => Promise<Result>): Promise<Result | undefined> =>
  sql.transaction(async (tx) => {
    const [lock] = await tx.query<{ taken: boolean }>(SQL.partitionsLock, [LOCK]);
    if (lock?.taken !== true) return undefined;
    await tx.query(SQL.partitionsStopSealing, [SEAL_LOCK]);
    return work(tx);
  });

async function run(tx: Tx, texts: readonly string[]): Promise<void> {
  for (const text of texts) await tx.query(statement("", text), []);
}

/** Takes a step for all tables, in one transaction. */
const take = (tx: Tx, step: Exclude<Step, { kind: "prove" }>, isWhole: boolean): Promise<void> =>
  run(
    tx,
    NAMES.flatMap((table) => textsOf(table, step, isWhole)),
  );

/** Removes a limit that a process left behind when it died, before it could refuse records. Every process does. */
export async function releaseAuditLimit(sql: Sql): Promise<void> {
  if (expiringLimit(await stateOf(sql)) === undefined) return;
  await alone(sql, async (tx) => {
    const state = await stateOf(tx);
    const to = expiringLimit(state);
    if (to !== undefined) await take(tx, { kind: "release", to }, state.isWhole);
  });
}

/**
 * The partitions of the audit trail (docs/decisions/0020).
 * @param unhurried runs a statement that may take longer than the deadline of others
 */
export function auditPartitions(sql: Sql, unhurried: (text: string) => Promise<unknown>) {
  /** Reads all rows, beside everything else, other processes included: the limit may be gone because one of them took the next step. */
  async function prove({ isWhole }: Partitions): Promise<void> {
    try {
      for (const table of NAMES) await unhurried(`alter table ${isWhole ? firstOf(table) : defaultOf(table)} validate constraint ${LIMIT}`);
    } catch (error) {
      if ((error as { readonly code?: unknown }).code !== UNDEFINED_OBJECT) throw error;
    }
  }
  return {
    /** Makes sure that the records of the days to come have a range. Several processes may call it at once. */
    async extend(keepDays: number): Promise<void> {
      for (let step = nextStep(await stateOf(sql), keepDays); step !== undefined; step = nextStep(await stateOf(sql), keepDays)) {
        if (step.kind === "prove") await prove(await stateOf(sql));
        else if ((await alone(sql, (tx) => change(tx, keepDays))) === undefined) return;
      }
    },
    /** Drops the ranges of which no record is kept, the oldest first. @returns how many records were in them */
    async drop(): Promise<number> {
      let dropped = 0;
      for (;;) {
        const rows = await alone(sql, dropOldest);
        if (rows === undefined) return dropped;
        dropped += rows;
      }
    },
  };
}

/** Reads the state again, under the lock. */
async function change(tx: Tx, keepDays: number): Promise<true> {
  const state = await stateOf(tx);
  const step = nextStep(state, keepDays);
  if (step !== undefined && step.kind !== "prove") await take(tx, step, state.isWhole);
  return true;
}

const linksOf = (name: string): string => name.replace("audit_records", "audit_links");

const holdsKept = async (tx: Tx, name: string): Promise<boolean> => {
  const links = linksOf(name);
  const [row] = await tx.query<{ kept: boolean }>(
    statement(
      "",
      `select exists (select from ${links} where seq is null) or exists (select from ${links} where seq >= (select audit_start.seq from audit_start)) as kept`,
    ),
    [],
  );
  return row?.kept !== false;
};

/** @returns how many records were in it; undefined when no range can go */
async function dropOldest(tx: Tx): Promise<number | undefined> {
  const [oldest] = await tx.query<{ name: string }>(SQL.partitionsPassed, []);
  if (oldest === undefined || (await holdsKept(tx, oldest.name))) return undefined;
  const links = linksOf(oldest.name);
  // So that nothing is written between question and answer. The tables, for dropping a range locks them too: one that was locked before them
  // would wait for readers that wait for it.
  await run(
    tx,
    NAMES.map((table) => `lock table only ${table} in access exclusive mode`),
  );
  if (await holdsKept(tx, oldest.name)) return undefined;
  const counting = statement("", `select coalesce(max(seq) - min(seq) + 1, 0)::float8 as rows from ${links}`);
  const [row] = await tx.query<{ rows: number }>(counting, []);
  await run(tx, [`drop table ${oldest.name}`, `drop table ${links}`]);
  return row?.rows ?? 0;
}
