import type { Link, SealedRecord, SignedCheckpoint } from "./chain.ts";

/** A changed format gets another name. */
export const EXPORT_FORMAT = "countersign-audit-export-v1";

/** A line of an export (NDJSON): the header, then keys, then records in order, each checkpoint after the record that it signs. */
export type ExportLine =
  | { readonly type: "header"; readonly format: typeof EXPORT_FORMAT; readonly after: number; readonly previous: string }
  | { readonly type: "key"; readonly jwk: Readonly<Record<string, unknown>> }
  | ({ readonly type: "record"; readonly record: SealedRecord } & Link)
  | ({ readonly type: "checkpoint" } & SignedCheckpoint);

export const headerLine = ({ seq: after, hash: previous }: Link): ExportLine => ({
  type: "header",
  format: EXPORT_FORMAT,
  after,
  previous,
});

/** Where the lines of an export come from. */
export interface ExportSource {
  keys(): Promise<readonly { readonly jwk: Readonly<Record<string, unknown>> }[]>;
  /** @param after a number of the chain; the part begins with the checkpoint of that record, if it has one */
  part(
    limit: number,
    after: number,
  ): Promise<{
    readonly start: Link;
    readonly records: readonly (Link & { readonly record: SealedRecord })[];
    readonly checkpoints: readonly SignedCheckpoint[];
  }>;
}

/** Records of one part. */
const PAGE = 500;

/** The lines of an export, part by part. A checkpoint between two parts is written once. @param until the last record; default: all */
export async function* exportLines(source: ExportSource, after: number, until = Number.MAX_SAFE_INTEGER): AsyncGenerator<string> {
  let reached = after - 1;
  for (let from = after, more = true; more; ) {
    const part = await source.part(PAGE, from);
    if (reached < after) {
      yield JSON.stringify(headerLine(part.start));
      for (const { jwk } of await source.keys()) yield JSON.stringify({ type: "key", jwk } satisfies ExportLine);
    }
    const records = part.records.filter(({ seq }) => seq <= until);
    const checkpoints = part.checkpoints.filter(({ seq }) => seq > reached && seq <= until);
    for (const line of interleave(records, checkpoints)) yield JSON.stringify(line);
    reached = Math.max(records.at(-1)?.seq ?? after, checkpoints.at(-1)?.seq ?? after);
    more = records.length === PAGE;
    from = records.at(-1)?.seq ?? from;
  }
}

/** Puts each checkpoint after the record that it signs. */
export const interleave = (
  records: readonly (Link & { readonly record: SealedRecord })[],
  checkpoints: readonly SignedCheckpoint[],
): readonly ExportLine[] =>
  [
    ...records.map(({ seq, hash, record }) => ({ type: "record" as const, seq, hash, record })),
    ...checkpoints.map(({ seq, kid, jws }) => ({ type: "checkpoint" as const, seq, kid, jws })),
  ].sort((one, other) => one.seq - other.seq); // of equal numbers the record stays first
