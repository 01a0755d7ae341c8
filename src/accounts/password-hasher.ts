import { type ChildProcess, fork } from "node:child_process";
import { getPriority, setPriority } from "node:os";
import { extname } from "node:path";
import { Refusal } from "../errors.ts";
import type { HashingJob } from "./hashing-job.ts";
import type { HashingRequest, HashingResponse } from "./hashing-process.ts";

/** Beside this file, which the package has without its types. */
const MODULE = new URL(`./hashing-process${extname(import.meta.filename)}`, import.meta.url);

/** Added to the niceness of the server, so that a flood of sign-ins leaves the processors to everything else. */
const NICENESS = 10;

/** Hashes at once: each keeps a processor busy. */
export const HASHES_AT_ONCE = 2;

interface Waiting {
  resolve(result: string | boolean): void;
  reject(error: Error): void;
}
interface Hasher {
  readonly child: ChildProcess;
  readonly waiting: Map<number, Waiting>;
}

let hasher: Hasher | undefined;
let lastId = 0;

/**
 * Runs a job in a process of its own with a lower priority, started by the first job and again if it has ended: libuv's threads of this
 * process stay free for name look-ups and files.
 * @throws {Refusal} temporarily_unavailable when that process ends before it answers, or cannot be started
 */
export async function hashInProcess(job: HashingJob): Promise<string | boolean> {
  hasher ??= start();
  const { child, waiting } = hasher;
  const id = ++lastId;
  return new Promise((resolve, reject) => {
    waiting.set(id, { resolve, reject });
    keepAlive(child, true);
    child.send({ id, job } satisfies HashingRequest, (error) => {
      if (error !== null && waiting.delete(id)) reject(ended());
    });
  });
}

const ended = () => new Refusal("temporarily_unavailable", "hashing_process_ended", { retryAfter: 1 });

function start(): Hasher {
  // It needs none of this server's settings, which contain secrets.
  const env = { UV_THREADPOOL_SIZE: String(HASHES_AT_ONCE) };
  const child = fork(MODULE, { env, execArgv: [], serialization: "advanced", stdio: ["ignore", "ignore", "inherit", "ipc"] });
  if (child.pid === undefined) {
    child.on("error", () => undefined); // such as too many open files: the next job tries again
    throw ended();
  }
  try {
    setPriority(child.pid, Math.min(19, getPriority() + NICENESS));
  } catch {
    // Hashing then competes like everything else.
  }
  const started: Hasher = { child, waiting: new Map() };
  const stop = () => {
    if (hasher === started) hasher = undefined;
    for (const { reject } of started.waiting.values()) reject(ended());
    started.waiting.clear();
  };
  child.on("error", stop).on("exit", stop);
  child.on("message", ({ id, result }: HashingResponse) => {
    const caller = started.waiting.get(id);
    started.waiting.delete(id);
    if (started.waiting.size === 0) keepAlive(child, false);
    if (typeof result === "object") caller?.reject(new Error(result.error));
    else caller?.resolve(result);
  });
  return started;
}

/** Whether this process waits for the other one before it ends. */
function keepAlive(child: ChildProcess, isNeeded: boolean): void {
  const change = isNeeded ? "ref" : "unref";
  child[change]();
  child.channel?.[change]();
}
