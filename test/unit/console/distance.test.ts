import { expect, onTestFinished, test, vi } from "vitest";
import { daysBetween, distanceOf } from "../../../console/src/texts/distance.ts";

/** In the time zone of the machine, as a browser has one. */
const at = (text: string): number => new Date(text).getTime();

test.for([
  ["2026-11-27T01:00", "2026-11-25T14:00", -2, "day"],
  ["2026-11-25T23:00", "2026-11-27T01:00", 2, "day"],
  ["2026-11-27T12:00", "2026-11-26T12:00", -1, "day"],
  ["2026-11-27T12:00", "2026-11-26T12:00:01", -23, "hour"],
  ["2026-11-27T12:00", "2026-11-27T11:00:01", -59, "minute"],
  ["2026-11-27T12:00", "2026-11-27T12:01", 1, "minute"],
  ["2026-11-27T12:00", "2026-11-27T11:59:00.500", -59, "second"],
] as const)("at %s, %s is %i %s away", ([now, moment, count, unit]) => {
  expect(distanceOf(at(moment), at(now))).toEqual([count, unit]);
});

test("days of 23 and 25 hours are days", () => {
  vi.stubEnv("TZ", "Europe/Berlin");
  onTestFinished(() => void vi.unstubAllEnvs());
  expect(at("2026-03-30T00:00") - at("2026-03-29T00:00")).toBe(23 * 3_600_000);
  for (const [from, to] of [
    ["2026-03-28T12:00", "2026-03-30T12:00"],
    ["2026-10-24T12:00", "2026-10-26T12:00"],
  ] as const)
    expect(daysBetween(at(from), at(to))).toBe(2);
});
