import { expect, test } from "vitest";
import { daysOfRange, nextStep, type Partitions } from "../../../src/store/audit-partitions.ts";

const DAY = 86_400;
/** Six hours into a day. */
const NOW = 20_000 * DAY + 21_600;
const state = (more: Partial<Partitions>): Partitions => ({ now: NOW, isWhole: false, end: null, isFilled: false, limit: null, ...more });
const day = (days: number): number => (20_000 + days) * DAY;

test.for([
  { keepDays: 1, days: 1 },
  { keepDays: 12, days: 1 },
  { keepDays: 13, days: 2 },
  { keepDays: 365, days: 31 },
])("records that are kept for $keepDays days have ranges of $days days", ({ keepDays, days }) => {
  expect(daysOfRange(keepDays)).toBe(days);
});

test.for([
  {
    title: "a trail without ranges is limited first, a week ahead at least",
    given: { isWhole: true },
    step: { kind: "limit", to: day(8) },
  },
  {
    title: "a limit is proven",
    given: { isWhole: true, limit: { to: day(8), isOfBoth: true, isProven: false } },
    step: { kind: "prove", to: day(8) },
  },
  {
    title: "what is limited becomes the first range",
    given: { isWhole: true, limit: { to: day(8), isOfBoth: true, isProven: true } },
    step: { kind: "split", from: null, to: day(8) },
  },
  {
    title: "a range is added when less than its length is left",
    given: { end: day(2) },
    step: { kind: "attach", from: day(2), to: day(5) },
  },
  { title: "nothing is due while there is more", given: { end: day(4) }, step: undefined },
  {
    title: "after a pause the next range reaches from the last one into the future",
    given: { end: day(-40) },
    step: { kind: "attach", from: day(-40), to: day(4) },
  },
  { title: "records without a range get one", given: { end: day(-1), isFilled: true }, step: { kind: "limit", to: day(8) } },
  {
    title: "and it begins where the last one ends",
    given: { end: day(-1), isFilled: true, limit: { to: day(8), isOfBoth: true, isProven: true } },
    step: { kind: "split", from: day(-1), to: day(8) },
  },
  {
    title: "a limit that was left behind goes before it can refuse a record",
    given: { isWhole: true, limit: { to: day(3), isOfBoth: true, isProven: true } },
    step: { kind: "release", to: day(3) },
  },
  {
    title: "a limit that records have alone goes, so that both tables get one",
    given: { isWhole: true, limit: { to: day(8), isOfBoth: false, isProven: false } },
    step: { kind: "release", to: day(8) },
  },
] as const)("$title", ({ given, step }) => {
  expect(nextStep(state(given), 36)).toEqual(step);
});
