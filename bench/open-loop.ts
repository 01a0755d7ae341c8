/** A generator of load that keeps its rate whatever the server does, a process of its own. Times count from when a request was due. */
import { type Connection, open } from "./connection.ts";
import { type Step, UnexpectedStatus, WORKLOADS, type WorkloadName } from "./workloads.ts";

export interface OpenRound {
  readonly port: number;
  readonly workload: WorkloadName;
  readonly seconds: number;
  /** Requests per second. */
  readonly rate: number;
  /** Each carries one request at a time; requests that are due while all are busy wait here. */
  readonly connections: number;
  /** Seconds at the beginning that are not counted. */
  readonly settling: number;
}

/** What became of the requests that were due after `settling`. Times in milliseconds. */
export interface OpenResult {
  readonly due: number;
  readonly good: number;
  readonly refused: number;
  /** Answers with another status, by status, and what else went wrong, by its message. */
  readonly other: Readonly<Record<string, number>>;
  readonly elapsed: number;
  readonly p99: number;
  readonly refusedP99: number;
}

const quantile = (times: readonly number[], share: number): number => {
  const sorted = Float64Array.from(times).sort();
  return sorted[Math.floor(sorted.length * share)] ?? 0;
};

async function prepare({ port, workload, seconds, connections }: OpenRound) {
  const all: Connection[] = [];
  while (all.length < connections) all.push(...(await Promise.all(Array.from({ length: 50 }, () => open(port)))));
  return { all, stepOf: await WORKLOADS[workload].prepare(all, seconds, port) };
}

async function run(round: OpenRound, { all, stepOf }: { readonly all: readonly Connection[]; readonly stepOf: (n: number) => Step }) {
  const begun = performance.now();
  const counted = begun + round.settling * 1_000;
  const until = begun + round.seconds * 1_000;
  const idle = all.map((connection, n) => ({ connection, step: stepOf(n) }));
  const [good, refused]: [number[], number[]] = [[], []];
  const other: Record<string, number> = {};
  const waiting: number[] = [];
  let [sent, open, due] = [0, 0, 0];

  const note = (at: number, error: unknown): void => {
    if (at < counted) return;
    if (error === undefined) good.push(performance.now() - at);
    else if (error instanceof UnexpectedStatus && error.status === 503) refused.push(performance.now() - at);
    else {
      const what = error instanceof UnexpectedStatus ? String(error.status) : error instanceof Error ? error.message.slice(0, 60) : "lost";
      other[what] = (other[what] ?? 0) + 1;
    }
  };
  const send = async (at: number): Promise<void> => {
    const one = idle.shift(); // each in turn, so that none lies idle until the server closes it
    if (one === undefined) return void waiting.push(at);
    open += 1;
    const error = await one.step(one.connection).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    open -= 1;
    note(at, error);
    idle.push(one);
    const next = waiting.shift();
    if (next !== undefined && performance.now() < until) void send(next);
  };
  for (let now = begun; now < until; now = performance.now()) {
    for (; sent < ((now - begun) / 1_000) * round.rate; sent += 1) {
      const at = begun + (sent / round.rate) * 1_000;
      if (at >= counted) due += 1;
      void send(at);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  while (open > 0 && performance.now() < until + 20_000) await new Promise((resolve) => setTimeout(resolve, 10));
  for (const { connection } of idle) connection.close();
  return {
    due,
    good: good.length,
    refused: refused.length,
    other: { ...other, ...(waiting.length > 0 && { unsent: waiting.length }) },
    elapsed: until - counted,
    p99: quantile(good, 0.99),
    refusedP99: quantile(refused, 0.99),
  } satisfies OpenResult;
}

process.on("message", async (round: OpenRound) => {
  try {
    process.send?.(await run(round, await prepare(round)));
  } catch (error) {
    process.send?.({ error: String(error) });
  }
});
