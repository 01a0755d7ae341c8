import { describe, expect, test } from "vitest";
import { assertGoodPassword, checkPassword, normalizePassword } from "../../../src/accounts/password-rules.ts";
import { refusalOf } from "../../support/builders.ts";

const COMMON = new Set(["sunshine1"]);
const judge = (password: string) => refusalOf(() => checkPassword(password, "Ada.Lovelace@Example.test", COMMON));

describe("NIST SP 800-63B-4 §3.1.1.2: passwords are checked by length and against lists, not by composition", () => {
  test.for([
    ["1234567", "password_short"],
    ["", "password_short"],
    ["é".repeat(7), "password_short"],
    ["x".repeat(129), "password_long"],
    ["sunshine1", "password_common"],
    ["SUNSHINE1", "password_common"],
    ["ada.lovelace@example.test", "password_is_email"],
    ["ADA.Lovelace", "password_is_email"],
  ] as const)("%s is refused: %s", ([password, reason]) => {
    expect(judge(password)).toEqual(["invalid_request", reason]);
  });

  test.for(["aaaaaaaab", "x".repeat(128), "correct horse", "пароль-пароль", "🐎🐎🐎🐎🐎🐎🐎🐎"])("%s is accepted", (password) => {
    expect(judge(password)).toBe("granted");
  });

  test("length is counted after NFKC, so that a ligature counts as its letters", () => {
    expect(normalizePassword("ﬃ")).toBe("ffi");
    expect(judge("ﬃﬃ12")).toBe("granted");
    expect(judge("ﷺ".repeat(8))).toEqual(["invalid_request", "password_long"]);
  });

  test("the list of common passwords is in use", async () => {
    await expect(assertGoodPassword("iloveyou", "ada@example.test")).rejects.toMatchObject({ reason: "password_common" });
    await expect(assertGoodPassword("correct horse battery", "ada@example.test")).resolves.toBeUndefined();
  });
});
