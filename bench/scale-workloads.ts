import { freePort, type LoadProcess, type ServerProcess, startLoadProcess, startServerProcess } from "./processes.ts";
import { median } from "./report.ts";
import { serverEnv } from "./serve.ts";
import { emptyStorage } from "./storage.ts";
import type { WorkloadName } from "./workloads.ts";

export const SCALE_WORKLOADS = [
  "client_credentials",
  "private_key_jwt",
  "introspection",
  "refresh",
  "code_flow",
] as const satisfies readonly WorkloadName[];
/** Seconds of a round, and of load before the first one. */
const ROUND = 4;
const WARM = 5;
const ROUNDS = 3;
/** The aim for the p99 at scale, as a multiple of the one on a small database. */
const AIM = 1.3;

interface Figures {
  readonly p50: number;
  readonly p99: number;
  readonly rate: number;
}

async function sample(load: LoadProcess, { port }: ServerProcess, workload: WorkloadName, seconds: number): Promise<Figures> {
  const { p50, p99, operations, elapsed } = await load.round({ port, workload, seconds }, async () => undefined);
  return { p50, p99, rate: (operations / elapsed) * 1000 };
}

const medianOf = (samples: readonly Figures[], name: keyof Figures): number => median(samples.map((one) => one[name]));

/** Measures all workloads on an empty and on a filled database, which take turns. @param url of the filled one */
export async function workloadsAtScale(url: string, names: readonly WorkloadName[]): Promise<void> {
  const storage = await emptyStorage("PostgreSQL");
  const load = startLoadProcess();
  const running: ServerProcess[] = [];
  const start = async (databaseUrl: string | undefined): Promise<ServerProcess> => {
    const env = { ...storage.env, ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }) };
    const server = await startServerProcess("product.ts", { ...serverEnv({ ...storage, env }), GRPC_PORT: String(await freePort()) });
    running.push(server);
    return server;
  };
  try {
    const servers = [await start(undefined), await start(url)] as const;
    console.log(
      `\n| workload | p99 ms, small | p99 ms, filled | ratio | p50 ms | rate /s | aim |\n| --- | --- | --- | --- | --- | --- | --- |`,
    );
    for (const name of names) {
      for (const server of servers) await sample(load, server, name, WARM);
      await storage.analyze(); // or the small one would be read by plans for empty tables
      const samples: [Figures[], Figures[]] = [[], []];
      for (let round = 0; round < ROUNDS; round++)
        for (const [at, server] of servers.entries()) samples[at]?.push(await sample(load, server, name, ROUND));
      const [small, filled] = samples;
      const both = (figure: keyof Figures): string =>
        [small, filled].map((one) => medianOf(one, figure).toFixed(figure === "rate" ? 0 : 1)).join(", ");
      const [before, after] = [medianOf(small, "p99"), medianOf(filled, "p99")];
      console.log(
        `| ${name} | ${before.toFixed(1)} | ${after.toFixed(1)} | ${(after / before).toFixed(2)} | ${both("p50")} | ${both("rate")} | ≤ ${AIM} |`,
      );
    }
  } finally {
    load.stop();
    for (const server of running) await server.stop();
    await storage.drop();
  }
}
