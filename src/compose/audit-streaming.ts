import { randomUUID } from "node:crypto";
import { systemClock } from "../clock.ts";
import type { Config } from "../config.ts";
import type { Receiver, SealedEntry } from "../outside/audit-stream/receiver.ts";
import { auditStream } from "../store/audit-progress.ts";
import { auditTrail } from "../store/audit-trail.ts";
import type { Sql } from "../store/sql.ts";
import type { Log } from "../telemetry/log.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { type Failed, periodically } from "./periodically.ts";

/** Seconds between two looks for records. */
const EVERY = 1;
/** Records of one batch. */
const BATCH = 500;
/** Milliseconds: a batch that was taken within them may be followed by one of twice the size, which the receiver of a syslog has to take within two seconds. */
const SOON = 1_000;
/** Turns to skip after the first, second, … failed one; the last number repeats. */
const PAUSES = [1, 2, 5, 10, 30, 60];
/** The most that a receiver may ask for. */
const LONGEST_PAUSE = 3600;

/** What a receiver answers that refuses what it got, and would refuse it again. */
const OF_CONTENT: ReadonlySet<unknown> = new Set(["status_400", "status_413", "status_422", "records_rejected"]);

/** The receiver refuses one record by itself. */
class RecordRefused extends Error {
  override readonly name = "RecordRefused";
  readonly auditId: string;
  readonly code: string;

  constructor(auditId: string, code: string) {
    super("the receiver refuses an audit record");
    this.auditId = auditId;
    this.code = code;
  }
}

interface Observers {
  readonly log: Pick<Log, "warn">;
  readonly metrics: Pick<Metrics, "auditStream">;
  readonly failed: Failed;
}

/** Whether a record has its place in the chain: `follow` returns no others. */
const isSealed = (entry: { readonly link: SealedEntry["link"] | null }): entry is SealedEntry => entry.link !== null;

/**
 * Hands over what waits, batch by batch, and remembers after each how far it came. A batch may be refused for what it holds, or be more than
 * the receiver takes in time: the next one is smaller.
 * @param pace the most records of the next batch, which is kept between calls
 * @returns records that were handed over  @throws {RecordRefused} where a single record is refused
 */
export async function handOver(
  sql: Sql,
  holder: string,
  receiver: Receiver,
  pace: { most: number } = { most: BATCH },
  signal?: AbortSignal,
): Promise<number> {
  const [stream, trail] = [auditStream(sql), auditTrail(sql)];
  let total = 0;
  while (signal?.aborted !== true) {
    const after = await stream.claim(holder);
    if (after === undefined) return total;
    const { most } = pace;
    const { items, reached } = await trail.follow({}, most, after);
    const entries = items.filter(isSealed);
    const [first, ...more] = entries;
    if (first === undefined) return total;
    pace.most = Math.ceil(entries.length / 2); // unless it is taken
    const began = performance.now();
    const code = await refusalOf(receiver(entries));
    if (code !== undefined) {
      if (more.length === 0) throw new RecordRefused(first.id, code);
      continue;
    }
    pace.most = mostAfter(most, performance.now() - began);
    if (!(await stream.advance(holder, after, reached))) return total;
    total += entries.length;
    if (entries.length < most) return total;
  }
  return total;
}

/** The most records of the batch after one that was taken. @param took milliseconds */
export const mostAfter = (most: number, took: number): number => (took < SOON ? Math.min(BATCH, most * 2) : most);

/** @returns the code of a refusal that is about the content  @throws any other error */
async function refusalOf(sent: Promise<void>): Promise<string | undefined> {
  try {
    await sent;
  } catch (error) {
    const { code } = error as { readonly code?: string };
    if (OF_CONTENT.has(code)) return code;
    throw error;
  }
}

/** How long to wait after a failure, which may say what the receiver asks for. @param failures before this one, in a row */
export function turnsToSkip(failures: number, error: unknown): number {
  const asked = Math.ceil((error as { readonly retryAfter?: number }).retryAfter ?? 0) / EVERY;
  return Math.max(PAUSES[failures] ?? PAUSES.at(-1) ?? 0, Math.min(asked, LONGEST_PAUSE));
}

/** Sends the audit trail to AUDIT_STREAM. @returns a function that stops it */
export function streamingAudit(
  config: Pick<Config, "auditStream" | "issuer">,
  sql: Sql,
  { log, metrics, failed }: Observers,
): () => Promise<void> {
  const { url, secret } = config.auditStream;
  if (url === undefined) return async () => undefined;
  const holder = randomUUID();
  const stream = auditStream(sql);
  const pace = { most: BATCH };
  let failures = 0;
  let refused = "";
  let skip = 0;
  const turn = async (signal: AbortSignal): Promise<void> => {
    if (skip > 0) {
      skip -= 1;
      return metrics.auditStream(await stream.waiting());
    }
    try {
      const { receiverOf } = await import("../outside/audit-stream/receiver.ts");
      await handOver(sql, holder, receiverOf({ url, secret, issuer: config.issuer, clock: systemClock }), pace, signal);
      failures = 0;
    } catch (error) {
      skip = turnsToSkip(failures, error);
      failures += 1;
      if (error instanceof RecordRefused && error.auditId !== refused) {
        refused = error.auditId;
        log.warn("audit_record_refused", { auditId: refused, code: error.code });
      }
      failed(error, "audit_stream");
    }
    metrics.auditStream(await stream.waiting());
  };
  const stop = periodically(EVERY, turn, failed, "audit_stream");
  return async () => {
    await stop();
    await stream.release(holder);
  };
}
