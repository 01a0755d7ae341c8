/**
 * What the size of the database costs: workloads on a filled database beside an empty one, what an operator waits for, and what callers notice of
 * the sweep. Needs BENCH_DATABASE_URL, of a superuser.
 * Usage: npm run bench:scale -- [--families 200000] [--only workloads,stop,audit,sweep] [--workloads refresh,code_flow] [--filled URL]
 * `--families 5000000` is 1,000,000 users, 200,000 clients and 10,000,000 audit records, which takes 13 GB; `--filled` takes a database that is filled already.
 */
import { parseArgs } from "node:util";
import { type Database, openDatabase } from "../src/store/orm.ts";
import { fill, sizeOf } from "./scale-fill.ts";
import { auditLists, stopClients, stopUsers } from "./scale-lists.ts";
import { sweepBesideLoad } from "./scale-sweep.ts";
import { SCALE_WORKLOADS, workloadsAtScale } from "./scale-workloads.ts";
import { emptyStorage } from "./storage.ts";

const { values } = parseArgs({
  options: {
    families: { type: "string", default: "200000" },
    only: { type: "string" },
    workloads: { type: "string" },
    filled: { type: "string" },
  },
});
const size = sizeOf(Number(values.families));

const withDatabase = async (url: string, work: (database: Database) => Promise<void>): Promise<void> => {
  const database = await openDatabase({ url });
  await work(database).finally(() => database.close());
};

/** On the filled database. */
const PARTS: Readonly<Record<string, (url: string) => Promise<void>>> = {
  workloads: (url) =>
    workloadsAtScale(
      url,
      SCALE_WORKLOADS.filter((name) => values.workloads?.split(",").includes(name) ?? true),
    ),
  audit: (url) => withDatabase(url, ({ sql }) => auditLists(sql, size.auditRecords)),
  stop: (url) =>
    withDatabase(url, async ({ sql }) => {
      await stopClients(sql);
      await stopUsers(sql);
    }),
};

const only = values.only?.split(",") ?? [...Object.keys(PARTS), "sweep"];
const parts = Object.entries(PARTS).filter(([name]) => only.includes(name));
if (parts.length > 0) {
  const storage = values.filled === undefined ? await emptyStorage("PostgreSQL") : undefined;
  const url = values.filled ?? storage?.env.DATABASE_URL;
  if (url === undefined) throw new Error("BENCH_DATABASE_URL is missing: give a PostgreSQL server on which databases can be made.");
  try {
    if (storage !== undefined) {
      await withDatabase(url, async () => undefined);
      await fill(url, size, (table) => console.error(`${table}: filled`));
    }
    for (const [, measure] of parts) await measure(url);
  } finally {
    await storage?.drop();
  }
}
if (only.includes("sweep")) await sweepBesideLoad();
