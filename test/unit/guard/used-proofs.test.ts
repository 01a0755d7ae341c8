import { expect, test } from "vitest";
import { usedProofs } from "../../../guard-sdk/src/used-proofs.ts";

test.for([0, 150, 300, 450, 600])(
  "a proof is refused for 600 seconds, since it may be made 300 seconds ahead, after %i seconds",
  (after) => {
    const use = usedProofs();
    const start = 1_000 + after;
    use("before", 1_000);
    use("proof", start);
    const again = Array.from({ length: 600 }, (_, second) => {
      use(`other ${second}`, start + 1 + second);
      return use("proof", start + 1 + second);
    });
    expect(again.includes(true)).toBe(false);
  },
);

test("a proof is refused while 1,600 others a second are accepted for 300 seconds", () => {
  const use = usedProofs();
  use("before", 1_000);
  use("proof", 1_000);
  for (let n = 0; n < 1_600 * 300; n += 1) use(String(n), 1_000 + Math.floor(n / 1_600));
  expect(use("proof", 1_300)).toBe(false);
});

test("at most a million proofs are remembered, and none that is no longer current", () => {
  const use = usedProofs();
  use("first", 1_000);
  for (let n = 0; n < 1_000_000; n += 1) use(String(n), 1_000);
  expect(use("first", 1_000)).toBe(true);
  use("second", 1_601);
  use("third", 2_202);
  expect([use("first", 2_202), use("second", 2_202)]).toEqual([true, false]);
});
