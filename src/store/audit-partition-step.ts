/** Seconds. */
const DAY = 86_400;

/** The state of the partitions of the audit trail. Times are seconds since the epoch; ranges of ids are named by the times that they begin with. */
export interface Partitions {
  readonly now: number;
  /** Whether all records are in the one partition that was there first, which has no range yet. */
  readonly isWhole: boolean;
  /** Where the last range ends; null: there is none. */
  readonly end: number | null;
  /** Whether the default partition has records that belong behind the last range. */
  readonly isFilled: boolean;
  /**
   * A constraint on the default partition: it holds nothing from `to` on. `isOfBoth`: links have it too, which a process of an earlier
   * release does not know; `isProven` of both for the rows that were there before it.
   */
  readonly limit: { readonly to: number; readonly isOfBoth: boolean; readonly isProven: boolean } | null;
}

/**
 * - `attach`: a new range `from` the end of the last one.
 * - `limit`, `prove`, `split`: turn a default partition that has records into a range, without a lock while its rows are read.
 * - `release`: removes a limit that was left behind, before it could refuse a record, or that records have alone.
 */
export type Step =
  | { readonly kind: "attach"; readonly from: number; readonly to: number }
  | { readonly kind: "limit" | "release"; readonly to: number }
  | { readonly kind: "prove"; readonly to: number }
  | { readonly kind: "split"; readonly from: number | null; readonly to: number };

/** Seconds for which there is room at least when a limit is set, and at which it is removed if it still stands. */
const ROOM = 7 * DAY;
const LAST_CALL = 3 * DAY;

/** Days of one range: a twelfth of what is kept, so that there are about fourteen partitions whatever AUDIT_KEEP_DAYS is. Pure. */
export const daysOfRange = (keepDays: number): number => Math.max(1, Math.ceil(keepDays / 12));

const startOfDay = (moment: number): number => Math.floor(moment / DAY) * DAY;

/** The limit that must go because its time is near. Pure. */
export const expiringLimit = ({ limit, now }: Pick<Partitions, "limit" | "now">): number | undefined =>
  limit !== null && limit.to - now < LAST_CALL ? limit.to : undefined;

/** The next change of the partitions, so that the records of the days to come have a range. Pure. @returns undefined: they have */
export function nextStep(partitions: Partitions, keepDays: number): Step | undefined {
  const { now, isWhole, end, isFilled, limit } = partitions;
  const range = daysOfRange(keepDays) * DAY;
  const expiring = expiringLimit(partitions);
  if (expiring !== undefined) return { kind: "release", to: expiring };
  if (limit?.isOfBoth === false) return { kind: "release", to: limit.to };
  if (limit !== null) return limit.isProven ? { kind: "split", from: end, to: limit.to } : { kind: "prove", to: limit.to };
  if (isWhole || isFilled || end === null) return { kind: "limit", to: startOfDay(now) + Math.max(range, ROOM) + DAY };
  if (end > now + range) return undefined;
  return { kind: "attach", from: end, to: end > now ? end + range : startOfDay(now) + range + DAY };
}
