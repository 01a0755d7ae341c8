import type { ManagementOutputs } from "../../api/client.ts";

type Figure = ManagementOutputs["figures"]["get"]["figures"][number];

const HOUR = 3_600_000;
const HOURS = 24;
const REASONS = 6;

/** The last 24 hours, oldest first, and the most frequent reasons of refusals. Pure. @param now milliseconds since the epoch */
export function sumsOf(figures: readonly Figure[], now: number) {
  const current = Math.floor(now / HOUR) * HOUR;
  const hours = Array.from({ length: HOURS }, (_, index) => ({ at: current - (HOURS - 1 - index) * HOUR, issued: 0, refused: 0 }));
  const sums = { issued: 0, refused: 0, replayed: 0, raced: 0 };
  const reasons = new Map<string, number>();
  for (const { at, kind, reason, count } of figures) {
    const hour = hours.find((each) => each.at === at);
    if (hour === undefined) continue;
    sums[kind] += count;
    if (kind === "issued" || kind === "refused") hour[kind] += count;
    if (kind === "refused") reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  }
  return { ...sums, hours, reasons: [...reasons].sort(([, a], [, b]) => b - a).slice(0, REASONS) };
}
