import { expect, test } from "vitest";
import { clockWatch } from "../../../src/core/clocks.ts";

function watched() {
  const reported: number[] = [];
  const at: { offset: number | Error } = { offset: 0 };
  const watch = clockWatch(
    async () => {
      if (at.offset instanceof Error) throw at.offset;
      return at.offset;
    },
    (seconds) => reported.push(seconds),
  );
  return { at, reported, watch };
}

test.for([
  [0, false, false],
  [5, false, false],
  [5.4, true, false],
  [-5.4, true, false],
  [30, true, false],
  [30.1, true, true],
  [-30.1, true, true],
  [86_400, true, true],
] as const)("R8: a clock offset of %d s is reported: %o, and stops issuing: %o", async ([offset, isReported, stops]) => {
  const { at, reported, watch } = watched();
  at.offset = offset;
  await watch.look();
  expect(reported.length > 0).toBe(isReported);
  if (stops)
    expect(() => watch.assertTrue()).toThrow(expect.objectContaining({ code: "temporarily_unavailable", reason: "clock_too_far_off" }));
  else watch.assertTrue();
});

test("R8: issuing resumes when the clocks agree again; a database that does not answer changes nothing", async () => {
  const { at, watch } = watched();
  at.offset = 60;
  await watch.look();
  at.offset = new Error("gone");
  await watch.look();
  expect(() => watch.assertTrue()).toThrow();
  at.offset = 0.2;
  await watch.look();
  watch.assertTrue();
});
