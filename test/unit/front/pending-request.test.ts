import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { SignedIn } from "../../../src/accounts/ports.ts";
import { nextStep } from "../../../src/front/oauth/pending-request.ts";
import { AuthorizationSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";

const NOW = 10_000;
type Members = MessageInitShape<typeof AuthorizationSchema>;
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
const step = (members: Members, signedIn: SignedIn | undefined, renewed: boolean) => {
  const result = nextStep(create(AuthorizationSchema, members), signedIn, renewed, NOW);
  return result.kind === "refuse" ? result.error : result.kind;
};

describe("OIDC Core §3.1.2.1: prompt, max_age and id_token_hint", () => {
  test.for<[string, Members, SignedIn | undefined, boolean, string]>([
    ["not signed in", {}, undefined, false, "sign_in"],
    ["signed in and consented", {}, ada, false, "issue"],
    ["consent is missing", { consentRequired: true }, ada, false, "consent"],
    ["prompt=none, not signed in", { prompt: ["none"] }, undefined, false, "login_required"],
    ["prompt=none, signed in and consented", { prompt: ["none"] }, ada, false, "issue"],
    ["prompt=none, no consent", { prompt: ["none"], consentRequired: true }, ada, false, "consent_required"],
    ["prompt=none, sign-in too old", { prompt: ["none"], maxAge: 999 }, ada, false, "login_required"],
    ["prompt=consent", { prompt: ["consent"] }, ada, false, "consent"],
    ["prompt=login", { prompt: ["login"] }, ada, false, "sign_in"],
    ["prompt=login, signed in since the request", { prompt: ["login"] }, ada, true, "issue"],
    ["prompt=login consent, signed in since", { prompt: ["login", "consent"] }, ada, true, "consent"],
    ["prompt=select_account", { prompt: ["select_account"] }, ada, false, "sign_in"],
    ["max_age not exceeded", { maxAge: 1000 }, ada, false, "issue"],
    ["max_age exceeded", { maxAge: 999 }, ada, false, "sign_in"],
    ["max_age=0 always requires a sign-in", { maxAge: 0 }, { ...ada, session: { ...ada.session, authTime: NOW } }, false, "sign_in"],
    ["max_age=0, signed in since", { maxAge: 0 }, ada, true, "issue"],
    ["the hint names the user", { hintedSub: "ada" }, ada, false, "issue"],
    ["the hint names another", { hintedSub: "bob" }, ada, false, "login_required"],
    ["the hint, not signed in", { hintedSub: "bob" }, undefined, false, "sign_in"],
  ])("%s", ([, members, signedIn, renewed, expected]) => {
    expect(step(members, signedIn, renewed)).toBe(expected);
  });
});
