import { expect, test } from "vitest";
import { bindsToken } from "../../../agent-sdk/src/access.ts";
import { parseChallenges } from "../../../agent-sdk/src/challenge.ts";
import { nextStep, type Outcome, type Step, widened } from "../../../agent-sdk/src/next-step.ts";

const after = (status: number, header: string, more: Partial<Outcome> = {}) =>
  nextStep({
    status,
    challenges: parseChallenges(header),
    hasNonce: false,
    isReplayable: true,
    scope: "a",
    isScopeFixed: false,
    tried: new Set<Step>(),
    ...more,
  });
const INVALID = 'DPoP error="invalid_token"';
const NONCE = 'DPoP error="use_dpop_nonce"';
const NARROW = 'Bearer error="insufficient_scope", scope="a b"';

test.for<[string, Step | undefined, number, string, Partial<Outcome>?]>([
  ["a success", undefined, 200, INVALID],
  ["a server error", undefined, 500, INVALID],
  ["a refused token", "renew", 401, INVALID],
  ["a challenge without an error", "renew", 401, "Bearer"],
  ["a refused token, again", undefined, 401, INVALID, { tried: new Set(["renew"]) }],
  ["a refused token after a nonce", "renew", 401, INVALID, { tried: new Set(["prove"]) }],
  ["a refused token of a stream", undefined, 401, INVALID, { isReplayable: false }],
  ["no challenge", undefined, 401, ""],
  ["a demanded nonce", "prove", 401, NONCE, { hasNonce: true }],
  ["a demanded nonce that was not given", undefined, 401, NONCE],
  ["a demanded nonce, again", undefined, 401, NONCE, { hasNonce: true, tried: new Set(["prove"]) }],
  ["a refused proof", undefined, 401, 'DPoP error="invalid_dpop_proof"'],
  ["a sign-in that is too weak", undefined, 401, 'Bearer error="insufficient_user_authentication"'],
  ["missing scopes", "widen", 403, NARROW],
  ["missing scopes, where the caller fixed them", undefined, 403, NARROW, { isScopeFixed: true }],
  ["missing scopes, again", undefined, 403, NARROW, { tried: new Set(["widen"]) }],
  ["missing scopes that the token has", undefined, 403, NARROW, { scope: "b a c" }],
  ["missing scopes that are not named", undefined, 403, 'Bearer error="insufficient_scope"'],
  ["a refusal of another kind", undefined, 403, ""],
])("after %s the next step is %s", ([, step, status, header, more]) => {
  expect(after(status, header, more)).toBe(step);
});

test("scopes are joined in one order", () => {
  expect(widened(undefined, [])).toBe("");
  expect(widened("b a", parseChallenges('Bearer scope="c a"'))).toBe("a b c");
});

test.for([
  ["off", true, true, true, false],
  ["preferred", true, true, false, true],
  ["preferred", true, false, true, true],
  ["preferred", true, false, false, false],
  ["preferred", false, true, true, false],
  ["required", true, false, false, true],
] as const)(
  "dpop %s, issuer %s, resource %s, subject %s: bound %s",
  ([dpop, issuerTakesProofs, resourceTakesProofs, isSubjectBound, bound]) => {
    expect(bindsToken({ dpop, issuerTakesProofs, resourceTakesProofs, isSubjectBound })).toBe(bound);
  },
);

test("bound tokens that are required of a server without them are an error", () => {
  const facts = { dpop: "required", issuerTakesProofs: false, resourceTakesProofs: true, isSubjectBound: false } as const;
  expect(() => bindsToken(facts)).toThrow(expect.objectContaining({ code: "dpop_unavailable" }));
});
