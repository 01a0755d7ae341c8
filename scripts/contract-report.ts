/** What a run of schemathesis reports (`--report json`), as far as it is read here. */
export interface Run {
  /** Whether it went to its end. */
  readonly complete: boolean;
  readonly exit_code: number;
  readonly operations: { readonly tested: number };
  readonly failures: readonly { readonly operations: readonly string[] }[];
}

/** One file of a vitest report. */
export interface TestResult {
  readonly status: "passed" | "failed";
  readonly assertionResults: readonly { readonly status: "passed" | "failed" | "skipped"; readonly fullName: string }[];
}

/** Stands for all three runs where schemathesis is not installed. */
export const SKIPPED: TestResult = {
  status: "passed",
  assertionResults: [{ status: "skipped", fullName: "the contract test needs schemathesis (missing toolchain: Python)" }],
};

/**
 * One test for every operation that was tested. Pure. A run that tested nothing, or broke off, has failed as a whole.
 * @param caller as whom schemathesis called
 */
export function resultsOf(caller: string, { complete, exit_code, operations, failures }: Run): TestResult {
  const failed = [...new Set(failures.flatMap((failure) => failure.operations))];
  const broken = !complete || operations.tested === 0 || (exit_code !== 0 && failed.length === 0);
  const passed = Array.from({ length: Math.max(0, operations.tested - failed.length) }, (_, index) => ({
    status: "passed" as const,
    fullName: `as ${caller}: operation ${index + 1} without findings`,
  }));
  return {
    status: broken || failed.length > 0 ? "failed" : "passed",
    assertionResults: [
      ...failed.map((name) => ({ status: "failed" as const, fullName: `as ${caller}: ${name}` })),
      ...(broken ? [] : passed),
    ],
  };
}
