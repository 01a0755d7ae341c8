import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { describe, expect, test } from "vitest";
import type { SignedIn } from "../../../src/accounts/ports.ts";
import { nextStep } from "../../../src/front/oauth/pending-request.ts";
import { AuthorizationSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { type Acr, PASSWORD_ACR, PHISHING_RESISTANT_ACR, TWO_FACTOR_ACR } from "../../../src/protocol/authentication-context.ts";

type Members = MessageInitShape<typeof AuthorizationSchema>;
const ada: SignedIn = {
  session: {
    id: "s",
    userId: "ada",
    authTime: 9_000,
    proofAge: 1_000,
    acr: "urn:countersign:pwd",
    amr: ["pwd"],
    requiredAcr: null,
    reachableAcr: "urn:countersign:pwd",
    hasSecondFactor: false,
  },
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
const reaching = (signedIn: SignedIn | undefined, reachableAcr = "urn:countersign:pwd"): SignedIn | undefined =>
  signedIn && { ...signedIn, session: { ...signedIn.session, reachableAcr } };
const step = (members: Members, signedIn: SignedIn | undefined, renewed: boolean, reachable?: string, settable: Acr = PASSWORD_ACR) => {
  const result = nextStep(create(AuthorizationSchema, members), reaching(signedIn, reachable), renewed, settable);
  return result.kind === "refuse" ? result.error : result.kind;
};

describe("OIDC Core §3.1.2.1: prompt, max_age and id_token_hint", () => {
  test.for<[string, Members, SignedIn | undefined, boolean, string, string?]>([
    ["not signed in", {}, undefined, false, "sign_in"],
    ["signed in and consented", {}, ada, false, "issue"],
    ["consent is missing", { consentRequired: true }, ada, false, "consent"],
    ["prompt=none, not signed in", { prompt: ["none"] }, undefined, false, "login_required"],
    ["prompt=none, signed in and consented", { prompt: ["none"] }, ada, false, "issue"],
    ["prompt=none, no consent", { prompt: ["none"], consentRequired: true }, ada, false, "consent_required"],
    ["prompt=none, sign-in too old", { prompt: ["none"], maxAge: 999 }, ada, false, "login_required"],
    ["acr_values that the sign-in fulfils", { acrValues: ["urn:countersign:pwd"] }, ada, false, "issue"],
    ["acr_values that the user cannot reach are ignored", { acrValues: ["phr"] }, ada, false, "issue"],
    ["a scope demands what the user cannot reach", { requiredAcr: "phr" }, ada, false, "unmet_authentication_requirements"],
    ["a scope demands what the user can reach", { requiredAcr: "urn:countersign:mfa" }, ada, false, "sign_in", "phr"],
    ["acr_values that the user can reach", { acrValues: ["phr", "urn:countersign:mfa"] }, ada, true, "sign_in", "urn:countersign:mfa"],
    ["prompt=none, stronger sign-in needed", { prompt: ["none"], requiredAcr: "phr" }, ada, false, "login_required", "phr"],
    [
      "the realm demands a second factor",
      {},
      { ...ada, session: { ...ada.session, requiredAcr: "urn:countersign:mfa" } },
      true,
      "sign_in",
      "phr",
    ],
    ["prompt=consent", { prompt: ["consent"] }, ada, false, "consent"],
    ["prompt=login", { prompt: ["login"] }, ada, false, "sign_in"],
    ["prompt=login, signed in since the request", { prompt: ["login"] }, ada, true, "issue"],
    ["prompt=login consent, signed in since", { prompt: ["login", "consent"] }, ada, true, "consent"],
    ["prompt=select_account", { prompt: ["select_account"] }, ada, false, "sign_in"],
    ["max_age not exceeded", { maxAge: 1000 }, ada, false, "issue"],
    ["max_age exceeded", { maxAge: 999 }, ada, false, "sign_in"],
    ["max_age=0 always requires a sign-in", { maxAge: 0 }, { ...ada, session: { ...ada.session, proofAge: 0 } }, false, "sign_in"],
    ["max_age=0, signed in since", { maxAge: 0 }, ada, true, "issue"],
    ["max_age exceeded since the sign-in for it", { maxAge: 999 }, ada, true, "sign_in"],
    [
      "max_age below a minute, signed in for it less than one ago",
      { maxAge: 30 },
      { ...ada, session: { ...ada.session, proofAge: 59 } },
      true,
      "issue",
    ],
    [
      "max_age below a minute, signed in for it more than one ago",
      { maxAge: 30 },
      { ...ada, session: { ...ada.session, proofAge: 61 } },
      true,
      "sign_in",
    ],
    ["the hint names the user", { hintedSub: "ada" }, ada, false, "issue"],
    ["the hint names another", { hintedSub: "bob" }, ada, false, "login_required"],
    ["the hint, not signed in", { hintedSub: "bob" }, undefined, false, "sign_in"],
  ])("%s", ([, members, signedIn, renewed, expected, reachable]) => {
    expect(step(members, signedIn, renewed, reachable)).toBe(expected);
  });
});

describe("docs/protocol.md#step-up: a class that the user cannot reach", () => {
  const byRealm = { ...ada, session: { ...ada.session, requiredAcr: TWO_FACTOR_ACR } };
  test.for<[string, Members, SignedIn, Acr, string]>([
    ["can be set up by an app", { requiredAcr: TWO_FACTOR_ACR }, ada, TWO_FACTOR_ACR, "set_up"],
    ["can be set up by a passkey", { requiredAcr: TWO_FACTOR_ACR }, ada, PHISHING_RESISTANT_ACR, "set_up"],
    ["can be set up for the realm", {}, byRealm, TWO_FACTOR_ACR, "set_up"],
    ["cannot be set up by an app", { requiredAcr: PHISHING_RESISTANT_ACR }, ada, TWO_FACTOR_ACR, "unmet_authentication_requirements"],
    ["cannot be set up here", { requiredAcr: TWO_FACTOR_ACR }, ada, PASSWORD_ACR, "unmet_authentication_requirements"],
    ["is not asked of prompt=none", { requiredAcr: TWO_FACTOR_ACR, prompt: ["none"] }, ada, PHISHING_RESISTANT_ACR, "login_required"],
    ["is only preferred", { acrValues: [PHISHING_RESISTANT_ACR] }, ada, PHISHING_RESISTANT_ACR, "issue"],
  ])("%s", ([, members, signedIn, settable, expected]) => {
    expect(step(members, signedIn, true, undefined, settable)).toBe(expected);
  });
});
