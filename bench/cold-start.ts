import { readFileSync } from "node:fs";
import { startServe } from "./serve.ts";
import { emptyStorage, type Storage } from "./storage.ts";

export interface ColdStart {
  /** Seconds from the start of the process to the first 200 of /health. */
  readonly seconds: number;
  /** Largest resident set until then, MiB; unknown where the system does not tell. */
  readonly peakMiB: number | undefined;
}

async function startOnce(storage: Storage): Promise<ColdStart> {
  const begun = performance.now();
  const server = await startServe(storage);
  const seconds = (performance.now() - begun) / 1000;
  const peakMiB = peakOf(server.child.pid ?? 0);
  await server.stop();
  return { seconds, peakMiB };
}

function peakOf(pid: number): number | undefined {
  try {
    const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return found === undefined ? undefined : Number(found) / 1024;
  } catch {
    return undefined;
  }
}

const median = <Item>(items: readonly Item[], by: (item: Item) => number): Item =>
  items.toSorted((a, b) => by(a) - by(b))[items.length >> 1] as Item;

/** Medians of first starts (nothing there yet) and of the starts that follow on what the first has made. */
export async function coldStarts(kind: string, rounds: number): Promise<{ readonly first: ColdStart; readonly again: ColdStart }> {
  const found: { first: ColdStart; again: ColdStart }[] = [];
  for (let round = 0; round < rounds; round++) {
    const storage = await emptyStorage(kind);
    try {
      found.push({ first: await startOnce(storage), again: await startOnce(storage) });
    } finally {
      await storage.drop();
    }
  }
  const middle = (which: "first" | "again") =>
    median(
      found.map((starts) => starts[which]),
      ({ seconds }) => seconds,
    );
  return { first: middle("first"), again: middle("again") };
}
