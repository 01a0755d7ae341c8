import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { freePort } from "./processes.ts";
import { emptyStorage, type Storage } from "./storage.ts";

export interface ColdStart {
  /** Seconds from the start of the process to the first 200 of /health. */
  readonly seconds: number;
  /** Largest resident set until then, MiB; unknown where the system does not tell. */
  readonly peakMiB: number | undefined;
}

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

/** Starts `serve` as an operator would, until it says that it is healthy. */
async function startOnce(storage: Storage): Promise<ColdStart> {
  const port = await freePort();
  const env = { ...serverEnv(storage), PORT: String(port), GRPC_PORT: String(await freePort()) };
  const begun = performance.now();
  const child = spawn(process.execPath, ["--conditions=countersign", MAIN, "serve"], { env, stdio: "ignore" });
  const ended = once(child, "exit");
  while (!(await isHealthy(port))) {
    if (child.exitCode !== null || performance.now() - begun > 60_000) throw new Error("the server did not become healthy");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const seconds = (performance.now() - begun) / 1000;
  const peakMiB = peakOf(child.pid ?? 0);
  child.kill("SIGINT");
  await ended;
  return { seconds, peakMiB };
}

const isHealthy = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/health`).then(
    (response) => response.status === 200,
    () => false,
  );

function peakOf(pid: number): number | undefined {
  try {
    const found = /VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1];
    return found === undefined ? undefined : Number(found) / 1024;
  } catch {
    return undefined;
  }
}

/** The settings of a server under measurement. Log lines of single requests are off, as they are by default. */
export const serverEnv = ({ env }: Storage): NodeJS.ProcessEnv => ({
  ...(process.env.PATH !== undefined && { PATH: process.env.PATH }),
  NODE_ENV: "development",
  LOG_LEVEL: "warn",
  HOST: "127.0.0.1",
  ...env,
});

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
