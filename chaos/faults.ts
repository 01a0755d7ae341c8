import { pause, until } from "../test/support/processes.ts";
import type { Engine } from "./engines.ts";
import { isAlive, killed, signal } from "./os.ts";
import type { Link } from "./proxy.ts";
import { hashingProcessOf, type Part, type rotation, type Service, workersOf } from "./service.ts";

export interface Fault {
  readonly name: string;
  /** Whether a process is killed. */
  readonly kills?: true;
  /** @returns why it could not happen, where that is so */
  // biome-ignore lint/suspicious/noConfusingVoidType: most faults return nothing.
  happen(): Promise<string | void>;
}

/** Milliseconds for which something is stopped or unreachable, and between the restarts of two processes. */
export interface Timing {
  readonly frozen: number;
  readonly between: number;
}

const DAY = 86_400;

async function killPart(part: Part): Promise<void> {
  const all = part.processes();
  await killed(all.slice(0, 1));
  await until(`the end of ${part.name}`, async () => !all.some(isAlive)); // its workers notice it
  await part.start();
}

async function killEngine(engine: Engine): Promise<void> {
  await killed(engine.processes());
  await engine.start();
}

async function frozen(pids: readonly number[], { frozen: milliseconds }: Timing): Promise<void> {
  signal(pids, "SIGSTOP");
  await pause(milliseconds);
  signal(pids, "SIGCONT");
}

async function broken(links: readonly Link[], how: "stall" | "cut", { frozen: milliseconds }: Timing): Promise<void> {
  for (const link of links) link[how]();
  await pause(milliseconds);
  for (const link of links) link.heal();
}

/** Restarts processes one after the other, as an upgrade does. */
async function restart(parts: readonly Part[], { between }: Timing, change: Parameters<Part["start"]>[0] = {}): Promise<void> {
  for (const part of parts) {
    part.process.child.kill("SIGTERM");
    await part.process.ended;
    await part.start(change);
    await pause(between);
  }
}

const kills = ({ cores, fronts, postgres, redis }: Service): readonly Fault[] => [
  ...[...cores, ...fronts].map((part): Fault => ({ name: `kill of ${part.name}`, kills: true, happen: () => killPart(part) })),
  ...[postgres, redis].map((engine): Fault => ({ name: `kill of ${engine.name}`, kills: true, happen: () => killEngine(engine) })),
  ...fronts
    .filter((part) => workersOf(part).length > 0)
    .map(
      (part): Fault => ({
        name: "kill of a worker",
        kills: true,
        async happen() {
          const count = workersOf(part).length;
          await killed(workersOf(part).slice(0, 1));
          await until("another worker", async () => workersOf(part).length === count, 30_000);
        },
      }),
    ),
  {
    name: "kill of a hashing process",
    kills: true,
    async happen() {
      const pids = fronts.map(hashingProcessOf).filter((pid) => pid !== undefined);
      if (pids.length === 0) return "no process hashed";
      await killed(pids);
    },
  },
];

/** Parts with their own start in turn, and after each of them the engines and the processes that hash. */
function oftenKilled(all: readonly Fault[]): readonly Fault[] {
  const quick = all.filter(({ name }) => /PostgreSQL|Redis|hashing/.test(name));
  return all.filter((fault) => !quick.includes(fault)).flatMap((fault) => [fault, ...quick]);
}

/** Everything that is done to a service. */
export function faults(service: Service, keys: ReturnType<typeof rotation>, timing: Timing) {
  const { cores, fronts, postgres, redis, disk } = service;
  const [core, otherCore] = cores;
  const [front, otherFront] = fronts;
  if (!core || !otherCore || !front || !otherFront) throw new Error("a part is missing");
  const links = (part: Part): readonly Link[] => (part.role === "front" ? part.toCores : [part.toDatabase]);
  const clocks = (seconds: number) => (parts: readonly Part[]) => restart(parts, timing, { clock: seconds });
  return {
    kills: kills(service),
    /** The same, so that what comes back sooner is killed more often. */
    oftenKilled: oftenKilled(kills(service)),
    freezes: [
      ...[...cores, ...fronts].map((part): Fault => ({ name: `freeze of ${part.name}`, happen: () => frozen(part.processes(), timing) })),
      ...[postgres, redis].map((engine): Fault => ({ name: `freeze of ${engine.name}`, happen: () => frozen(engine.processes(), timing) })),
    ],
    partitions: [
      { name: "front 1 and cores: nothing arrives", happen: () => broken(links(front), "stall", timing) },
      { name: "front 2 and core 1: connections are cut", happen: () => broken(otherFront.toCores.slice(0, 1), "cut", timing) },
      { name: "core 1 and PostgreSQL: nothing arrives", happen: () => broken(links(core), "stall", timing) },
      { name: "core 2 and PostgreSQL: connections are cut", happen: () => broken(links(otherCore), "cut", timing) },
      { name: "front 2 and PostgreSQL: nothing arrives", happen: () => broken([otherFront.toDatabase], "stall", timing) },
      { name: "cores and Redis: nothing arrives", happen: () => broken([core.toRedis, otherCore.toRedis], "stall", timing) },
      { name: "fronts and Redis: connections are cut", happen: () => broken([front.toRedis, otherFront.toRedis], "cut", timing) },
    ] satisfies readonly Fault[],
    disk: {
      name: "the disk of PostgreSQL is full",
      async happen() {
        if (!disk.mounted) return "needs root, to mount a file system of a small size";
        disk.fill();
        await pause(timing.frozen);
        disk.empty();
        await postgres.start(); // it ends by itself when its log cannot grow
      },
    } satisfies Fault,
    restarts: [
      { name: "rolling restart", happen: () => restart([...cores, ...fronts], timing) },
      {
        name: "clocks of cores wrong by a day, in both directions",
        happen: () => clocks(DAY)([core]).then(() => clocks(-DAY)([otherCore])),
      },
      {
        name: "clocks of fronts wrong by a day, in both directions",
        happen: () => clocks(DAY)([front]).then(() => clocks(-DAY)([otherFront])),
      },
      { name: "clocks are right again", happen: () => clocks(0)([...cores, ...fronts]) },
    ] satisfies readonly Fault[],
    rotation: { name: "key rotation", happen: () => restart(cores, timing, { env: keys.next() }) } satisfies Fault,
  };
}

/** Starts again what did not come back. */
export async function repaired({ fronts, cores, postgres, redis }: Service): Promise<void> {
  for (const engine of [postgres, redis]) if (engine.processes().length === 0) await engine.start();
  for (const part of [...cores, ...fronts]) if (!isAlive(part.process.child.pid ?? 0)) await part.start();
}
