import { issuerKeys, remoteKeys } from "../clients/remote-keys.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { developmentKey } from "../development-keys.ts";
import { loadOnce } from "../load-once.ts";
import { guardedFetch } from "../outside/guarded-fetch.ts";
import { isLoopbackHost } from "../outside/public-address.ts";
import { type SecretBox, secretBox } from "../secret-box.ts";
import { reseal } from "../store/resealing.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";
import type { Providers } from "../upstream/ports.ts";

/** Seals by VAULT_KEY; outside production by a key under DATA_DIR, which is made at first use. */
export const vaultOf = ({ keys, environment, dataDir }: Config): SecretBox =>
  secretBox(() => keys.vaultKey ?? (environment === "production" ? undefined : developmentKey(dataDir, "vault")), keys.vaultKeysPrevious);

/** Talks to identity providers, of which those on this machine are reached in development only. */
export const providersOf = (
  { issuer, environment, host }: Pick<Config, "issuer" | "environment" | "host">,
  box: SecretBox,
  clock: Clock,
): (() => Promise<Providers>) =>
  loadOnce(async () => {
    const { providers } = await import("../upstream/provider.ts");
    const plainLoopback = environment !== "production" && isLoopbackHost(host);
    const fetch = guardedFetch({ ownUrl: issuer, loopbackAllowed: plainLoopback, plainLoopback });
    const keys = issuerKeys(fetch, remoteKeys(fetch, clock), clock);
    return providers({ fetch, keys, box, clock, callback: (name) => `${issuer}/signin/${name}/callback`, plainLoopback });
  });

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
