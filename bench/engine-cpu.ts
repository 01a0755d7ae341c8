import { readFileSync } from "node:fs";
import { Redis } from "ioredis";
import pg from "pg";

/** CPU time that engines on this machine have spent so far, microseconds: all of a PostgreSQL server, and a Redis. */
export interface EngineCpu {
  postgres(): number;
  redis(): Promise<number>;
  close(): Promise<void>;
}

/** Microseconds of a tick of /proc/PID/stat, 100 a second on Linux. */
const TICK = 10_000;

/** Fields of /proc/PID/stat from the state on, which stands behind the name in brackets. */
const statOf = (pid: number): readonly string[] => {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)?.split(" ") ?? [];
  } catch {
    return []; // it has ended: its parent has its time
  }
};
const ticks = (fields: readonly string[], from: number, to: number): number =>
  fields.slice(from, to).reduce((sum, field) => sum + Number(field), 0);

const childrenOf = (pid: number): readonly number[] => {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    return [];
  }
};

/** CPU time of a process and of those that it started, microseconds. */
export const cpuOfTree = (pid: number): number =>
  ticks(statOf(pid), 11, 13) * TICK + childrenOf(pid).reduce((sum, child) => sum + cpuOfTree(child), 0);

/** @throws {Error} when PostgreSQL runs on another machine */
export async function engineCpu(databaseUrl: string, redisUrl: string): Promise<EngineCpu> {
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  const { rows } = await client.query("select pg_backend_pid() as pid");
  const first = Number(statOf(rows[0].pid)[1]);
  if (!(first > 0)) throw new Error("PostgreSQL does not run on this machine");
  const redis = new Redis(redisUrl);
  return {
    postgres() {
      const own = ticks(statOf(first), 11, 15); // with that of children that have ended
      return childrenOf(first).reduce((sum, pid) => sum + ticks(statOf(pid), 11, 13), own) * TICK;
    },
    async redis() {
      const info = await redis.info("cpu");
      const seconds = [...info.matchAll(/^used_cpu_(?:sys|user):([\d.]+)/gm)].map(([, value]) => Number(value));
      return seconds.reduce((sum, value) => sum + value, 0) * 1e6;
    },
    async close() {
      await Promise.all([client.end(), redis.quit()]);
    },
  };
}
