const MINUTE = 60_000;
const HOUR = 3_600_000;
const DAY = 86_400_000;

/** Days of the calendar of the browser from one moment to another one, in milliseconds since the epoch. Pure. */
export const daysBetween = (from: number, to: number): number =>
  Math.round((new Date(to).setHours(0, 0, 0, 0) - new Date(from).setHours(0, 0, 0, 0)) / DAY);

/** How far a moment is from now, in whole units: "yesterday" and "tomorrow" are the days before and after today. Pure. */
export function distanceOf(at: number, now: number): [number, "day" | "hour" | "minute" | "second"] {
  const past = at - now;
  if (Math.abs(past) >= DAY) return [daysBetween(now, at), "day"];
  if (Math.abs(past) >= HOUR) return [Math.trunc(past / HOUR), "hour"];
  return Math.abs(past) >= MINUTE ? [Math.trunc(past / MINUTE), "minute"] : [Math.trunc(past / 1000), "second"];
}
