import { randomBytes } from "node:crypto";
import { performance } from "node:perf_hooks";
import { setTimeout } from "node:timers/promises";
import type { CheckpointSigner } from "../audit-chain/chain.ts";
import { exportLines } from "../audit-chain/export.ts";
import { verification } from "../audit-chain/verify.ts";
import type { Clock } from "../clock.ts";
import type { Config } from "../config.ts";
import { sendLogouts } from "../core/logout.ts";
import type { Keys } from "../core/signing/key-ring.ts";
import { Refusal } from "../errors.ts";
import { openArchive, writeArchive } from "../outside/audit-archive.ts";
import { guardedFetch } from "../outside/guarded-fetch.ts";
import { auditPartitions, releaseAuditLimit } from "../store/audit-partitions.ts";
import { auditRetention, type Due } from "../store/audit-progress.ts";
import { auditSealer, SEAL_BATCH } from "../store/audit-sealer.ts";
import { auditTrail } from "../store/audit-trail.ts";
import { embeddedVacuum } from "../store/embedded.ts";
import { publishedKeys } from "../store/key-register.ts";
import { logoutDeliveries } from "../store/logouts.ts";
import type { Database } from "../store/orm.ts";
import { continueRemoval, pendingRemovals } from "../store/removals.ts";
import type { Sql } from "../store/sql.ts";
import { sweep } from "../store/sweep.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { KEYS_OUTLIVE } from "./keys.ts";
import { reachesLoopback } from "./opening.ts";
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
  config: Config,
  sql: Sql,
  keys: Keys,
  { log, failed, clock }: { readonly log: Log; readonly failed: Failed; readonly clock: Clock },
): () => Promise<void> {
  const { issuer } = config;
  const local = reachesLoopback(config);
  const ports = {
    issuer,
    keys,
    log,
    deliveries: logoutDeliveries(sql),
    fetch: guardedFetch({ ownUrl: issuer, loopbackAllowed: local, plainLoopback: local }),
    clock,
    randomBytes,
  };
  return periodically(LOGOUTS_EVERY, (signal) => sendLogouts(ports, signal), failed, "logout");
}

/** Seconds between two looks for records that have been kept long enough. */
const EVERY = 60;

/** `days` for which records are kept. `folder` of the archives. `streamed`: whether AUDIT_STREAM must have got them. */
export interface Retention {
  readonly days: number;
  readonly folder: string;
  readonly streamed: boolean;
}

const padded = (seq: number): string => String(seq).padStart(12, "0");

/**
 * The lines of an archive, which is proved as `countersign audit verify` does before it counts.
 * @throws {Error} where a record is missing or altered, also because it has been removed in the meantime
 */
async function* proven(lines: AsyncIterable<string>, { start, until }: Due): AsyncGenerator<string> {
  const verifying = verification();
  for await (const line of lines) {
    verifying.take(line);
    yield line;
  }
  const verdict = verifying.end();
  const isWhole = verdict.kind === "sound" && verdict.proof.first === start + 1 && verdict.proof.signedTo === until;
  if (!isWhole) throw new Error(`records ${start + 1} to ${until} of the audit trail cannot be proved, so they stay`);
}

/** Archives what has been kept long enough, file by file, and lets the trail begin after it; the sweep removes it. @returns archived records */
export async function archive(sql: Sql, { days, folder, streamed }: Retention, signal?: AbortSignal): Promise<number> {
  const [retention, trail] = [auditRetention(sql), auditTrail(sql)];
  let archived = 0;
  await openArchive(folder); // known at once, and not when the first records are old enough
  while (signal?.aborted !== true) {
    const due = await retention.due(days, streamed);
    if (due === undefined) return archived;
    const source = {
      keys: () => publishedKeys(sql, KEYS_OUTLIVE).all(),
      part: async (limit: number, after: number) => {
        const { start, ...part } = await trail.part(limit, after);
        if (start === undefined) throw new Refusal("not_found", "audit_link_unknown");
        return { start, ...part };
      },
    };
    const lines = proven(exportLines(source, due.start, due.until), due);
    const isOvertaken = await writeArchive(folder, `audit-${padded(due.start + 1)}-${padded(due.until)}.ndjson`, lines).then(
      async () => !(await retention.begin(due)),
      async (error: unknown) => {
        if ((await trail.chain()).start === due.start) throw error;
        return true; // another process has archived the records, which may be gone by now
      },
    );
    if (isOvertaken) return archived;
    archived += due.until - due.start;
  }
  return archived;
}

/** Keeps audit records as long as AUDIT_KEEP_DAYS says. @returns a function that stops it */
export function retainingAudit(
  { auditRetention: kept, auditStream }: Pick<Config, "auditRetention" | "auditStream">,
  { sql, orm }: Pick<Database, "sql" | "orm">,
  { metrics, failed }: { readonly metrics: Pick<Metrics, "backgroundRows">; readonly failed: Failed },
): () => Promise<void> {
  const { days, folder } = kept;
  if (days === undefined || folder === undefined) return async () => undefined;
  const partitions = auditPartitions(sql, async (text) => (await orm()).em.getConnection().execute(text));
  const turn = async (signal: AbortSignal): Promise<void> => {
    await partitions.extend(days);
    const rows = await archive(sql, { days, folder, streamed: auditStream.url !== undefined }, signal);
    if (rows > 0) metrics.backgroundRows("audit_archive", rows);
    const dropped = await partitions.drop();
    if (dropped > 0) metrics.backgroundRows("audit_drop", dropped);
  };
  return periodically(EVERY, turn, failed, "audit_archive");
}
