import argon2 from "argon2";
import type { RandomBytes } from "../random.ts";
import { type FairQueue, fairQueue } from "./fair-queue.ts";
import { type HashingJob, type PasswordCost, runHashingJob } from "./hashing-job.ts";
import { isForeign } from "./imported-hash.ts";
import { HASHES_AT_ONCE, hashInProcess } from "./password-hasher.ts";
import { normalizePassword } from "./password-rules.ts";

export type { PasswordCost };

/** 19 MiB, two passes, one lane (OWASP Password Storage Cheat Sheet). */
const PRODUCTION_COST: PasswordCost = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };

/** Addresses take turns. */
const HASHING = { width: HASHES_AT_ONCE, queue: 32, share: 16, wait: 1000 } as const;

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
    /** Does the same work without a hash to compare with. `outdated`: made with other parameters than the current ones. */
    async verify(encoded: string | null | undefined, password: string, address: string): Promise<PasswordVerdict> {
      const job = { kind: "verify", encoded: encoded ?? unmatchable, password, normalized: normalizePassword(password) } as const;
      const right = await queue(address, () => run(job));
      if (!right || !encoded) return { kind: "wrong" };
      return { kind: "right", outdated: isForeign(encoded) || argon2.needsRehash(encoded, cost) };
    },
  };
}

/** The encoded form of an argon2id hash. */
function argon2Text(cost: PasswordCost, salt: Uint8Array, digest: Uint8Array): string {
  const base64 = (bytes: Uint8Array) => Buffer.from(bytes).toString("base64").replaceAll("=", "");
  return `$argon2id$v=19$m=${cost.memoryCost},p=${cost.parallelism},t=${cost.timeCost}$${base64(salt)}$${base64(digest)}`;
}
