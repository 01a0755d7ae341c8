import { randomBytes } from "node:crypto";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { sendLogouts } from "../core/backchannel-logout.ts";
import { createSigner } from "../core/signing/jws.ts";
import type { Keys } from "../core/signing/key-ring.ts";
import { guardedFetch } from "../outside/guarded-fetch.ts";
import { isLoopbackHost } from "../outside/public-address.ts";
import { logoutDeliveries } from "../store/logouts.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";
import { type Failed, periodically } from "./periodically.ts";

/** Seconds between two looks for ended sessions. */
const LOOK_EVERY = 1;

/** Notifies clients of the end of sessions, by the keys of a core. @returns a function that stops it */
export function notifyingLogouts(
  { issuer, environment, host }: Config,
  sql: Sql,
  keys: Keys,
  { log, failed, clock }: { readonly log: Log; readonly failed: Failed; readonly clock: Clock },
): () => Promise<void> {
  const local = environment !== "production" && isLoopbackHost(host);
  const ports = {
    issuer,
    keys,
    log,
    deliveries: logoutDeliveries(sql),
    fetch: guardedFetch({ ownUrl: issuer, loopbackAllowed: local, plainLoopback: local }),
    sign: createSigner(),
    clock,
    randomBytes,
  };
  return periodically(LOOK_EVERY, (signal) => sendLogouts(ports, signal), failed, "logout");
}
