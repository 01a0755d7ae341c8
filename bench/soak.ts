/**
 * What grows in a server that serves a steady load: memory, descriptors and tables, sampled while expired rows are swept. Rows that are days
 * old are swept, which no soak reaches: every few seconds rows of more than a minute are made that old. Needs BENCH_DATABASE_URL.
 */
import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";
import { freePort, type ServerProcess, startOpenLoop, startServerProcess } from "./processes.ts";
import { serverEnv } from "./serve.ts";
import { emptyStorage } from "./storage.ts";
import type { WorkloadName } from "./workloads.ts";

/** Requests per second. */
const LOAD: readonly (readonly [WorkloadName, number])[] = [
  ["client_credentials", 60],
  ["refresh", 60],
  ["introspection", 60],
  ["code_flow", 20],
];
const CONNECTIONS = 16;
/** Seconds between two rows of the table, and between two times that rows are made old. */
const [SAMPLE, AGING] = [60, 5];
/** Rows of the tables that the load fills. */
const TABLES = ["authorization_codes", "grants", "refresh_families", "refresh_tokens", "audit_records", "audit_links"];

const AGE = [
  "update authorization_codes set expires_at = now() - interval '2 days' where created_at < now() - interval '1 minute' and expires_at > now() - interval '1 day'",
  // Families that the load uses again and again stay, which it got at its beginning: made old, they would rightly be refused.
  `update refresh_families set expires_at = now() - interval '2 days' where created_at < now() - interval '1 minute' and created_at > $1 and expires_at > now()
    and not exists (select from refresh_tokens where family_id = refresh_families.id)`,
  "update grants set created_at = now() - interval '100 days' where created_at < now() - interval '2 minutes' and created_at > $1",
];

/** Resident memory in MiB, and open descriptors. */
function processOf({ pid }: ServerProcess): readonly number[] {
  const kilobytes = Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  return [Math.round(kilobytes / 1024), readdirSync(`/proc/${pid}/fd`).length];
}

async function rowsOf(client: pg.Client): Promise<readonly number[]> {
  const counts = TABLES.map((table) => `(select count(*) from ${table})::int as ${table}`).join(", ");
  const { rows } = await client.query(`select ${counts}, (pg_database_size(current_database()) / 1048576)::int as size`);
  return Object.values(rows[0]);
}

const line = (cells: readonly (string | number)[]): void => console.log(`| ${cells.join(" | ")} |`);

async function sampled(server: ServerProcess, client: pg.Client, seconds: number): Promise<void> {
  const { rows } = await client.query("select now() + interval '20 seconds' as begun");
  const begun = performance.now();
  for (let next = 0; performance.now() < begun + seconds * 1_000; next += AGING) {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, begun + next * 1_000 - performance.now())));
    for (const statement of AGE) await client.query(statement, statement.includes("$1") ? [rows[0].begun] : []);
    if (next % SAMPLE === 0) line([next / 60, ...processOf(server), ...(await rowsOf(client))]);
  }
}

export async function soak(minutes: number): Promise<void> {
  const storage = await emptyStorage();
  const { DATABASE_URL: url } = storage.env;
  if (url === undefined) throw new Error("the soak needs BENCH_DATABASE_URL");
  const server = await startServerProcess("product.ts", {
    ...serverEnv(storage),
    GRPC_PORT: String(await freePort()),
    ACCESS_TOKEN_TTL: String((minutes + 5) * 60), // those that are introspected are issued once
  });
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const loops = LOAD.map(([workload, rate]) => ({ workload, rate, loop: startOpenLoop() }));
  try {
    const head = ["minute", "memory MiB", "descriptors", ...TABLES, "database MiB"];
    line(head);
    line(head.map(() => "---"));
    const seconds = minutes * 60;
    const { port } = server;
    const results = loops.map(({ workload, rate, loop }) =>
      loop.round({ port, workload, rate, seconds, connections: CONNECTIONS, settling: 0 }),
    );
    await sampled(server, client, seconds);
    for (const [n, result] of (await Promise.all(results)).entries()) {
      const other = Object.entries({ refused: result.refused, ...result.other }).filter(([, count]) => count > 0);
      const answers = other.map(([what, count]) => `${count} ${what}`).join(", ") || "none";
      console.log(`${loops[n]?.workload}: ${result.good} of ${result.due}, p99 ${result.p99.toFixed(0)} ms, other answers: ${answers}`);
    }
  } finally {
    for (const { loop } of loops) loop.stop();
    await client.end();
    await server.stop();
    await storage.drop();
  }
}
