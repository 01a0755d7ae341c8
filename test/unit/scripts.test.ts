import { expect, test } from "vitest";
import { summarise } from "../../scripts/test-summary.ts";

const file = (status: string, ...tests: [string, string][]) => ({
  status,
  assertionResults: tests.map(([state, fullName]) => ({ status: state, fullName })),
});

test("counts of several reports are summed", () => {
  const reports = [
    { testResults: [file("passed", ["passed", "a"], ["passed", "b"])] },
    { testResults: [file("failed", ["failed", "c"]), file("passed", ["skipped", "d (missing toolchain: go)"])] },
  ];
  expect(summarise(reports)).toEqual({ passed: 2, failed: 1, skipped: 1, unexcused: [] });
});

test("a file that does not load counts as a failure", () => {
  expect(summarise([{ testResults: [file("failed")] }]).failed).toBe(1);
});

test("a skip needs a reason", () => {
  expect(summarise([{ testResults: [file("passed", ["skipped", "later"], ["todo", "some day"])] }]).unexcused).toEqual([
    "later",
    "some day",
  ]);
});
