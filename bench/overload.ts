/**
 * What a server does at four times its capacity: how much of its capacity it still serves, how soon it refuses the rest, and whether the
 * documents that everything depends on still come. The load keeps its rate whatever the server does.
 */
import { freePort, type ServerProcess, startLoadProcess, startOpenLoop, startServerProcess } from "./processes.ts";
import { serverEnv } from "./serve.ts";
import { emptyStorage, STORAGE } from "./storage.ts";
import type { WorkloadName } from "./workloads.ts";

const TIMES = 4;
/** Seconds at the beginning that are not counted, in which the server finds out how much it can admit. */
const SETTLING = 2;
const CONNECTIONS = 2_000;
const MEASURED: readonly WorkloadName[] = ["client_credentials", "refresh"];
/** Answered whatever the load is. */
const ESSENTIAL = ["/health", "/.well-known/jwks.json", "/.well-known/oauth-authorization-server"];

/** Asks for the essential documents until it is stopped. @returns the answers, and how many of them were not 200 */
function probing(port: number) {
  let stopped = false;
  const statuses: (number | undefined)[] = [];
  const asked = Promise.all(
    ESSENTIAL.map(async (path) => {
      while (!stopped) {
        const { status } = await fetch(`http://127.0.0.1:${port}${path}`).catch(() => ({ status: undefined }));
        statuses.push(status);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }),
  );
  return async () => {
    stopped = true;
    await asked;
    return { answers: statuses.length, failed: statuses.filter((status) => status !== 200).length };
  };
}

async function measure(server: ServerProcess, workload: WorkloadName, seconds: number): Promise<string> {
  const { port } = server;
  const [load, open] = [startLoadProcess(), startOpenLoop()];
  try {
    const full = async (length: number) => load.round({ port, workload, seconds: length }, async () => undefined);
    await full(3);
    const { operations, elapsed } = await full(seconds);
    const capacity = (operations / elapsed) * 1_000;
    const probed = probing(port);
    const result = await open.round({
      port,
      workload,
      seconds: seconds + SETTLING,
      rate: capacity * TIMES,
      connections: CONNECTIONS,
      settling: SETTLING,
    });
    const { answers, failed } = await probed();
    const goodput = (result.good / result.elapsed) * 1_000;
    const other = Object.entries(result.other).map(([what, count]) => `${count} ${what}`);
    return `| ${[
      workload,
      capacity.toFixed(0),
      ((result.due / result.elapsed) * 1_000).toFixed(0),
      `${goodput.toFixed(0)} (${(goodput / capacity).toFixed(2)})`,
      result.p99.toFixed(0),
      result.refused,
      result.refusedP99.toFixed(0),
      other.join(", ") || "none",
      `${answers - failed} of ${answers}`,
    ].join(" | ")} |`;
  } finally {
    load.stop();
    open.stop();
  }
}

const HEAD = [
  "workload",
  "capacity /s",
  "sent /s",
  "served /s (× capacity)",
  "p99 ms",
  "refused with 503",
  "p99 of a refusal ms",
  "other answers",
  "essential documents",
];

export async function overload(seconds: number): Promise<void> {
  const storage = await emptyStorage();
  const server = await startServerProcess("product.ts", { ...serverEnv(storage), GRPC_PORT: String(await freePort()) });
  try {
    console.log(
      `${STORAGE}, ${TIMES} × capacity, ${CONNECTIONS} connections\n\n| ${HEAD.join(" | ")} |\n| ${HEAD.map(() => "---").join(" | ")} |`,
    );
    for (const workload of MEASURED) console.log(await measure(server, workload, seconds));
  } finally {
    await server.stop();
    await storage.drop();
  }
}
