// Names the failed tests of several runs once more, and sums their JSON reports into one line. Usage: test-summary.ts REPORT.json …
// A skipped test is a failure of its own, unless its title says that a toolchain is missing on this machine.
import { existsSync, readFileSync } from "node:fs";

interface Report {
  readonly testResults: readonly {
    readonly name?: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: readonly {
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: readonly string[];
    }[];
  }[];
}

/** @returns the counts, the failed tests with the file and the reason of each, and the skipped tests that say no good reason */
export function summarise(reports: readonly Report[]) {
  const files = reports.flatMap(({ testResults }) => testResults);
  const tests = files.flatMap(({ assertionResults }) => assertionResults);
  const of = (...states: string[]) => tests.filter(({ status }) => states.includes(status));
  const broken = files.filter(
    ({ status, assertionResults }) => status === "failed" && assertionResults.every((test) => test.status !== "failed"),
  );
  const failures = files.flatMap(({ name = "", assertionResults }) =>
    assertionResults
      .filter(({ status }) => status === "failed")
      .map(({ fullName, failureMessages = [] }) => `${name}: ${fullName}\n${failureMessages.join("\n")}`.trim()),
  );
  const skipped = tests.filter(({ status }) => status !== "passed" && status !== "failed");
  return {
    passed: of("passed").length,
    failed: failures.length + broken.length, // a file that does not even load has no test to blame
    failures: [...failures, ...broken.map(({ name = "", message = "" }) => `${name}: does not load\n${message}`.trim())],
    skipped: skipped.length,
    unexcused: skipped.map(({ fullName }) => fullName).filter((name) => !/missing toolchain/i.test(name)),
  };
}

if (import.meta.main) {
  const reports = process.argv.slice(2).filter((path) => existsSync(path));
  const { passed, failed, failures, skipped, unexcused } = summarise(reports.map((path) => JSON.parse(readFileSync(path, "utf8"))));
  // Here too, because a long log may reach its reader as its last page alone.
  for (const failure of failures) console.log(`failed: ${failure.slice(0, 2_000)}\n`);
  for (const name of unexcused) console.log(`skipped without a missing toolchain: ${name}`);
  console.log(`tests: ${passed} passed, ${failed} failed, ${skipped} skipped`);
  if (failed > 0 || unexcused.length > 0 || passed === 0) process.exitCode = 1;
}
