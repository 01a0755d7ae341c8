import type { Proof } from "./verify.ts";

/** How much of the log an export must hold, as its verifier requires. The export itself cannot say so, for its author may have cut it. */
export interface Extent {
  /** The record after which it begins; when left out, the beginning of the chain, and at least one record. */
  readonly after?: number;
  /** The record up to which it must be signed. */
  readonly atLeast?: number;
}

export type Shortfall = "begins_elsewhere" | "no_records" | "falls_short";

/** What a sound export lacks of the required extent. Pure. */
export function shortfallOf({ first, records, signedTo }: Proof, { after, atLeast = 0 }: Extent): Shortfall | undefined {
  if (first !== (after ?? 0) + 1) return "begins_elsewhere";
  if (records === 0 && after === undefined) return "no_records";
  return signedTo < atLeast ? "falls_short" : undefined;
}
