import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freshDataDir } from "./database.ts";
import { freePort } from "./free-port.ts";
import { PROVISIONED } from "./server.ts";

/** The compile cache that processes share: a start takes a third less time. */
export const COMPILED = join(tmpdir(), "countersign-test-compiled");

const MAIN = join(import.meta.dirname, "../../src/main.ts");

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
    child.kill("SIGCONT");
    child.kill("SIGKILL");
    await once(child, "exit");
  }
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true, force: true });
}

function launch(args: readonly string[], env: Record<string, string>) {
  const child = spawn(process.execPath, ["--conditions=countersign", MAIN, ...args], {
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

/**
 * Starts `countersign serve` and waits until it answers.
 * @param env PORT and GRPC_PORT default to free ports
 * @throws {Error} with its output when it exits before
 */
export async function startProcess(env: Record<string, string>, role?: "front" | "core"): Promise<ServiceProcess> {
  const [port, grpcPort] = [env.PORT ?? String(await freePort()), env.GRPC_PORT ?? String(await freePort())];
  const given = {
    NODE_ENV: "test",
    LOG_LEVEL: "warn",
    SIGN_UP_RATE_LIMIT: "1000",
    DATA_DIR: env.DATA_DIR ?? (env.DATABASE_URL === undefined ? await aDataDirectory() : aDirectory()),
    ...env,
  };
  const settings = { ...given, PORT: port, GRPC_PORT: grpcPort };
  const { child, ended, said } = launch(["serve", ...(role === undefined ? [] : ["--role", role])], settings);
  const url = `http://localhost:${port}`;
  const isUp = role === "core" ? async () => said().includes("Countersign is up") : () => answers(url);
  for (let tries = 0; !(await isUp()); tries++) {
    if (child.exitCode !== null || tries > 600) throw new Error(`the process did not start:\n${said()}`);
    await pause(50);
  }
  return { url, grpc: `127.0.0.1:${grpcPort}`, child, said, ended };
}

const answers = (url: string): Promise<boolean> =>
  fetch(`${url}/health`).then(
    (response) => response.ok,
    () => false,
  );

export const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** Waits until a condition holds. @throws {Error} when it does not within `patience` milliseconds */
export async function until(what: string, holds: () => Promise<boolean>, patience = 15_000): Promise<void> {
  const end = performance.now() + patience;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > end) throw new Error(`${what}: not within ${patience} ms`);
    await pause(50);
  }
}
