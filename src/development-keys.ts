import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mldsaPrivatePem, SEED_BYTES } from "./ml-dsa-key.ts";

/** Kinds of key that a deployment without keys of its own is given. */
type KeyKind = "ed25519" | "rsa" | "ml-dsa-65";

const pem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();

const GENERATE: Record<KeyKind, () => string> = {
  ed25519: () => pem(generateKeyPairSync("ed25519").privateKey),
  rsa: () => pem(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey),
  "ml-dsa-65": () => mldsaPrivatePem(randomBytes(SEED_BYTES)),
};

/** A fresh private key as PKCS#8 PEM text. */
export const generatePrivateKey = (kind: KeyKind): string => GENERATE[kind]();

/**
 * The private key kept under a data directory, generated when it is not there yet.
 * Of several processes that start at once on a fresh directory, one writes and all read the same key.
 */
export function developmentKey(dataDir: string, kind: KeyKind): string {
  const directory = join(dataDir, "keys");
  const path = join(directory, `${kind}.pem`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  // Written aside and linked into place, so that nobody ever reads half a key.
  const aside = `${path}.${process.pid}`;
  writeFileSync(aside, generatePrivateKey(kind), { mode: 0o600 });
  try {
    linkSync(aside, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(aside);
  }
  return readFileSync(path, "utf8");
}
