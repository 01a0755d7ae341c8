import { describe, expect, test } from "vitest";
import { recoveryHash, stepOf } from "../../../src/accounts/second-factor.ts";

/** The secret of RFC 6238 appendix B, `12345678901234567890`, in base32. */
const SECRET = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

describe("RFC 6238 appendix B, SHA-1, six digits", () => {
  test.for([
    [59, "287082"],
    [1_111_111_109, "081804"],
    [1_111_111_111, "050471"],
    [1_234_567_890, "005924"],
    [2_000_000_000, "279037"],
    [20_000_000_000, "353130"],
  ] as const)("at %d the code is %s", async ([now, code]) => {
    expect(await stepOf(SECRET, code, now)).toBe(Math.floor(now / 30));
  });

  test("a code counts in its step and in those beside it, and says which step it is of", async () => {
    const step = Math.floor(1_234_567_890 / 30);
    const at = (steps: number) => stepOf(SECRET, "005924", (step + steps) * 30 + 15);
    expect(await Promise.all([at(-2), at(-1), at(0), at(1), at(2)])).toEqual([undefined, step, step, step, undefined]);
  });
});

test("recovery codes are compared without case, dashes and spaces, and belong to one user", () => {
  expect(recoveryHash("u", "abcd-EFGH 2345-6723")).toEqual(recoveryHash("u", "ABCDEFGH23456723"));
  expect(recoveryHash("u", "ABCDEFGH23456723")).not.toEqual(recoveryHash("v", "ABCDEFGH23456723"));
});
