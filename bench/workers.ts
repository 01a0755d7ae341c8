/**
 * How much more two workers serve than one, by CPU accounts: both have 32 requests in flight for each worker, and what a request costs the
 * server's processes is compared. On a machine of two processors the workers share them with load and database, so rates say nothing.
 */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { cpuOfTree } from "./engine-cpu.ts";
import { startLoadProcess } from "./processes.ts";
import { median } from "./report.ts";
import { PROVISION } from "./scenario.ts";
import { type Served, startServe } from "./serve.ts";
import { emptyStorage, type Storage } from "./storage.ts";

const WARM = 3;
const GOAL = 1.8;

/** @returns microseconds of the server's processes for one request */
async function costOf({ port, child }: Served, workers: number, seconds: number): Promise<number> {
  const loads = Array.from({ length: workers }, startLoadProcess);
  try {
    const pid = child.pid ?? 0;
    const marks: number[] = [];
    const round = { port, workload: "client_credentials", seconds } as const;
    const around = async () => void marks.push(cpuOfTree(pid));
    const results = await Promise.all(loads.map((load) => load.round(round, around)));
    const operations = results.reduce((sum, result) => sum + result.operations, 0);
    return (Math.max(...marks) - Math.min(...marks)) / operations;
  } finally {
    for (const load of loads) load.stop();
  }
}

export async function workersCompared(rounds: number, seconds: number): Promise<void> {
  const dir = mkdtempSync(join(tmpdir(), "countersign-bench-"));
  const PROVISION_FILE = join(dir, "provision.json");
  writeFileSync(PROVISION_FILE, JSON.stringify({ ...PROVISION, users: [] }));
  const storages: Storage[] = [];
  const servers: { readonly served: Served; readonly workers: number; readonly costs: number[] }[] = [];
  try {
    for (const workers of [1, 2]) {
      const storage = await emptyStorage();
      storages.push(storage);
      const served = await startServe(storage, { PROVISION_FILE, JWT_ISSUER: "http://localhost:3000", WORKERS: String(workers) });
      servers.push({ served, workers, costs: [] });
    }
    for (const { served, workers } of servers) await costOf(served, workers, WARM);
    for (let round = 0; round < rounds; round++)
      for (const { served, workers, costs } of servers) costs.push(await costOf(served, workers, seconds));
    const [one = Number.NaN, two = Number.NaN] = servers.map(({ costs }) => median(costs));
    console.log(
      `client_credentials, CPU of the server for a request: ${one.toFixed(0)} µs with one worker, ${two.toFixed(0)} µs with two, which so do ${((2 * one) / two).toFixed(2)} times the work (at least ${GOAL})`,
    );
  } finally {
    for (const { served } of servers) await served.stop();
    for (const storage of storages) await storage.drop();
    rmSync(dir, { recursive: true, force: true });
  }
}
