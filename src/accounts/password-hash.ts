import { type ChildProcess, fork } from "node:child_process";
import { getPriority, setPriority } from "node:os";
import { extname } from "node:path";
import argon2 from "argon2";
import { Refusal } from "../errors.ts";
import type { RandomBytes } from "../random.ts";
import { type FairQueue, fairQueue } from "./fair-queue.ts";
import { type HashingJob, type PasswordCost, runHashingJob } from "./hashing-job.ts";
import type { HashingRequest, HashingResponse } from "./hashing-process.ts";
import { normalizePassword } from "./password-rules.ts";

export type { PasswordCost };

/** 19 MiB, two passes, one lane (OWASP Password Storage Cheat Sheet). */
const PRODUCTION_COST: PasswordCost = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };

/** Hashes at once: each keeps a processor busy. */
const HASHES_AT_ONCE = 2;

/** Addresses take turns. One has the whole queue as long as no other wants a place. The wait is that of a full queue of hashes of 180 ms. */
export const HASHING = { width: HASHES_AT_ONCE, queue: 32, share: 32, wait: 3000 } as const;

export type PasswordVerdict = { readonly kind: "wrong" } | { readonly kind: "right"; readonly outdated: boolean };

export type PasswordHashing = ReturnType<typeof passwordHashing>;

/**
 * Hashes a few passwords at a time. Only tests set `cost`: their cheap hashes are computed in this process.
 * @throws {Refusal} temporarily_unavailable when too many wait
 */
export function passwordHashing({
  randomBytes,
  cost = PRODUCTION_COST,
  queue = fairQueue(HASHING),
}: {
  readonly randomBytes: RandomBytes;
  readonly cost?: PasswordCost;
  readonly queue?: FairQueue;
}) {
  const run: (job: HashingJob) => Promise<string | boolean> = cost === PRODUCTION_COST ? hashInProcess : runHashingJob;
  // A random hash for unknown accounts, which no password matches.
  const unmatchable = argon2Text(cost, randomBytes(16), randomBytes(32));
  return {
    /** @param address the key in the fair queue  @returns the encoded hash */
    hash: (password: string, address: string): Promise<string> =>
      queue(address, async () => String(await run({ kind: "hash", normalized: normalizePassword(password), salt: randomBytes(16), cost }))),
    /** Does the same work without a hash to compare with. `outdated`: of another kind, or made with other parameters than the current ones. */
    async verify(encoded: string | null | undefined, password: string, address: string): Promise<PasswordVerdict> {
      const job = { kind: "verify", encoded: encoded ?? unmatchable, password, normalized: normalizePassword(password) } as const;
      const right = await queue(address, () => run(job));
      if (!right || !encoded) return { kind: "wrong" };
      return { kind: "right", outdated: !encoded.startsWith("$argon2id$") || argon2.needsRehash(encoded, cost) };
    },
  };
}

function argon2Text(cost: PasswordCost, salt: Uint8Array, digest: Uint8Array): string {
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${cost.memoryCost},p=${cost.parallelism},t=${cost.timeCost}$${base64(salt)}$${base64(digest)}`;
}

/** Beside this file, which the package has without its types. */
const MODULE = new URL(`./hashing-process${extname(import.meta.filename)}`, import.meta.url);

/** Added to the niceness of the server, so that a flood of sign-ins leaves the processors to everything else. */
const NICENESS = 10;

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
