import { create } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { SignedIn } from "../../../src/accounts/ports.ts";
import { nextStep } from "../../../src/front/authorization-step.ts";
import { type Authorization, AuthorizationSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";

const NOW = 10_000;
const ada: SignedIn = {
  session: { id: "s", userId: "ada", authTime: 9_000, expiresAt: 20_000 },
  user: {
    id: "ada",
    email: "ada@example.test",
    emailVerified: true,
    realmId: "r",
    firstName: null,
    lastName: null,
    role: "developer",
    enabled: true,
    createdAt: 1,
    updatedAt: null,
  },
};
const step = (members: Partial<Authorization>, signedIn: SignedIn | undefined, askedAt?: number) => {
  const result = nextStep(create(AuthorizationSchema, members), signedIn, askedAt, NOW);
  return result.kind === "refuse" ? result.error : result.kind;
};

describe("OIDC Core §3.1.2.1: prompt, max_age and id_token_hint", () => {
  test.for<[string, Partial<Authorization>, SignedIn | undefined, number | undefined, string]>([
    ["nobody is signed in", {}, undefined, undefined, "sign_in"],
    ["signed in and consented", {}, ada, undefined, "issue"],
    ["consent is missing", { consentRequired: true }, ada, undefined, "consent"],
    ["prompt=none, nobody", { prompt: ["none"] }, undefined, undefined, "login_required"],
    ["prompt=none, all there", { prompt: ["none"] }, ada, undefined, "issue"],
    ["prompt=none, no consent", { prompt: ["none"], consentRequired: true }, ada, undefined, "consent_required"],
    ["prompt=none, sign-in too old", { prompt: ["none"], maxAge: 999 }, ada, undefined, "login_required"],
    ["prompt=consent", { prompt: ["consent"] }, ada, undefined, "consent"],
    ["prompt=login", { prompt: ["login"] }, ada, undefined, "sign_in"],
    ["prompt=login, signed in before the request", { prompt: ["login"] }, ada, 9_001, "sign_in"],
    ["prompt=login, signed in since the request", { prompt: ["login"] }, ada, 9_000, "issue"],
    ["prompt=login consent, signed in since", { prompt: ["login", "consent"] }, ada, 9_000, "consent"],
    ["prompt=select_account", { prompt: ["select_account"] }, ada, undefined, "sign_in"],
    ["max_age holds", { maxAge: 1000 }, ada, undefined, "issue"],
    ["max_age exceeded", { maxAge: 999 }, ada, undefined, "sign_in"],
    ["max_age=0 asks always", { maxAge: 0 }, { ...ada, session: { ...ada.session, authTime: NOW } }, undefined, "sign_in"],
    ["max_age=0, signed in since", { maxAge: 0 }, ada, 9_000, "issue"],
    ["the hint names her", { hintedSub: "ada" }, ada, undefined, "issue"],
    ["the hint names another", { hintedSub: "bob" }, ada, undefined, "login_required"],
    ["the hint, nobody signed in", { hintedSub: "bob" }, undefined, undefined, "sign_in"],
  ])("%s", ([, members, signedIn, askedAt, expected]) => {
    expect(step(members, signedIn, askedAt)).toBe(expected);
  });
});
