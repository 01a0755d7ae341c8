import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { hasSignedInSince, newRequestId } from "../../../src/front/request-id.ts";
import { newSecret } from "../../../src/secret.ts";

const before = newSecret(randomBytes);
const after = newSecret(randomBytes);
const signedIn = (authTime: number) => ({ session: { id: "s", userId: "u", authTime, expiresAt: 9999 }, user: {} as never });

test("a session is new when it is another one than the request was asked under, and not older than it", () => {
  const pending = { requestId: newRequestId(before, randomBytes), query: "", createdAt: 1000 };
  expect(pending.requestId).not.toContain(before);
  expect(hasSignedInSince(pending, signedIn(1000), before)).toBe(false);
  expect(hasSignedInSince(pending, signedIn(1000), after)).toBe(true);
  expect(hasSignedInSince(pending, signedIn(999), after)).toBe(false);
  expect(hasSignedInSince(pending, undefined, after)).toBe(false);
  const alone = { ...pending, requestId: newRequestId(undefined, randomBytes) };
  expect(hasSignedInSince(alone, signedIn(1000), after)).toBe(true);
  expect(hasSignedInSince(alone, signedIn(999), after)).toBe(false);
});
