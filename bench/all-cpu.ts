/**
 * What an operation costs all processors, the database's too: the product beside a durable floor (one statement in PostgreSQL for each effect)
 * and beside node-oidc-provider on Redis, which keeps nothing durably. Needs BENCH_DATABASE_URL and BENCH_REDIS_URL, both on this machine.
 */
import { type EngineCpu, engineCpu } from "./engine-cpu.ts";
import { freePort, type LoadProcess, type ServerProcess, startLoadProcess, startServerProcess } from "./processes.ts";
import { median } from "./report.ts";
import { serverEnv } from "./serve.ts";
import { emptyStorage, type Storage } from "./storage.ts";
import type { WorkloadName } from "./workloads.ts";

/** Goals: the product's own CPU and PostgreSQL's, as multiples of the durable floor's; all CPU of oidc-provider as a multiple of the product's. */
const GOALS = {
  client_credentials: { server: 1.15, postgres: 1.5, peer: 2 },
  introspection: { server: 1.25, postgres: undefined, peer: 2.1 }, // the floor asks no database
  refresh: { server: 1.25, postgres: 1.5, peer: 2.2 },
  code_flow: { server: 1.25, postgres: 1.5, peer: 2.2 },
  private_key_jwt: { server: 1.1, postgres: 1.5, peer: 1.5 },
} as const satisfies Partial<Record<WorkloadName, unknown>>;
const NAMES = Object.keys(GOALS) as (keyof typeof GOALS)[];
const P99_GOAL = 0.5;
const WARM = 3;

/** Microseconds an operation, and milliseconds. */
interface Cost {
  readonly server: number;
  readonly postgres: number;
  readonly redis: number;
  readonly p99: number;
}

async function cost(load: LoadProcess, server: ServerProcess, engines: EngineCpu, workload: WorkloadName, seconds: number): Promise<Cost> {
  const spent: (readonly [number, number, number])[] = [];
  const around = async (): Promise<void> => {
    spent.push([(await server.usage()).cpu, engines.postgres(), await engines.redis()]);
  };
  const { operations, p99 } = await load.round({ port: server.port, workload, seconds }, around);
  const each = (n: 0 | 1 | 2): number => ((spent[1]?.[n] ?? 0) - (spent[0]?.[n] ?? 0)) / operations;
  return { server: each(0), postgres: each(1), redis: each(2), p99 };
}

const middle = (costs: readonly Cost[]): Cost => ({
  server: median(costs.map(({ server }) => server)),
  postgres: median(costs.map(({ postgres }) => postgres)),
  redis: median(costs.map(({ redis }) => redis)),
  p99: median(costs.map(({ p99 }) => p99)),
});

const all = ({ server, postgres, redis }: Cost): number => server + postgres + redis;
const micros = (cost: Cost): string => `${[cost.server, cost.postgres, cost.redis].map((one) => one.toFixed(0)).join(" + ")}`;

const HEAD = [
  "workload",
  "server, × durable floor",
  "goal",
  "PostgreSQL, × durable floor",
  "goal",
  "all CPU, oidc-provider / product",
  "goal",
  "p99, product / oidc-provider",
  "goal",
  "product µs (server + PostgreSQL + Redis)",
  "floor µs",
  "oidc-provider µs",
  "all CPU, product / before",
  "p99, product / before",
  "before µs",
];

function row(
  workload: keyof typeof GOALS,
  [floor, product, peer, before]: readonly [Cost, Cost, Cost, Cost | undefined],
): readonly string[] {
  const { server, postgres, peer: ahead } = GOALS[workload];
  return [
    workload,
    (product.server / floor.server).toFixed(2),
    `≤ ${server}`,
    postgres === undefined ? "" : (product.postgres / floor.postgres).toFixed(2),
    postgres === undefined ? "" : `≤ ${postgres}`,
    (all(peer) / all(product)).toFixed(2),
    `≥ ${ahead}`,
    (product.p99 / peer.p99).toFixed(2),
    `≤ ${P99_GOAL}`,
    micros(product),
    micros(floor),
    micros(peer),
    ...(before === undefined
      ? ["", "", ""]
      : [(all(product) / all(before)).toFixed(2), (product.p99 / before.p99).toFixed(2), micros(before)]),
  ];
}

/** @param before module of the product of another checkout, which takes its turns too */
export async function allCpu(rounds: number, seconds: number, before?: string): Promise<void> {
  const { BENCH_DATABASE_URL: database, BENCH_REDIS_URL: redis } = process.env;
  if (database === undefined || redis === undefined) throw new Error("all_cpu needs BENCH_DATABASE_URL and BENCH_REDIS_URL");
  const engines = await engineCpu(database, redis);
  const storages: Storage[] = [];
  const running: ServerProcess[] = [];
  const load = startLoadProcess();
  const start = async (file: string, more: NodeJS.ProcessEnv = {}): Promise<ServerProcess> => {
    const storage = await emptyStorage();
    storages.push(storage);
    const server = await startServerProcess(file, { ...serverEnv(storage), GRPC_PORT: String(await freePort()), ...more });
    running.push(server);
    return server;
  };
  try {
    const floor = await start("floor.ts", { DURABLE: "1" });
    const product = await start("product.ts");
    const signing = await start("oidc-provider.ts", { TOKENS: "jwt" });
    const opaque = await start("oidc-provider.ts", { TOKENS: "opaque" });
    const earlier = before === undefined ? [] : [await start(before)];
    const rows: (readonly string[])[] = [HEAD, HEAD.map(() => "---")];
    for (const name of NAMES) {
      const servers = [floor, product, name === "introspection" ? opaque : signing, ...earlier];
      const costs: Cost[][] = servers.map(() => []);
      for (const server of servers) await cost(load, server, engines, name, WARM);
      for (const storage of storages) await storage.analyze();
      for (let round = 0; round < rounds; round++) {
        for (const [n, server] of servers.entries()) costs[n]?.push(await cost(load, server, engines, name, seconds));
      }
      const [least, ours, peers, former] = costs.map(middle);
      if (least && ours && peers) rows.push(row(name, [least, ours, peers, former]));
      console.error(`${name}: done`);
    }
    console.log(`All CPU, medians of ${rounds} alternating rounds of ${seconds} s, Node ${process.version}\n`);
    console.log(rows.map((cells) => `| ${cells.join(" | ")} |`).join("\n"));
  } finally {
    load.stop();
    for (const server of running) await server.stop();
    for (const storage of storages) await storage.drop();
    await engines.close();
  }
}
