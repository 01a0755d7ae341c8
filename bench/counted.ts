/** The product, which counts its statements by name and answers each message of its parent with what it has spent; "stop" ends it. */
import { compose } from "../src/compose.ts";
import { loadConfig } from "../src/config.ts";
import { parseProvisionFile } from "../src/management/provision.ts";
import { openDatabase } from "../src/store/orm.ts";
import type { Sql, Statement } from "../src/store/sql.ts";
import { OPERATOR } from "./console-rows.ts";

export interface Spent {
  readonly statements: Readonly<Record<string, number>>;
  /** Bytes in memory now. */
  readonly rss: number;
  /** Microseconds of processor time. */
  readonly cpu: number;
}

const statements: Record<string, number> = {};
const counting = <Runs extends Pick<Sql, "query">>(sql: Runs): Runs => ({
  ...sql,
  query: (statement: Statement, ...rest: never) => {
    statements[statement.name] = (statements[statement.name] ?? 0) + 1;
    return sql.query(statement, ...(rest as [never]));
  },
});

const config = loadConfig(process.env, "all");
const opened = await openDatabase(config.databaseUrl === undefined ? { dir: config.dataDir } : { url: config.databaseUrl });
const sql: Sql = { ...counting(opened.sql), transaction: (work) => opened.sql.transaction((tx) => work(counting(tx))) };
const provision = parseProvisionFile(JSON.stringify({ users: [{ ...OPERATOR, emailVerified: true, role: "operator" }], clients: [] }));
const running = await compose(config, "all", { database: { ...opened, sql }, provision });

process.on("message", async (word) => {
  if (word === "stop") {
    await running.close(0);
    await opened.close();
    process.exit(0);
  }
  const { user, system } = process.cpuUsage();
  process.send?.({ statements, rss: process.memoryUsage().rss, cpu: user + system } satisfies Spent);
});
process.send?.({});
