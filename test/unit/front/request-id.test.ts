import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { cookiesOf } from "../../../src/front/http/cookies.ts";
import type { FrontContext } from "../../../src/front/http/routes.ts";
import { hasSignedInSince, newRequestId, waitingHash } from "../../../src/front/oauth/pending-request.ts";
import { newSecret } from "../../../src/random.ts";

const before = newSecret(randomBytes);
const after = newSecret(randomBytes);
const signedIn = (authTime: number) => ({
  session: {
    id: "s",
    userId: "u",
    authTime,
    proofAge: 0,
    acr: "urn:countersign:pwd",
    amr: ["pwd"],
    requiredAcr: null,
    reachableAcr: "urn:countersign:pwd",
    hasSecondFactor: false,
    expiresAt: 9999,
  },
  user: {} as never,
});

test("a user has signed in since the request if the session differs and is not older than the request", () => {
  const pending = { requestId: newRequestId(before, newSecret(randomBytes), randomBytes), query: "", createdAt: 1000 };
  expect(pending.requestId).not.toContain(before);
  expect(hasSignedInSince(pending, signedIn(1000), before)).toBe(false);
  expect(hasSignedInSince(pending, signedIn(1000), after)).toBe(true);
  expect(hasSignedInSince(pending, signedIn(999), after)).toBe(false);
  expect(hasSignedInSince(pending, undefined, after)).toBe(false);
  const alone = { ...pending, requestId: newRequestId(undefined, before, randomBytes) };
  expect(hasSignedInSince(alone, signedIn(1000), after)).toBe(true);
  expect(hasSignedInSince(alone, signedIn(999), after)).toBe(false);
});

/** The secret that a browser with these cookies is bound to, and the visitor cookie that it gets. */
function secretOf({ session, visitor, device }: { readonly session?: string; readonly visitor?: string; readonly device?: string }) {
  const given: string[] = [];
  const sent = Object.entries({ "": session, "-visitor": visitor, "-device": device }).filter(([, value]) => value !== undefined);
  const cookie = sent.map(([name, value]) => `countersign${name}=${value}`).join("; ");
  const append = (_: string, line: string) => given.push(/^countersign-visitor=([^;]+)/.exec(line)?.[1] ?? "");
  const ctx = { req: { headers: { cookie } }, append } as unknown as FrontContext;
  return { secret: cookiesOf("http://localhost", randomBytes).browser(ctx), given };
}

test("a browser keeps its secret with a renewed cookie; a new one is derived from what the browser has since a sign-in", () => {
  expect(secretOf({ session: before, visitor: after })).toEqual({ secret: after, given: [after] });
  const derived = secretOf({ session: before });
  expect(derived.secret).not.toBe(before);
  expect(derived).toEqual({ ...secretOf({ session: before }), given: [derived.secret] });
  const known = secretOf({ device: before });
  expect(known.secret).not.toBe(before);
  expect(known).toEqual(secretOf({ device: before, session: after }));
  expect(secretOf({}).secret).not.toBe(secretOf({}).secret);
});

test("a pending request is identified by its id and its browser", () => {
  const hashes = [waitingHash("a", before), waitingHash("a", after), waitingHash("b", before)].map((hash) =>
    Buffer.from(hash).toString("hex"),
  );
  expect(new Set(hashes).size).toBe(3);
});
