import type { Config } from "../config.ts";
import { reseal } from "../store/resealing.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";
import { vaultOf } from "./connections.ts";

/** Encrypts all secrets by VAULT_KEY in the background, where earlier keys are named. @returns a function that stops it */
export function resealing(config: Config, sql: Sql, log: Log, failed: (error: unknown) => void): () => Promise<void> {
  if (config.keys.vaultKeysPrevious.length === 0) return async () => undefined;
  const stopping = new AbortController();
  const work = reseal(sql, vaultOf(config), stopping.signal).then(({ replaced, unreadable }) => {
    log.info("vault_resealed", { count: replaced });
    if (unreadable > 0) log.warn("vault_unreadable", { count: unreadable, setting: "VAULT_KEY_PREVIOUS" });
  }, failed);
  return async () => {
    stopping.abort();
    await work;
  };
}
