import { pbkdf2, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import argon2 from "argon2";
import { loadOnce } from "../load-once.ts";

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

/** bcrypt with a cost from 4 to 14, as other servers store it. */
const BCRYPT = /^\$2[aby]\$(?:0[4-9]|1[0-4])\$[./A-Za-z0-9]{53}$/;
/** Libraries write the parameters in either order. */
const ARGON2 =
  /^\$argon2(?:id|i|d)\$v=19\$m=(?<memory>\d{1,6}),(?:t=(?<t>\d{1,3}),p=(?<p>\d{1,2})|p=(?<lanes>\d{1,2}),t=(?<passes>\d{1,3}))\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{22,86}$/;
/** PBKDF2 (RFC 8018) and scrypt (RFC 7914) as PHC strings: parameters, salt, and 16 to 64 bytes of the derived key. */
const PBKDF2 =
  /^\$pbkdf2-(?<digest>sha1|sha256|sha512)\$i=(?<iterations>\d{1,7})(?:,l=\d{2})?\$(?<salt>[A-Za-z0-9+/]{6,172})\$(?<key>[A-Za-z0-9+/]{22,86})$/;
const SCRYPT = /^\$scrypt\$ln=(?<ln>\d{1,2}),r=(?<r>\d{1,2}),p=(?<p>\d)\$(?<salt>[A-Za-z0-9+/]{6,172})\$(?<key>[A-Za-z0-9+/]{22,86})$/;

/** The most that a hash may cost at each sign-in: 128 MiB, of argon2 ten passes over them, four of scrypt, and two million iterations of PBKDF2. */
const MAX_MEMORY = 128 * 2 ** 20;
const MAX_WORK_OF_ARGON2 = 10 * MAX_MEMORY;
const MAX_LANES_OF_SCRYPT = 4;
const MAX_ITERATIONS = 2_000_000;
/** Bytes of the key that one run of the iterations derives. */
const BLOCK = { sha1: 20, sha256: 32, sha512: 64 } as const;

type Verify = (text: string) => Promise<boolean>;

const loadBcrypt = loadOnce(() => import("bcrypt"));
const derive = { pbkdf2: promisify(pbkdf2), scrypt: promisify<string, Buffer, number, object, Buffer>(scrypt) };

/** How a password is checked against a hash in one of the forms above; undefined for other hashes, and where it would cost too much. */
export const verifierOf = (encoded: string): Verify | undefined =>
  bcryptVerifier(encoded) ?? argon2Verifier(encoded) ?? pbkdf2Verifier(encoded) ?? scryptVerifier(encoded);

function bcryptVerifier(encoded: string): Verify | undefined {
  if (!BCRYPT.test(encoded)) return undefined;
  const named = encoded.replace("$2y$", "$2b$"); // PHP's name of the same form
  return async (text) => (await loadBcrypt()).default.compare(text, named);
}

function argon2Verifier(encoded: string): Verify | undefined {
  const found = ARGON2.exec(encoded)?.groups;
  if (found === undefined) return undefined;
  const [memory, passes, lanes] = [found.memory, found.t ?? found.passes, found.p ?? found.lanes].map(Number) as [number, number, number];
  const bytes = memory * 1024;
  const isBearable = lanes >= 1 && memory >= 8 * lanes && bytes <= MAX_MEMORY && passes >= 1 && bytes * passes <= MAX_WORK_OF_ARGON2;
  return isBearable ? (text) => argon2.verify(encoded, text) : undefined;
}

function pbkdf2Verifier(encoded: string): Verify | undefined {
  const { digest, iterations, salt, key } = PBKDF2.exec(encoded)?.groups ?? {};
  if (digest === undefined) return undefined;
  const [count, expected] = [Number(iterations), bytesOf(key)];
  const blocks = Math.ceil(expected.length / BLOCK[digest as keyof typeof BLOCK]);
  if (count < 1 || count * blocks > MAX_ITERATIONS) return undefined;
  return async (text) => timingSafeEqual(await derive.pbkdf2(text, bytesOf(salt), count, expected.length, digest), expected);
}

function scryptVerifier(encoded: string): Verify | undefined {
  const { ln, r, p, salt, key } = SCRYPT.exec(encoded)?.groups ?? {};
  const [cost, blockSize, parallelization] = [2 ** Number(ln), Number(r), Number(p)];
  const memory = 128 * cost * blockSize;
  const isDefined = cost > 1 && Number(ln) < 16 * blockSize; // RFC 7914 §2: another N has no key
  const isBearable = memory <= MAX_MEMORY && parallelization >= 1 && parallelization <= MAX_LANES_OF_SCRYPT;
  if (!isDefined || !isBearable) return undefined; // also for another text, whose numbers are NaN
  const expected = bytesOf(key);
  const options = { cost, blockSize, parallelization, maxmem: 2 * MAX_MEMORY };
  return async (text) => timingSafeEqual(await derive.scrypt(text, bytesOf(salt), expected.length, options), expected);
}

const bytesOf = (base64 = ""): Buffer => Buffer.from(base64, "base64");
