import { expect, test } from "vitest";
import { resultsOf, SKIPPED } from "../../scripts/contract-report.ts";
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

const run = { complete: true, exit_code: 0, operations: { tested: 3 }, failures: [] };

test("a contract run counts one test for each operation, whatever was found at it", () => {
  const failures = [{ operations: ["GET /a", "GET /b"] }, { operations: ["GET /a"] }];
  expect(summarise([{ testResults: [resultsOf("unknown", { ...run, exit_code: 1, failures })] }])).toMatchObject({ passed: 1, failed: 2 });
  expect(summarise([{ testResults: [resultsOf("unknown", run)] }])).toMatchObject({ passed: 3, failed: 0 });
});

test.each([{ complete: false }, { operations: { tested: 0 } }, { exit_code: 1 }])(
  "a contract run that broke off has failed: %j",
  (broken) => {
    expect(summarise([{ testResults: [resultsOf("unknown", { ...run, ...broken })] }])).toMatchObject({ passed: 0, failed: 1 });
  },
);

test("a contract test without Python is an excused skip", () => {
  expect(summarise([{ testResults: [SKIPPED] }])).toEqual({ passed: 0, failed: 0, skipped: 1, unexcused: [] });
});
