/** The generator of the load, a process of its own: told what to do and when, it answers how much came of it. */
import { type Connection, open } from "./connection.ts";
import { IN_FLIGHT } from "./scenario.ts";
import { type Step, WORKLOADS, type WorkloadName } from "./workloads.ts";

/** One round against one server. */
export interface Round {
  readonly port: number;
  readonly workload: WorkloadName;
  readonly seconds: number;
  /** Of the server that issues the tokens to be introspected, if it is another. */
  readonly mintingPort?: number;
}

/** What came of a round. Times in milliseconds. */
export interface RoundResult {
  readonly operations: number;
  readonly elapsed: number;
  readonly p50: number;
  readonly p99: number;
}

type Prepared = Round & { readonly connections: readonly Connection[]; readonly stepOf: (worker: number) => Step };

let prepared: Prepared | undefined;

async function prepare(round: Round): Promise<Prepared> {
  const connectionsTo = (port: number) => Promise.all(Array.from({ length: IN_FLIGHT }, () => open(port)));
  const connections = await connectionsTo(round.port);
  const minting = round.mintingPort === undefined ? connections : await connectionsTo(round.mintingPort);
  const stepOf = await WORKLOADS[round.workload].prepare(connections, round.seconds, round.port, minting);
  if (minting !== connections) for (const connection of minting) connection.close();
  return { ...round, connections, stepOf };
}

async function run({ connections, stepOf, seconds }: Prepared): Promise<RoundResult> {
  const begun = performance.now();
  const until = begun + seconds * 1000;
  const times: number[] = [];
  const work = async (connection: Connection, worker: number): Promise<void> => {
    const step = stepOf(worker);
    for (let now = performance.now(); now < until; ) {
      if (!(await step(connection))) return;
      const then = performance.now();
      times.push(then - now);
      now = then;
    }
  };
  await Promise.all(connections.map(work));
  const elapsed = performance.now() - begun;
  for (const connection of connections) connection.close();
  const sorted = Float64Array.from(times).sort();
  const quantile = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
  return { operations: times.length, elapsed, p50: quantile(0.5), p99: quantile(0.99) };
}

process.on("message", async (order: { readonly prepare: Round } | "run") => {
  try {
    if (order !== "run") {
      prepared = await prepare(order.prepare);
      process.send?.({ ready: true });
    } else if (prepared !== undefined) process.send?.(await run(prepared));
  } catch (error) {
    process.send?.({ error: String(error) });
  }
});
