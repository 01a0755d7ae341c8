import { expect, test } from "vitest";
import { resultsOf, SKIPPED } from "../../scripts/contract-report.ts";
import { summarise } from "../../scripts/test-summary.ts";

const file = (status: string, ...tests: [string, string][]) => ({
  status,
  assertionResults: tests.map(([state, fullName]) => ({ status: state, fullName })),
});

test("sums the counts of several reports", () => {
  const reports = [
    { testResults: [file("passed", ["passed", "a"], ["passed", "b"])] },
    { testResults: [file("failed", ["failed", "c"]), file("passed", ["skipped", "d (missing toolchain: go)"])] },
  ];
  expect(summarise(reports)).toMatchObject({ passed: 2, failed: 1, skipped: 1, unexcused: [] });
});

test("names each failed test with its file and its reason", () => {
  const assertionResults = [{ status: "failed", fullName: "adds", failureMessages: ["expected 1 to be 2"] }];
  const reports = [
    {
      testResults: [
        { name: "sum.test.ts", status: "failed", assertionResults },
        { name: "gone.test.ts", status: "failed", message: "no such module", assertionResults: [] },
      ],
    },
  ];
  expect(summarise(reports).failures).toEqual(["sum.test.ts: adds\nexpected 1 to be 2", "gone.test.ts: does not load\nno such module"]);
});

test("counts a file that does not load as failed", () => {
  expect(summarise([{ testResults: [file("failed")] }]).failed).toBe(1);
});

test("requires a reason for a skipped test", () => {
  expect(summarise([{ testResults: [file("passed", ["skipped", "later"], ["todo", "some day"])] }]).unexcused).toEqual([
    "later",
    "some day",
  ]);
});

const run = { complete: true, exit_code: 0, operations: { tested: 3 }, failures: [] };

test("counts one test per operation of a contract run", () => {
  const failures = [{ operations: ["GET /a", "GET /b"] }, { operations: ["GET /a"] }];
  expect(summarise([{ testResults: [resultsOf("unknown", { ...run, exit_code: 1, failures })] }])).toMatchObject({ passed: 1, failed: 2 });
  expect(summarise([{ testResults: [resultsOf("unknown", run)] }])).toMatchObject({ passed: 3, failed: 0 });
});

test.each([{ complete: false }, { operations: { tested: 0 } }, { exit_code: 1 }])(
  "counts an incomplete contract run as failed: %j",
  (broken) => {
    expect(summarise([{ testResults: [resultsOf("unknown", { ...run, ...broken })] }])).toMatchObject({ passed: 0, failed: 1 });
  },
);

test("accepts a skipped contract test without Python", () => {
  expect(summarise([{ testResults: [SKIPPED] }])).toMatchObject({ passed: 0, failed: 0, skipped: 1, unexcused: [] });
});
