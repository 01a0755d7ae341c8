import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundledCommandLine } from "./bundled.ts";
import { COMPILED } from "./compiled.ts";
import { freshDataDir } from "./data-directory.ts";
import { freePort } from "./free-port.ts";
import { PROVISIONED } from "./provisioned.ts";

/** Arguments of Node for the command line. To optimise the embedded database takes longer than these processes live. */
const nodeArgs = (main: string) => ["--liftoff-only", "--conditions=countersign", main];
export const NODE_ARGS = nodeArgs(await bundledCommandLine());

export interface ServiceProcess {
  readonly url: string;
  /** `host:port` of gRPC. */
  readonly grpc: string;
  readonly child: ChildProcess;
  /** Its output so far. */
  said(): string;
  /** Its exit code once it has ended; null when it was ended by a signal. */
  readonly ended: Promise<number | null>;
}

const running = new Set<ChildProcess>();
const directories: string[] = [];

/** A temporary directory that `endProcesses` removes. */
export function aDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), "countersign-process-"));
  directories.push(directory);
  return directory;
}

/** The same with a migrated database, which saves time where the first start is not the subject of the test. */
export async function aDataDirectory(): Promise<string> {
  const directory = await freshDataDir();
  directories.push(directory);
  return directory;
}

/** A provisioning file, by default with the clients of the tests. */
export function provisionFile(plan: object = PROVISIONED): string {
  const path = join(aDirectory(), "provision.json");
  writeFileSync(path, JSON.stringify(plan));
  return path;
}

/** Ends the processes of a test file that are still running. */
export async function endProcesses(): Promise<void> {
  for (const child of running) {
    if (child.exitCode !== null || child.signalCode !== null) continue; // its output may still be open in a process that it started
    child.kill("SIGCONT");
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
}

/** Every process starts with an open umask: what only its owner may read is so by the server's own doing. */
const WITH_OPEN_UMASK = ["-c", 'umask 0; exec "$@"', "sh"];

function launch(args: readonly string[], env: Record<string, string>, root?: string) {
  const command = root === undefined ? NODE_ARGS : nodeArgs(join(root, "src/main.ts"));
  const child = spawn("sh", [...WITH_OPEN_UMASK, process.execPath, ...command, ...args], {
    env: { PATH: process.env.PATH, NODE_COMPILE_CACHE: COMPILED, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.add(child);
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const ended = once(child, "close").then(([code]) => {
    running.delete(child);
    return code as number | null;
  });
  return { child, ended, said: () => text };
}

/** Runs the command line until it exits. */
export async function countersign(args: readonly string[], env: Record<string, string>) {
  const { ended, said } = launch(args, env);
  return { code: await ended, said: said() };
}

/** Starts `countersign serve`. @see startProcess */
export async function beginProcess(env: Record<string, string>, role?: "front" | "core", root?: string) {
  const [port, grpcPort] = [env.PORT ?? String(await freePort()), env.GRPC_PORT ?? String(await freePort())];
  const given = {
    NODE_ENV: "test",
    LOG_LEVEL: "warn",
    SIGN_UP_RATE_LIMIT: "1000",
    DATA_DIR: env.DATA_DIR ?? (env.DATABASE_URL === undefined ? await aDataDirectory() : aDirectory()),
    ...env,
  };
  const settings = { ...given, PORT: port, GRPC_PORT: grpcPort };
  const process = launch(["serve", ...(role === undefined ? [] : ["--role", role])], settings, root);
  return { ...process, url: `http://localhost:${port}`, grpc: `127.0.0.1:${grpcPort}` } satisfies ServiceProcess;
}

/**
 * Starts `countersign serve` and waits until it answers.
 * @param env PORT and GRPC_PORT default to free ports  @param root a checkout whose source it runs
 * @throws {Error} with its output when it exits before
 */
export async function startProcess(env: Record<string, string>, role?: "front" | "core", root?: string): Promise<ServiceProcess> {
  const begun = await beginProcess(env, role, root);
  const { url, child, said } = begun;
  const isUp = role === "core" ? async () => said().includes("Countersign is up") : () => answers(url);
  for (let tries = 0; !(await isUp()); tries++) {
    if (child.exitCode !== null || tries > 2_400) throw new Error(`the process did not start:\n${said()}`);
    await pause(50);
  }
  return begun;
}

const answers = (url: string): Promise<boolean> =>
  fetch(`${url}/health`).then(
    (response) => response.ok,
    () => false,
  );

export const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Waits until a condition holds. @throws {Error} when it does not within `patience` milliseconds */
export async function until(what: string, holds: () => Promise<boolean>, patience = 60_000): Promise<void> {
  const end = performance.now() + patience;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > end) throw new Error(`${what}: not within ${patience} ms`);
    await pause(50);
  }
}

const preloaded = (source: string): Record<string, string> => ({
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(source)}`,
});

/** One environment of several that preload something. */
export const preloads = (...each: readonly Record<string, string>[]): Record<string, string> => ({
  NODE_OPTIONS: each.map(({ NODE_OPTIONS }) => NODE_OPTIONS ?? "").join(" "),
});

/** The environment of a process that takes itself for the first one of a container. */
export const asProcess1 = () => preloaded(`Object.defineProperty(process, "pid", { value: 1 });`);

/** The environment of a process that hashes passwords at a low cost. */
export const cheapHashes = (): Record<string, string> =>
  preloaded(`
    import processes from "node:child_process";
    import { syncBuiltinESMExports } from "node:module";
    const { fork } = processes;
    const cost = { memoryCost: 1024, timeCost: 1, parallelism: 1 };
    processes.fork = (...given) => {
      const child = fork(...given);
      const send = child.send.bind(child);
      child.send = (message, ...more) => send(message?.job?.cost ? { ...message, job: { ...message.job, cost } } : message, ...more);
      return child;
    };
    syncBuiltinESMExports();`);

/** The environment of a process whose clock is `seconds` ahead of this machine's. */
export const shiftedClock = (seconds: number): Record<string, string> =>
  preloaded(`
    const { Date: Real } = globalThis;
    globalThis.Date = class Date extends Real {
      constructor(...given) { super(...(given.length === 0 ? [Date.now()] : given)); }
      static now() { return Real.now() + ${seconds * 1_000}; }
    };`);

/** The environment of a process for which a name has the given addresses. */
export const named = (name: string, addresses: readonly string[]): Record<string, string> =>
  preloaded(`
    import dns from "node:dns/promises";
    import { syncBuiltinESMExports } from "node:module";
    const { lookup } = dns;
    const found = ${JSON.stringify(addresses.map((address) => ({ address, family: 4 })))};
    dns.lookup = (host, options) => (host === ${JSON.stringify(name)} ? Promise.resolve(found) : lookup(host, options));
    syncBuiltinESMExports();`);
