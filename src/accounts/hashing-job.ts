import argon2 from "argon2";
import { verifierOf } from "./imported-hash.ts";

/** What one argon2id hash costs: memory in KiB, passes over it, lanes. */
export type PasswordCost = { readonly memoryCost: number; readonly timeCost: number; readonly parallelism: number };

/** `normalized`: the password as this server hashes it. Others may have hashed what was typed. */
export type HashingJob =
  | { readonly kind: "hash"; readonly normalized: string; readonly salt: Uint8Array; readonly cost: PasswordCost }
  | { readonly kind: "verify"; readonly encoded: string; readonly password: string; readonly normalized: string };

/** Hashes in this process, in libuv's threads. @returns the encoded hash, or whether the hash is of this password */
export async function runHashingJob(job: HashingJob): Promise<string | boolean> {
  if (job.kind === "hash") return argon2.hash(job.normalized, { ...job.cost, type: argon2.argon2id, salt: Buffer.from(job.salt) });
  const verify = verifierOf(job.encoded);
  for (const text of new Set([job.normalized, job.password])) if (await verify?.(text)) return true;
  return false;
}
