import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import type { CheckpointSigner } from "../audit-chain/chain.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { sendLogouts } from "../core/logout.ts";
import { createSigner } from "../core/signing/jws.ts";
import type { Keys } from "../core/signing/key-ring.ts";
import { guardedFetch } from "../outside/guarded-fetch.ts";
import { isLoopbackHost } from "../outside/public-address.ts";
import { releaseAuditLimit } from "../store/audit-partitions.ts";
import { auditSealer, SEAL_BATCH } from "../store/audit-sealer.ts";
import { embeddedVacuum } from "../store/embedded.ts";
import { logoutDeliveries } from "../store/logouts.ts";
import type { Database } from "../store/orm.ts";
import { continueRemoval, pendingRemovals } from "../store/removals.ts";
import type { Sql } from "../store/sql.ts";
import { sweep } from "../store/sweep.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { type Failed, periodically } from "./periodically.ts";

/** Seconds between two sweeps and between two vacuums, and between two checks for removals. */
const SWEEP_EVERY = 60;
const LOOK_EVERY = 1;

type Observers = { readonly metrics: Pick<Metrics, "backgroundRows">; readonly failed: Failed };

/** Pauses as long as the work before it, unless aborted: background work takes half of one connection at most. */
const resting =
  (signal: AbortSignal) =>
  (milliseconds: number): Promise<unknown> =>
    setTimeout(milliseconds, undefined, { signal }).catch(() => undefined);

/** Runs all pending removals to their end, a batch of each in turn. A failed one waits for the next check; the others continue. */
export async function remove(sql: Sql, signal: AbortSignal, { metrics, failed }: Observers): Promise<void> {
  const rest = resting(signal);
  let ids = await pendingRemovals(sql);
  while (ids.length > 0 && !signal.aborted) {
    const left: string[] = [];
    for (const id of ids) {
      if (signal.aborted) return;
      const began = performance.now();
      try {
        const progress = await continueRemoval(sql, id);
        if (progress !== undefined) metrics.backgroundRows(`removal_${progress.kind}`, progress.rows);
        if (progress?.finished === false) left.push(id);
      } catch (error) {
        failed(error, "removal");
      }
      await rest(performance.now() - began);
    }
    ids = left;
  }
}

/** Vacuums the tables of the embedded database that are due, one after the other: each makes PostgreSQL plan the statements on it again. */
function vacuuming(sql: Sql, failed: Failed) {
  const next = embeddedVacuum(sql);
  return periodically(
    SWEEP_EVERY,
    async (signal) => {
      while (!signal.aborted && (await next()) !== undefined);
    },
    failed,
    "vacuum",
  );
}

/** Removes in the background what has expired, and what was disabled, signed out or deleted. @returns a function that stops it */
export function housekeeping({ sql, kind }: Database, observers: Observers): () => Promise<void> {
  const { metrics, failed } = observers;
  const sweeping = periodically(
    SWEEP_EVERY,
    async (signal) => {
      await releaseAuditLimit(sql);
      await sweep(sql, {
        signal,
        rest: resting(signal),
        swept: (table, rows) => metrics.backgroundRows(`sweep_${table}`, rows),
        failed: (table, error) => failed(error, `sweep_${table}`),
      });
    },
    failed,
    "sweep",
  );
  const removing = periodically(LOOK_EVERY, (signal) => remove(sql, signal, observers), failed, "removal");
  const works = [sweeping, removing, ...(kind === "embedded" ? [vacuuming(sql, failed)] : [])];
  return async () => {
    await Promise.all(works.map((stop) => stop()));
  };
}

/** Seconds between two turns, so that a record is sealed well within a second. */
const SEAL_EVERY = 0.25;
/** Turns to skip after a failed one: while the database is away, it is queried every few seconds. */
const SEAL_REST = 20;

/** The key that signs access tokens now. A front has no private keys: it seals, and the cores sign. */
function signerOf(issuer: string, keys: Keys | undefined): CheckpointSigner | undefined {
  const key = keys?.current()?.accessToken;
  return key && { issuer, kid: key.jwk.kid, privateKey: key.privateKey };
}

/** Seals the audit log in the background, and once more at the end. @returns a function that stops it */
export function sealing(issuer: string, keys: Keys | undefined, { sql, kind }: Database, failed: Failed): () => Promise<void> {
  const seal = () => auditSealer(sql, signerOf(issuer, keys), SEAL_BATCH[kind]).seal();
  let rest = 0;
  const turn = async (): Promise<void> => {
    if (rest > 0) {
      rest -= 1;
      return;
    }
    rest = SEAL_REST; // until a turn succeeds
    await seal();
    rest = 0;
  };
  const stop = periodically(SEAL_EVERY, turn, failed, "audit_seal");
  return async () => {
    await stop();
    await seal();
  };
}

/** Seconds between two looks for ended sessions. */
const LOGOUTS_EVERY = 1;

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
  return periodically(LOGOUTS_EVERY, (signal) => sendLogouts(ports, signal), failed, "logout");
}
