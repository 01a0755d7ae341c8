import type { Proof } from "./verify.ts";

/**
 * How much of the log an export must hold. The verifier sets it, for the author of an export may have cut it.
 * `after`: the record before the first; default: the chain's start, and at least one record. `atLeast`: signed up to this record.
 */
export type Extent = { readonly after?: number; readonly atLeast?: number };

export type Shortfall = "begins_elsewhere" | "no_records" | "falls_short";

/** What a sound export lacks. Pure. */
export function shortfallOf({ first, records, signedTo }: Proof, { after, atLeast = 0 }: Extent): Shortfall | undefined {
  if (first !== (after ?? 0) + 1) return "begins_elsewhere";
  if (records === 0 && after === undefined) return "no_records";
  return signedTo < atLeast ? "falls_short" : undefined;
}
