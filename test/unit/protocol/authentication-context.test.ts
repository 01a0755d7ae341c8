import { expect, test } from "vitest";
import { authenticationClaims, isAsStrong, knownAcrValues, neededAcr, strictest } from "../../../src/protocol/authentication-context.ts";

const [PWD, MFA, PHR] = ["urn:countersign:pwd", "urn:countersign:mfa", "phr"];

test.for([
  [PHR, MFA, true],
  [MFA, MFA, true],
  [PWD, MFA, false],
  ["urn:other:gold", MFA, false],
  ["urn:other:gold", PWD, true],
] as const)("%s is as strong as %s: %s", ([acr, as, expected]) => {
  expect(isAsStrong(acr, as)).toBe(expected);
});

test("acr_values keeps the client's order and leaves out what is not known", () => {
  expect(knownAcrValues("gold phr  urn:countersign:mfa")).toEqual([PHR, MFA]);
  expect(knownAcrValues(undefined)).toEqual([]);
});

test.for([
  [[], undefined, PHR, PWD],
  [[PHR, MFA], undefined, PHR, MFA],
  [[PHR], undefined, PWD, PWD],
  [[PHR], MFA, MFA, MFA],
  [[MFA], PHR, MFA, PHR],
] as const)("requested %j, demanded %s and reachable %s need %s", ([requested, demanded, reachable, expected]) => {
  expect(neededAcr(requested, demanded, reachable)).toBe(expected);
});

test("the strictest demand has the strongest class and the shortest age", () => {
  expect(strictest([])).toBeUndefined();
  expect(strictest([{}])).toBeUndefined();
  expect(strictest([{ acr: "urn:countersign:mfa", maxAge: 60 }, { acr: "phr" }, { maxAge: 30 }])).toEqual({ acr: PHR, maxAge: 30 });
});

test.for([
  [PHR, [MFA, PHR], MFA],
  [PHR, [], PHR],
  [PWD, [PHR], PWD],
  [MFA, [PHR, MFA], MFA],
] as const)("a sign-in of class %s for a request of %j is stated as %s", ([acr, requested, expected]) => {
  expect(authenticationClaims({ acr, amr: ["pwd"], requested, inIdToken: true })).toEqual({ acr: expected, amr: ["pwd"] });
});
