import type { Proof } from "./verify.ts";

/** How much of the trail an export is to hold, as its verifier says: nothing in it can say so, for whoever cut it wrote it. */
export interface Extent {
  /** The record after which it begins; when left out, the beginning of the chain, and at least one record. */
  readonly after?: number;
  /** The record up to which it has to be signed at least. */
  readonly atLeast?: number;
}

export type Shortfall = "begins_elsewhere" | "no_records" | "falls_short";

/** What an export lacks that is sound in itself. Pure. */
export function shortfallOf({ first, records, signedTo }: Proof, { after, atLeast = 0 }: Extent): Shortfall | undefined {
  if (first !== (after ?? 0) + 1) return "begins_elsewhere";
  if (records === 0 && after === undefined) return "no_records";
  return signedTo < atLeast ? "falls_short" : undefined;
}
