import { expect, test } from "vitest";
import { sumsOf } from "../../../console/src/routes/home/sums.ts";

const HOUR = 3_600_000;
const NOW = 500_000 * HOUR + 1_234;
/** @param ago hours */
const figure = (kind: "issued" | "refused" | "replayed" | "raced", reason: string, count: number, ago = 0) => ({
  at: (500_000 - ago) * HOUR,
  kind,
  reason,
  count,
});

test("the figures of the last 24 hours are summed by kind and by hour; older ones are left out", () => {
  const sums = sumsOf(
    [
      figure("issued", "authorization_code", 3, 24),
      figure("issued", "authorization_code", 5, 23),
      figure("issued", "client_credentials", 2),
      figure("refused", "scope_not_permitted", 4),
      figure("replayed", "code_replayed", 1, 2),
      figure("raced", "", 7, 1),
    ],
    NOW,
  );
  expect(sums).toMatchObject({ issued: 7, refused: 4, replayed: 1, raced: 7 });
  expect(sums.hours).toHaveLength(24);
  expect([sums.hours[0], sums.hours[23]]).toEqual([
    { at: (500_000 - 23) * HOUR, issued: 5, refused: 0 },
    { at: 500_000 * HOUR, issued: 2, refused: 4 },
  ]);
});

test("reasons of refusals are listed by frequency, the six most frequent ones", () => {
  const counts = [1, 7, 3, 2, 6, 5, 4];
  const { reasons } = sumsOf(
    counts.flatMap((count) => [figure("refused", `reason-${count}`, count), figure("refused", `reason-${count}`, count, 1)]),
    NOW,
  );
  expect(reasons).toEqual([7, 6, 5, 4, 3, 2].map((count) => [`reason-${count}`, 2 * count]));
});
