import { randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { cookieSecret, csrfToken, isCsrfToken } from "../../../src/front/http/cookies.ts";
import { newSecret } from "../../../src/random.ts";

const secret = newSecret(randomBytes);
const other = newSecret(randomBytes);

describe("the session cookie", () => {
  test.for([
    [undefined, undefined],
    [`countersign=${secret}`, secret],
    [`a=b; countersign=${secret}; c=d`, secret],
    [`countersign=${secret}; countersign=${other}`, undefined],
    [`countersign=${secret}; countersign=`, undefined],
    [`__Host-countersign=${secret}`, undefined],
    [`xcountersign=${secret}`, undefined],
    ["countersign=short", undefined],
    [`countersign="${secret}"`, undefined],
  ] as const)("the header %s yields %s", ([header, expected]) => {
    expect(cookieSecret(header, "countersign")).toBe(expected);
  });
});

describe("the CSRF token", () => {
  test("is valid for its secret and purpose only", () => {
    const token = csrfToken(secret, "api");
    expect(isCsrfToken(token, secret, "api")).toBe(true);
    expect(isCsrfToken(token, other, "api")).toBe(false);
    expect(isCsrfToken(token, secret, "account")).toBe(false);
    for (const wrong of [undefined, "", `${token}x`, [token], token.slice(1)]) expect(isCsrfToken(wrong, secret, "api")).toBe(false);
  });

  test("does not contain the secret", () => {
    expect(csrfToken(secret, "api")).not.toContain(secret);
  });
});
