import type { Config } from "../config.ts";
import { developmentKey } from "../development-keys.ts";
import { type SecretBox, secretBox } from "../secret-box.ts";
import { reseal } from "../store/resealing.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";

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
