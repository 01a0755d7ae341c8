import { describe, expect, test } from "vitest";
import { describedConnection } from "../../../src/upstream/connection.ts";
import { identityOfProfile } from "../../../src/upstream/github.ts";
import { identityFrom } from "../../../src/upstream/provider.ts";
import { authenticationOf, decideArrival } from "../../../src/upstream/sign-in.ts";
import { OPEN_SIGN_UP } from "../../support/accounts.ts";

const ISSUER = "https://login.acme.test";
const refusalOf = (work: () => unknown) => {
  try {
    return work();
  } catch (error) {
    return Reflect.get(error as object, "detail")?.issues?.[0]?.path ?? Reflect.get(error as object, "reason");
  }
};

describe("the claims of a provider", () => {
  test.for([
    [{ email: "a@acme.test", email_verified: true }, "a@acme.test", true],
    [{ email: "a@acme.test", email_verified: "true" }, "a@acme.test", true],
    [{ email: "a@acme.test", xms_edov: 1 }, "a@acme.test", true],
    [{ email: "a@acme.test" }, "a@acme.test", false],
    [{ email: "no address", email_verified: true }, undefined, false],
    [{ email: ["a@acme.test"], email_verified: true }, undefined, false],
    [{ email_verified: true }, undefined, false],
  ] as const)("%j name %s, verified: %s", ([claims, email, emailVerified]) => {
    expect(identityFrom(ISSUER, { sub: "s", ...claims })).toMatchObject({ issuer: ISSUER, subject: "s", email, emailVerified });
  });

  test.for([undefined, "", 7, "x".repeat(256)])("are refused with the subject %j", (sub) => {
    expect(refusalOf(() => identityFrom(ISSUER, { sub }))).toBe("upstream_subject_invalid");
  });
});

describe("a profile of GitHub", () => {
  test("is its numeric id, with the primary address", () => {
    const emails = [
      { email: "other@acme.test", primary: false, verified: true },
      { email: "a@acme.test", primary: true, verified: true },
    ];
    expect(identityOfProfile({ id: 42, login: "octocat" }, emails)).toMatchObject({
      issuer: "https://github.com",
      subject: "42",
      email: "a@acme.test",
      emailVerified: true,
    });
    expect(identityOfProfile({ id: 42 }, { message: "Not Found" })).toMatchObject({ email: undefined, emailVerified: false });
  });

  test.for([{}, { id: "42" }, [], null, { id: 1.5 }])("is refused as %j", (profile) => {
    expect(refusalOf(() => identityOfProfile(profile, []))).toBe("upstream_subject_invalid");
  });
});

describe("how strongly a user of a provider has signed in", () => {
  test.for([
    ["phr", ["mfa"], false, "urn:countersign:pwd"],
    ["phr", [], true, "phr"],
    ["phrh", [], true, "phr"],
    [undefined, ["pwd", "mfa"], true, "urn:countersign:mfa"],
    ["urn:countersign:mfa", [], true, "urn:countersign:mfa"],
    ["0", ["pwd"], true, "urn:countersign:pwd"],
  ] as const)("acr %s and amr %j, trusted: %s, counts as %s", ([acr, amr, trustsAcr, expected]) => {
    expect(authenticationOf({ acr, amr }, { trustsAcr }).acr).toBe(expected);
  });
});

describe("an arrival", () => {
  const identity = { email: "a@acme.test", emailVerified: true };
  const arriving = { identity, connection: { domains: ["acme.test"] }, linked: undefined, addressTaken: false, policy: OPEN_SIGN_UP };
  const user = { id: "u" } as never;
  test.for([
    ["a new user", {}, "open_account"],
    ["a linked user", { linked: { user, confirmed: true }, addressTaken: true }, "sign_in"],
    ["a user whom an assertion linked", { linked: { user, confirmed: false } }, "link_first"],
    ["a taken address", { addressTaken: true }, "link_first"],
    ["a taken address that is not verified", { addressTaken: true, identity: { ...identity, emailVerified: false } }, "no_account"],
    ["a subdomain", { identity: { ...identity, email: "a@sub.acme.test" } }, "no_account"],
    ["a domain in upper case", { identity: { ...identity, email: "a@ACME.test" } }, "open_account"],
    ["a closed server", { policy: { ...OPEN_SIGN_UP, mode: "closed" } }, "no_account"],
    ["a server for invited users", { policy: { ...OPEN_SIGN_UP, mode: "invited" } }, "no_account"],
    ["a server for other domains", { policy: { ...OPEN_SIGN_UP, mode: "domains", domains: ["else.test"] } }, "no_account"],
  ] as const)("of %s", ([, change, kind]) => {
    expect(decideArrival({ ...arriving, ...change } as never).kind).toBe(kind);
  });
});

describe("a new connection", () => {
  const google = { preset: "google", clientId: "c", clientSecret: "s" } as const;
  test("takes provider, title, scopes and name from its preset", () => {
    expect(describedConnection(google)).toMatchObject({
      name: "google",
      title: "Google",
      issuer: "https://accounts.google.com",
      authMethod: "client_secret",
      scopes: ["openid", "email", "profile"],
    });
  });

  test.for([
    [{ ...google, issuer: ISSUER }, "issuer"],
    [{ clientId: "c", name: "n" }, "issuer"],
    [{ clientId: "c", issuer: ISSUER }, "name"],
    [{ ...google, preset: "microsoft" }, "tenant"],
    [{ ...google, preset: "microsoft", tenant: "common" }, "tenant"],
    [{ ...google, tenant: "t" }, "tenant"],
    [{ ...google, authMethod: "private_key_jwt" }, "clientSecret"],
    [{ preset: "google", clientId: "c", authMethod: "client_secret" }, "clientSecret"],
    [{ ...google, scopes: ["email"] }, "scopes"],
  ] as const)("%j is refused for its %s", ([request, member]) => {
    expect(refusalOf(() => describedConnection(request))).toBe(member);
  });
});
