import { generateKeyPairSync, type KeyObject, randomBytes } from "node:crypto";
import { linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { mldsaPrivatePem, SEED_BYTES } from "./ml-dsa-key.ts";

type KeyKind = "ed25519" | "rsa" | "ml-dsa-65" | "vault";

const pem = (key: KeyObject): string => key.export({ type: "pkcs8", format: "pem" }).toString();

const GENERATE: Record<KeyKind, () => string> = {
  ed25519: () => pem(generateKeyPairSync("ed25519").privateKey),
  rsa: () => pem(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey),
  "ml-dsa-65": () => mldsaPrivatePem(randomBytes(SEED_BYTES)),
  vault: () => randomBytes(32).toString("base64"),
};

/** Generates a private key as PKCS#8 PEM; that of the vault as base64. */
export const generatePrivateKey = (kind: KeyKind): string => GENERATE[kind]();

/** The private key in a data directory, generated if it does not exist. Processes that start at once get the same key. */
export function developmentKey(dataDir: string, kind: KeyKind): string {
  const directory = join(dataDir, "keys");
  const path = join(directory, `${kind}.${kind === "vault" ? "key" : "pem"}`);
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  // The link makes the whole key appear at once.
  const temporary = `${path}.${process.pid}`;
  writeFileSync(temporary, generatePrivateKey(kind), { mode: 0o600 });
  try {
    linkSync(temporary, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  } finally {
    rmSync(temporary);
  }
  return readFileSync(path, "utf8");
}
