import { expect, test } from "vitest";
import { assertMaySignUp, needsProof, roleOfSignUp, type SignUpPolicy } from "../../../src/accounts/sign-up-policy.ts";
import { assertMayMakeClients } from "../../../src/management/client-rules.ts";
import { refusalOf } from "../../support/builders.ts";

const policy = (mode: SignUpPolicy["mode"]): SignUpPolicy => ({ mode, domains: ["example.com"], developers: "all" });

test.for([
  ["open", "a@example.org", undefined],
  ["domains", "a@example.com", undefined],
  ["domains", "A@EXAMPLE.com", undefined],
  ["domains", '"a@example.org"@example.com', undefined],
  ["domains", "a@mail.example.com", "sign_up_domain"],
  ["domains", "a@notexample.com", "sign_up_domain"],
  ["domains", "a@example.com@example.org", "sign_up_domain"],
  ["invited", "a@example.com", "sign_up_invited"],
  ["closed", "a@example.com", "sign_up_closed"],
] as const)("SIGN_UP=%s: %s signs up, unless refused with %s", ([mode, email, reason]) => {
  const attempt = () => assertMaySignUp(email, policy(mode));
  if (reason === undefined) expect(attempt).not.toThrow();
  else expect(refusalOf(attempt)).toEqual(["forbidden", reason]);
});

test("only SIGN_UP=domains requires a verified address before sign-in", () => {
  expect(needsProof({ emailVerified: false }, policy("domains"))).toBe(true);
  expect(needsProof({ emailVerified: true }, policy("domains"))).toBe(false);
  for (const mode of ["open", "invited", "closed"] as const) expect(needsProof({ emailVerified: false }, policy(mode))).toBe(false);
});

test.for([
  ["all", ["user", "developer", "operator"], "developer"],
  ["role", ["developer", "operator"], "user"],
  ["operators", ["operator"], "user"],
] as const)("DEVELOPERS=%s: %j may register clients, and users sign up as %s", ([rule, allowed, role]) => {
  expect(roleOfSignUp({ developers: rule })).toBe(role);
  for (const each of ["user", "developer", "operator"] as const) {
    const attempt = () => assertMayMakeClients(each, rule);
    if (allowed.some((one) => one === each)) expect(attempt).not.toThrow();
    else expect(refusalOf(attempt)).toEqual(["forbidden", "not_a_developer"]);
  }
});
