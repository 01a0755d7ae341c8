import { z } from "zod";
import { EXPORT_FORMAT, type ExportLine } from "./export.ts";

const seq = z.int().min(0);
const hash = z.string().regex(/^[A-Za-z0-9_-]{43}$/);

const Line = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("header"), format: z.literal(EXPORT_FORMAT), after: seq, previous: hash }),
  z.strictObject({ type: z.literal("key"), jwk: z.record(z.string(), z.unknown()) }),
  z.strictObject({ type: z.literal("record"), seq, hash, record: z.record(z.string(), z.json()) }),
  z.strictObject({ type: z.literal("checkpoint"), seq, kid: z.string(), jws: z.string().max(4_096) }),
]);

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
