import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import { type AssertionFacts, decideIdentityAssertion } from "../../../src/core/grants/jwt-bearer/rules.ts";
import { JwtBearerGrantSchema } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { aClient, outcomeOf, refusalOf, someTerms } from "../../support/builders.ts";

const [NOTES, MAIL] = ["https://notes.example.test/mcp", "https://mail.example.test/mcp"];
const claims = {
  ...{ iss: "https://idp.example.test", sub: "employee-7", aud: "https://issuer.example.test", client_id: "notes-app", jti: "j-1" },
  ...{ iat: 990, exp: 1100, scope: "notes:read notes:write", resource: NOTES },
};

type Facts = Partial<Pick<AssertionFacts, "terms" | "confirmation">>;
function decided(members: object, params: MessageInitShape<typeof JwtBearerGrantSchema> = {}, facts: Facts = {}) {
  const client = aClient({ scopes: ["notes:read", "notes:write"], audience: [NOTES, MAIL] });
  const assertion = { claims: { ...claims, ...members } } as unknown as AssertionFacts["assertion"];
  const server = { issuer: "https://issuer.example.test", maxLifetime: 300, now: 1000, terms: [] };
  return decideIdentityAssertion({ ...server, client, assertion, params: create(JwtBearerGrantSchema, params), ...facts });
}

const PROVEN = { confirmation: { jkt: "thumb" } };

test.for([
  ["the key that the request proves", { jkt: "thumb" }, PROVEN, "granted"],
  ["a key where the request proves none", { jkt: "thumb" }, {}, ["invalid_grant", "confirmation_unsupported"]],
  ["another key", { jkt: "other" }, PROVEN, ["invalid_grant", "confirmation_not_proven"]],
  ["the key and a certificate", { jkt: "thumb", "x5t#S256": "x" }, PROVEN, ["invalid_grant", "confirmation_not_proven"]],
  ["a certificate alone", { "x5t#S256": "thumb" }, PROVEN, ["invalid_grant", "confirmation_not_proven"]],
  ["no member", {}, PROVEN, ["invalid_grant", "confirmation_not_proven"]],
  ["null in place of an object", null, PROVEN, ["invalid_grant", "confirmation_not_proven"]],
  ["a text in place of an object", "thumb", PROVEN, ["invalid_grant", "confirmation_not_proven"]],
] as const)("docs/protocol.md#identity-assertion: cnf of an assertion has %s", ([, cnf, facts, expected]) => {
  expect(refusalOf(() => decided({ cnf }, {}, facts))).toEqual(expected);
});

test("docs/protocol.md#identity-assertion: an assertion without cnf is accepted with any proof", () => {
  expect(refusalOf(() => decided({}, {}, PROVEN))).toBe("granted");
});

const notes = (members: Parameters<typeof someTerms>[0] = {}) =>
  someTerms({ resource: NOTES, scopeNames: ["notes:read", "notes:write"], ...members });
const stepUps = { "notes:write": { acr: "phr" } } as const;

test.for([
  ["keeps all scopes of a recorded resource", [notes()], {}, ["notes:read", "notes:write"]],
  ["loses a scope that demands a sign-in, which it cannot show", [notes({ stepUps })], {}, ["notes:read"]],
  [
    "keeps a scope on which only another resource makes a demand",
    [notes(), someTerms({ resource: MAIL, stepUps })],
    {},
    ["notes:read", "notes:write"],
  ],
  [
    "is refused where each of its scopes demands a sign-in",
    [notes({ stepUps })],
    { scope: "notes:write" },
    ["invalid_grant", "no_scope_left"],
  ],
  ["is refused for a disabled resource", [notes({ enabled: false })], {}, ["invalid_grant", "resource_disabled"]],
] as const)("docs/protocol.md#resource-records: an assertion %s", ([, terms, params, expected]) => {
  expect(outcomeOf(() => decided({}, params, { terms }).scopes)).toEqual(expected);
});

test.for([
  ["undefined", { act: undefined }, undefined],
  ["with a further claim", { act: { sub: "a", iss: "x" } }, { sub: "a" }],
  ["with an inner act that is undefined", { act: { sub: "a", act: undefined } }, { sub: "a" }],
  ["with an inner act", { act: { sub: "a", act: { sub: "b" } } }, { sub: "a", act: { sub: "b" } }],
] as const)("docs/protocol.md#identity-assertion: act %s", ([, members, expected]) => {
  expect(decided(members).act).toEqual(expected);
});
