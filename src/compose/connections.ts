import { issuerKeys, remoteKeys } from "../clients/remote-keys.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { loadOnce } from "../load-once.ts";
import { guardedFetch } from "../outside/guarded-fetch.ts";
import type { SecretBox } from "../secret-box.ts";
import type { Providers } from "../upstream/ports.ts";
import { reachesLoopback } from "./opening.ts";

/** Talks to identity providers, of which those on this machine are reached in development only. */
export const providersOf = (
  config: Pick<Config, "issuer" | "environment" | "host">,
  box: SecretBox,
  clock: Clock,
): (() => Promise<Providers>) =>
  loadOnce(async () => {
    const { providers } = await import("../upstream/provider.ts");
    const { issuer } = config;
    const plainLoopback = reachesLoopback(config);
    const fetch = guardedFetch({ ownUrl: issuer, loopbackAllowed: plainLoopback, plainLoopback });
    const keys = issuerKeys(fetch, remoteKeys(fetch, clock), clock);
    return providers({ fetch, keys, box, clock, callback: (name) => `${issuer}/signin/${name}/callback`, plainLoopback });
  });
