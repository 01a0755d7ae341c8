import { randomUUID } from "node:crypto";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { SealedEntry } from "../outside/audit-stream/formats.ts";
import type { Receiver } from "../outside/audit-stream/receiver.ts";
import { auditStream } from "../store/audit-stream.ts";
import { auditTrail } from "../store/audit-trail.ts";
import type { Sql } from "../store/sql.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { type Failed, periodically } from "./periodically.ts";

/** Seconds between two looks for records. */
const EVERY = 1;
/** Records of one batch. */
const BATCH = 500;
/** Turns to skip after the first, second, … failed one; the last number repeats. */
const PAUSES = [1, 2, 5, 10, 30, 60];

interface Observers {
  readonly metrics: Pick<Metrics, "auditStream">;
  readonly failed: Failed;
}

/** Whether a record has its place in the chain: `follow` returns no others. */
const isSealed = (entry: { readonly link: SealedEntry["link"] | null }): entry is SealedEntry => entry.link !== null;

/** Hands over what waits, batch by batch, and remembers after each how far it came. @returns records that were handed over */
export async function handOver(sql: Sql, holder: string, receiver: Receiver, signal?: AbortSignal): Promise<number> {
  const [stream, trail] = [auditStream(sql), auditTrail(sql)];
  let total = 0;
  while (signal?.aborted !== true) {
    const after = await stream.claim(holder);
    if (after === undefined) return total;
    const { items, reached } = await trail.follow({}, BATCH, after);
    const entries = items.filter(isSealed);
    if (entries.length === 0) return total;
    await receiver(entries);
    if (!(await stream.advance(holder, after, reached))) return total;
    total += entries.length;
    if (entries.length < BATCH) return total;
  }
  return total;
}

/** Sends the audit trail to AUDIT_STREAM. @returns a function that stops it */
export function streamingAudit(config: Config, sql: Sql, { metrics, failed }: Observers): () => Promise<void> {
  const { url, secret } = config.auditStream;
  if (url === undefined) return async () => undefined;
  const holder = randomUUID();
  const stream = auditStream(sql);
  let failures = 0;
  let skip = 0;
  const turn = async (signal: AbortSignal): Promise<void> => {
    if (skip > 0) {
      skip -= 1;
      return;
    }
    try {
      const { receiverOf } = await import("../outside/audit-stream/receiver.ts");
      await handOver(sql, holder, receiverOf({ url, secret, issuer: config.issuer, clock: systemClock }), signal);
      failures = 0;
    } catch (error) {
      skip = PAUSES[Math.min(failures, PAUSES.length - 1)] ?? 0;
      failures += 1;
      failed(error, "audit_stream");
    }
    metrics.auditStream(await stream.waiting());
  };
  const turns = periodically(EVERY, turn, failed, "audit_stream");
  return async () => {
    await turns.stop();
    await stream.release(holder);
  };
}
