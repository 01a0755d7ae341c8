import { resolve } from "node:path";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { type Keys, openKeys } from "../core/signing/key-ring.ts";
import { publicKeysOf, type SigningKey, signingKey } from "../core/signing/keys.ts";
import { openMldsaKey } from "../core/signing/ml-dsa.ts";
import { developmentKey } from "../development-keys.ts";
import { readMldsaPrivate } from "../ml-dsa-key.ts";
import { type SecretBox, secretBox } from "../secret-box.ts";
import { notOwn } from "../store/directory-lock.ts";
import { keyRegister } from "../store/key-register.ts";
import type { Database } from "../store/orm.ts";
import { reseal } from "../store/resealing.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";
import { isWorker, waitWhileOthersServe } from "./worker.ts";

/** Seconds for which a key is served after the last core that holds it: longer than any token lives, plus the interval of reports. */
export const KEYS_OUTLIVE = 25 * 60 * 60;

/** The configured keys; in development those under DATA_DIR. Production must configure its own (config/contradictions.ts). @param clock of the database */
export async function keysOf(config: Config, { sql, kind }: Database, clock?: Clock): Promise<Keys> {
  const { privateKeyPem, previousPrivateKeyPem, retiredPublicKeysPem, rsaPrivateKeyPem, idTokenSigningAlg } = config.keys;
  const generated =
    privateKeyPem === undefined ||
    (idTokenSigningAlg === "RS256" && rsaPrivateKeyPem === undefined) ||
    (config.pqc.hybrid && config.keys.mldsaPrivateKey === undefined);
  const preferred = privateKeyPem === undefined ? keptKey(config.dataDir, "ed25519", keyFor("EdDSA")) : signingKey(privateKeyPem);
  const ring = {
    accessToken: [preferred, ...(previousPrivateKeyPem === undefined ? [] : [signingKey(previousPrivateKeyPem)])] as const,
    rsa: idTokenSigningAlg === "RS256" ? rsaKey(config) : undefined,
    published: publicKeysOf(retiredPublicKeysPem ?? ""),
    mldsa: await mldsaOf(config),
    // No other core shares the embedded database, and a generated key is for trials and replaces none.
    signsAtOnce: kind === "embedded" || generated,
  };
  return openKeys(ring, keyRegister(sql, KEYS_OUTLIVE), clock);
}

/**
 * Lets a worker whose keys are too new to sign wait before it listens, while others serve with the key before: so a key can be replaced by
 * its file and SIGHUP. @see docs/keys.md
 */
export async function awaitNotice(keys: Keys, log: Log, failed: (error: unknown) => void): Promise<void> {
  if (keys.current() !== undefined || !isWorker()) return;
  log.warn("signing_key_waits");
  await waitWhileOthersServe(async () => {
    await keys.refresh().catch(failed);
    return keys.current() !== undefined;
  });
}

/** A key under DATA_DIR. @throws {Error} naming the file when it holds no such key; the file is never overwritten */
function keptKey<Key>(dataDir: string, kind: "ed25519" | "rsa" | "ml-dsa-65", read: (text: string) => Key): Key {
  try {
    return read(developmentKey(dataDir, kind));
  } catch (cause) {
    const { code, path } = Object(cause) as { readonly code?: unknown; readonly path?: unknown };
    if (code === "EACCES" || code === "EPERM") throw notOwn(path, cause);
    if (code === "EROFS" || code === "ENOSPC") throw cause;
    throw new Error(
      `DATA_DIR: ${resolve(dataDir, "keys", `${kind}.pem`)} holds no readable ${kind} private key; restore it from a backup, or delete it to have a new one made (tokens that the old one signed are then no longer valid).`,
      { cause },
    );
  }
}

/** Reads a key for one algorithm; one of another kind would sign tokens that no client expects. @throws {Error} */
const keyFor =
  (alg: "EdDSA" | "RS256") =>
  (text: string): SigningKey => {
    const key = signingKey(text);
    if (key.jwk.alg !== alg) throw new Error(`the key signs by ${key.jwk.alg}, not by ${alg}`);
    return key;
  };

const rsaKey = ({ keys, dataDir }: Config) =>
  keys.rsaPrivateKeyPem === undefined ? keptKey(dataDir, "rsa", keyFor("RS256")) : signingKey(keys.rsaPrivateKeyPem);

/** The ML-DSA-65 key, published where configured. HYBRID_SIGNING_ENABLED makes it sign, and generates a missing one outside production. */
async function mldsaOf(config: Config) {
  const { hybrid } = config.pqc;
  const { mldsaPrivateKey } = config.keys;
  if (mldsaPrivateKey === undefined && !hybrid) return undefined;
  const read = (text: string) => {
    const held = readMldsaPrivate(text);
    if (held === undefined) throw new Error("this is no ML-DSA-65 key");
    return held;
  };
  const held = mldsaPrivateKey === undefined ? keptKey(config.dataDir, "ml-dsa-65", read) : read(mldsaPrivateKey);
  const key = await openMldsaKey(held.seed);
  if (held.publicKey !== undefined && held.publicKey.toString("base64url") !== key.jwk.pub) {
    throw new Error("JWT_MLDSA_PRIVATE_KEY: its pub does not belong to its priv; give the JWK as it was made, or leave pub out.");
  }
  return { key, hybrid };
}

/** Seals by VAULT_KEY; outside production by a key under DATA_DIR, which is made at first use. */
export const vaultOf = ({ keys, environment, dataDir }: Config): SecretBox =>
  secretBox(() => keys.vaultKey ?? (environment === "production" ? undefined : developmentKey(dataDir, "vault")), keys.vaultKeysPrevious);

/** Encrypts all secrets by VAULT_KEY in the background, and warns of those that no key opens. @returns a function that stops it */
export function resealing(config: Config, sql: Sql, log: Log, failed: (error: unknown) => void): () => Promise<void> {
  const { vaultKey, vaultKeysPrevious } = config.keys;
  if (vaultKey === undefined) return async () => undefined;
  const stopping = new AbortController();
  const work = reseal(sql, vaultOf(config), stopping.signal).then(({ replaced, unreadable }) => {
    if (vaultKeysPrevious.length > 0) log.info("vault_resealed", { count: replaced });
    if (unreadable > 0) log.warn("vault_unreadable", { count: unreadable, setting: "VAULT_KEY_PREVIOUS" });
  }, failed);
  return async () => {
    stopping.abort();
    await work;
  };
}
