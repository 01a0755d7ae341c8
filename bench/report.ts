import type { RoundResult } from "./load.ts";
import type { WorkloadName } from "./workloads.ts";

/** One round on one server: what came of it, and the CPU time that its process spent, microseconds. */
export interface Sample extends RoundResult {
  readonly cpu: number;
}

/** Medians of all rounds. */
export interface Figures {
  /** Microseconds of server CPU for one operation. */
  readonly cpu: number;
  /** The same in the round that was disturbed least: on a machine with other work the medians grow, and more so for whoever waits for a database. */
  readonly quietestCpu: number;
  /** Operations a second. */
  readonly rate: number;
  /** Milliseconds. */
  readonly p50: number;
  readonly p99: number;
}

export interface Comparison {
  readonly workload: WorkloadName;
  readonly floor: Figures;
  readonly product: Figures;
  /** Another checkout of the product, when one is measured beside it. */
  readonly before?: Figures;
}

/** At most so many times the floor's CPU. The floor's code flow is two requests and two signatures, as the product's is. */
const BUDGET: Readonly<Record<WorkloadName, number>> = {
  client_credentials: 1.6,
  dpop: 1.5,
  private_key_jwt: 1.4,
  introspection: 1.7,
  introspection_first_seen: 1.7,
  refresh: 2.2,
  code_flow: 2.2,
  token_exchange: 2.2,
  metadata: 1.3,
  jwks: 1.3,
};

export const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? Number.NaN;

export const figuresOf = (samples: readonly Sample[]): Figures => ({
  cpu: median(samples.map(({ cpu, operations }) => cpu / operations)),
  quietestCpu: Math.min(...samples.map(({ cpu, operations }) => cpu / operations)),
  rate: median(samples.map(({ operations, elapsed }) => (operations / elapsed) * 1000)),
  p50: median(samples.map(({ p50 }) => p50)),
  p99: median(samples.map(({ p99 }) => p99)),
});

const HEAD = [
  "workload",
  "× floor (CPU)",
  "quietest round",
  "budget",
  "rate / floor",
  "floor µs",
  "product µs",
  "product /s",
  "product p50 ms",
  "product p99 ms",
  "× before (CPU)",
  "quietest round",
];

const row = ({ workload, floor, product, before }: Comparison): readonly string[] => [
  workload,
  (product.cpu / floor.cpu).toFixed(2),
  (product.quietestCpu / floor.quietestCpu).toFixed(2),
  `≤ ${BUDGET[workload]}`,
  (product.rate / floor.rate).toFixed(2),
  floor.cpu.toFixed(0),
  product.cpu.toFixed(0),
  product.rate.toFixed(0),
  product.p50.toFixed(1),
  product.p99.toFixed(1),
  before === undefined ? "" : (product.cpu / before.cpu).toFixed(3),
  before === undefined ? "" : (product.quietestCpu / before.quietestCpu).toFixed(3),
];

/** Ratios first: they were taken in one run, and outlive the machine. */
export const table = (comparisons: readonly Comparison[]): string =>
  [HEAD, HEAD.map(() => "---"), ...comparisons.map(row)].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
