import argon2 from "argon2";
import type { RandomBytes } from "../random.ts";
import { type FairQueue, fairQueue } from "./fair-queue.ts";
import { isForeign, matches } from "./imported-hash.ts";
import { normalizePassword } from "./password-rules.ts";

/** What one argon2id hash costs: memory in KiB, passes over it, lanes. */
export type PasswordCost = { readonly memoryCost: number; readonly timeCost: number; readonly parallelism: number };

/** 19 MiB, two passes, one lane (OWASP Password Storage Cheat Sheet). */
const PRODUCTION_COST: PasswordCost = { memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };

/** Two of the four threads in Node's pool, so that name look-ups and files always have the others. Addresses take turns. */
const HASHING = { width: 2, queue: 32, share: 16, wait: 1000 } as const;

export type PasswordVerdict = { readonly kind: "wrong" } | { readonly kind: "right"; readonly outdated: boolean };

export interface PasswordHashing {
  /** @param address the key in the fair queue  @returns the encoded hash */
  hash(password: string, address: string): Promise<string>;
  /** Does the same work without a hash to compare with. `outdated`: made with other parameters than the current ones. */
  verify(encoded: string | null | undefined, password: string, address: string): Promise<PasswordVerdict>;
}

/** Hashes a few passwords at a time. Only tests set `cost`. @throws {Refusal} temporarily_unavailable when too many wait */
export function passwordHashing({
  randomBytes,
  cost = PRODUCTION_COST,
  queue = fairQueue(HASHING),
}: {
  readonly randomBytes: RandomBytes;
  readonly cost?: PasswordCost;
  readonly queue?: FairQueue;
}): PasswordHashing {
  const encode = (password: string, address: string) =>
    queue(address, () => argon2.hash(normalizePassword(password), { ...cost, type: argon2.argon2id, salt: Buffer.from(randomBytes(16)) }));
  // A random hash for unknown accounts, which no password matches.
  const unmatchable = argon2Text(cost, randomBytes(16), randomBytes(32));
  return {
    hash: encode,
    async verify(encoded, password, address) {
      const right = await queue(address, () => matches(encoded ?? unmatchable, password, normalizePassword(password)));
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
