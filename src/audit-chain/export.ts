import { z } from "zod";
import type { Link, SealedRecord, SignedCheckpoint } from "./chain.ts";

/** A changed format gets another name. */
export const EXPORT_FORMAT = "countersign-audit-export-v1";

const seq = z.int().min(0);
const hash = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

const Line = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("header"), format: z.literal(EXPORT_FORMAT), after: seq, previous: hash }),
  z.strictObject({ type: z.literal("key"), jwk: z.record(z.string(), z.unknown()) }),
  z.strictObject({ type: z.literal("record"), seq, hash, record: z.record(z.string(), z.json()) }),
  z.strictObject({ type: z.literal("checkpoint"), seq, kid: z.string(), jws: z.string().max(4_096) }),
]);

/** A line of an export (NDJSON): the header, then keys, then records in order, each checkpoint after the record that it signs. */
export type ExportLine =
  | Readonly<Exclude<z.output<typeof Line>, { type: "record" }>>
  | ({ readonly type: "record"; readonly record: SealedRecord } & Link);

/** Undefined for an invalid line. Duplicate members and other spellings are invalid too: a reader may not show what was sealed. */
export function parseLine(text: string): ExportLine | undefined {
  try {
    const value: unknown = JSON.parse(text);
    Line.parse(value);
    return JSON.stringify(value) === text ? (value as ExportLine) : undefined; // not the output of zod, which leaves out `__proto__`
  } catch {
    return undefined;
  }
}

/** The header of an export that begins after a link. */
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

/** The lines of a file in UTF-8. Only a line feed ends one: JSON may hold the other separators, at which `readline` splits a text. */
export async function* linesOf(file: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder(); // leaves out a byte order mark
  let rest = "";
  for await (const part of file) {
    const lines = (rest + decoder.decode(part, { stream: true })).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) yield line.replace(/\r$/, "");
  }
  rest += decoder.decode();
  if (rest !== "") yield rest;
}
