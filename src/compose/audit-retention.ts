import { exportLines } from "../audit-chain/export.ts";
import { verification } from "../audit-chain/verify.ts";
import type { Config } from "../config.ts";
import { Refusal } from "../errors.ts";
import { openArchive, writeArchive } from "../outside/audit-archive.ts";
import { auditPartitions } from "../store/audit-partitions.ts";
import { auditRetention, type Due } from "../store/audit-progress.ts";
import { auditTrail } from "../store/audit-trail.ts";
import { publishedKeys } from "../store/key-register.ts";
import type { Database } from "../store/orm.ts";
import type { Sql } from "../store/sql.ts";
import type { Metrics } from "../telemetry/metrics.ts";
import { KEYS_OUTLIVE } from "./keys.ts";
import { type Failed, periodically } from "./periodically.ts";

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
