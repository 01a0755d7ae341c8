/**
 * What a request costs the product, as a multiple of the floor, in one run: alternating rounds, medians, server CPU read from the servers.
 * Usage: npm run bench -- [--rounds 3] [--seconds 2.5] [--only refresh,jwks,guard] [--profile DIR] [--before CHECKOUT]
 *        npm run bench -- --only soak --minutes 60
 * With --before, the product of another checkout of this repository (installed by npm ci) is measured beside it in the same rounds.
 * On PostgreSQL and Redis with BENCH_DATABASE_URL and BENCH_REDIS_URL, else embedded.
 */
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { startsAfterKill } from "./after-kill.ts";
import { allCpu } from "./all-cpu.ts";
import { coldStarts } from "./cold-start.ts";
import { guardCost } from "./guard.ts";
import { hybridCost } from "./hybrid.ts";
import { overload } from "./overload.ts";
import { freePort, type LoadProcess, type ServerProcess, startLoadProcess, startServerProcess } from "./processes.ts";
import { type Comparison, figuresOf, type Sample, table } from "./report.ts";
import { revocationReach } from "./revocation-reach.ts";
import { IN_FLIGHT } from "./scenario.ts";
import { serverEnv } from "./serve.ts";
import { signInFlood } from "./sign-in-flood.ts";
import { soak } from "./soak.ts";
import { emptyStorage, STORAGE, type Storage } from "./storage.ts";
import { workersCompared } from "./workers.ts";
import { WORKLOAD_NAMES, type WorkloadName } from "./workloads.ts";

/** Seconds of load before anything is measured, until the code is compiled. */
const WARM = 3;
/** What is measured by itself, beside no floor. */
const APART: Readonly<Record<string, () => Promise<void>>> = {
  after_kill: async () => {
    for (const kind of new Set(["embedded", STORAGE])) await startsAfterKill(kind, rounds);
  },
  cold_start: async () => {
    for (const kind of new Set(["embedded", STORAGE])) await coldStart(kind);
  },
  guard: guardCost,
  hybrid: () => hybridCost(rounds, seconds),
  overload: () => overload(seconds),
  revocation_reach: revocationReach,
  sign_in_flood: async () => {
    for (const kind of new Set(["embedded", STORAGE])) await signInFlood(kind, rounds, seconds);
  },
};
const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    seconds: { type: "string", default: "2.5" },
    only: { type: "string" },
    profile: { type: "string" },
    before: { type: "string" },
    minutes: { type: "string", default: "0" },
  },
});
const [rounds, seconds] = [Number(values.rounds), Number(values.seconds)];
const before = values.before && pathToFileURL(resolve(values.before, "bench/product.ts")).href;

/** Too long, or in need of PostgreSQL or both engines: not measured unless it is named. */
const LONG = {
  soak: () => soak(Number(values.minutes)),
  all_cpu: () => allCpu(rounds, seconds, before),
  workers: () => workersCompared(rounds, seconds),
};
const known: readonly string[] = [...WORKLOAD_NAMES, ...Object.keys(APART)];
const only = values.only?.split(",") ?? known;
const strange = only.find((name) => !known.includes(name) && !Object.hasOwn(LONG, name));
if (strange !== undefined) throw new Error(`no workload ${strange}; there are ${known.join(", ")}`);

async function sample(load: LoadProcess, server: ServerProcess, workload: WorkloadName, length: number): Promise<Sample> {
  const spent: number[] = [];
  const around = async (): Promise<void> => {
    spent.push((await server.usage()).cpu);
  };
  const result = await load.round({ port: server.port, workload, seconds: length }, around);
  return { ...result, cpu: (spent[1] ?? 0) - (spent[0] ?? 0) };
}

interface Servers {
  readonly floor: ServerProcess;
  readonly product: ServerProcess;
  readonly before?: ServerProcess;
}

async function compare(load: LoadProcess, servers: Servers, storages: readonly Storage[], workload: WorkloadName): Promise<Comparison> {
  const measured = Object.entries(servers).map(([name, server]) => ({ name, server: server as ServerProcess, samples: [] as Sample[] }));
  for (const { server } of measured) await sample(load, server, workload, WARM);
  for (const storage of storages) await storage.analyze();
  for (let round = 0; round < rounds; round++) {
    for (const { server, samples } of measured) samples.push(await sample(load, server, workload, seconds));
  }
  const figures = Object.fromEntries(measured.map(({ name, samples }) => [name, figuresOf(samples)]));
  return { workload, ...(figures as Omit<Comparison, "workload">) };
}

async function compareAll(names: readonly WorkloadName[]): Promise<void> {
  const storages: Storage[] = [];
  const running: ServerProcess[] = [];
  const load = startLoadProcess();
  const start = async (file: string, profile?: string): Promise<ServerProcess> => {
    const storage = await emptyStorage();
    storages.push(storage);
    const env = { ...serverEnv(storage), GRPC_PORT: String(await freePort()) };
    const server = await startServerProcess(file, env, profile);
    running.push(server);
    return server;
  };
  try {
    const floor = await start("floor.ts");
    const product = await start("product.ts", values.profile);
    const former = before && (await start(before));
    const comparisons: Comparison[] = [];
    for (const name of names) {
      comparisons.push(await compare(load, { floor, product, ...(former && { before: former }) }, storages, name));
      console.error(`${name}: done`);
    }
    const peaks = await Promise.all(running.map(async (server) => ((await server.usage()).peakRss / 2 ** 20).toFixed(0)));
    console.log(`${STORAGE}, ${IN_FLIGHT} in flight, medians of ${rounds} alternating rounds of ${seconds} s, Node ${process.version}\n`);
    console.log(table(comparisons));
    console.log(`\nPeak RSS after all of it: floor ${peaks[0]} MiB, product ${peaks[1]} MiB${former ? `, before ${peaks[2]} MiB` : ""}`);
  } finally {
    load.stop();
    for (const server of running) await server.stop();
    for (const storage of storages) await storage.drop();
  }
}

async function coldStart(kind: string): Promise<void> {
  for (const [which, { seconds, peakMiB }] of Object.entries(await coldStarts(kind, rounds)))
    console.log(`Cold start, ${kind}, ${which}: ${seconds.toFixed(2)} s to the first 200 of /health, peak RSS ${peakMiB?.toFixed(0)} MiB`);
}

const names = WORKLOAD_NAMES.filter((name) => only.includes(name));
if (names.length > 0) await compareAll(names);
for (const [name, measure] of Object.entries({ ...APART, ...LONG })) if (only.includes(name)) await measure();
