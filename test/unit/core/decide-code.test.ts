import { expect, test } from "vitest";
import type { Client } from "../../../src/clients/client.ts";
import { decideCode as decide } from "../../../src/core/grants/authorization-code/rules.ts";
import type { CodeState } from "../../../src/core/stored-grants.ts";
import type { AuthorizationCodeGrant } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { aClient, aCode, aSubject, codeGrant, descriptionOf, refusalOf } from "../../support/builders.ts";

const client = aClient();
const decideCode = (found: CodeState | undefined, by: Client, params: AuthorizationCodeGrant) => decide(found, { client: by, params });

test.for([
  ["an unknown code", undefined, codeGrant(), ["invalid_grant", "code_unknown"]],
  ["a code of another client", aCode({ clientId: "other" }), codeGrant(), ["invalid_grant", "code_of_another_client"]],
  [
    "another redirect_uri",
    aCode(),
    codeGrant({ redirectUri: "https://notes.example.test/cb/" }),
    ["invalid_grant", "redirect_uri_differs"],
  ],
  ["a wrong verifier", aCode(), codeGrant({ codeVerifier: "x".repeat(43) }), ["invalid_grant", "code_verifier_wrong"]],
  ["a verifier of 42 characters", aCode(), codeGrant({ codeVerifier: "x".repeat(42) }), ["invalid_request", "code_verifier_malformed"]],
  ["a verifier of 129 characters", aCode(), codeGrant({ codeVerifier: "x".repeat(129) }), ["invalid_request", "code_verifier_malformed"]],
  [
    "a verifier with a foreign character",
    aCode(),
    codeGrant({ codeVerifier: `${"x".repeat(43)}+` }),
    ["invalid_request", "code_verifier_malformed"],
  ],
  ["a code one second before its expiry", aCode({ expiresAt: 1001 }), codeGrant(), "granted"],
  ["a code at its expiry", aCode({ expiresAt: 1000 }), codeGrant(), ["invalid_grant", "code_expired"]],
  ["a user who has been disabled", aCode({ subject: aSubject({ enabled: false }) }), codeGrant(), ["invalid_grant", "user_disabled"]],
  [
    "a resource that was not bound",
    aCode(),
    codeGrant({ resource: ["https://other.example.test/"] }),
    ["invalid_target", "resource_outside_grant"],
  ],
  [
    "any resource when none was bound",
    aCode({ resources: [] }),
    codeGrant({ resource: ["https://notes.example.test/mcp"] }),
    ["invalid_target", "resource_outside_grant"],
  ],
  ["the client itself when none was bound", aCode({ resources: [] }), codeGrant({ resource: ["notes-app"] }), "granted"],
] as const)("docs/protocol.md#authorization-code-rules: %s", ([, code, grant, expected]) => {
  expect(refusalOf(() => decideCode(code, client, grant))).toEqual(expected);
});

test("RFC 7636 §4.6: only a wrong verifier is described, whether or not the code has been used", () => {
  const wrong = codeGrant({ codeVerifier: "x".repeat(43) });
  const used = aCode({ grantId: "01900000-0000-7000-8000-00000000000d" });
  const described = [
    descriptionOf(() => decideCode(aCode(), client, wrong)),
    descriptionOf(() => decideCode(used, client, wrong)),
    descriptionOf(() => decideCode(undefined, client, codeGrant())),
    descriptionOf(() => decideCode(aCode({ clientId: "other" }), client, wrong)),
    descriptionOf(() => decideCode(aCode({ expiresAt: 1000 }), client, codeGrant())),
  ];
  const description = "code_verifier does not match code_challenge.";
  expect(described).toEqual([description, description, undefined, undefined, undefined]);
});

test("RFC 8707 §2.2: the resource of a token request narrows the audience of the token, not of the grant", () => {
  const decision = decideCode(aCode(), client, codeGrant({ resource: ["https://mail.example.test/mcp"] }));
  expect(decision).toMatchObject({ kind: "redeem", audience: ["https://mail.example.test/mcp"], bound: aCode().resources });
});

test("RFC 9068 §3: without any resource the audience is the client", () => {
  expect(decideCode(aCode({ resources: [] }), client, codeGrant())).toMatchObject({ kind: "redeem", audience: ["notes-app"] });
});

test("OAuth 2.1 §7.5.2: a used code with otherwise valid parameters is a replay", () => {
  const used = aCode({ grantId: "01900000-0000-7000-8000-00000000000d", expiresAt: 1000 });
  expect(decideCode(used, client, codeGrant())).toMatchObject({ kind: "replay", grantId: used.grantId });
});

test("OAuth 2.1 §7.5.2: a used code with a wrong verifier revokes nothing", () => {
  const used = aCode({ grantId: "01900000-0000-7000-8000-00000000000d" });
  expect(refusalOf(() => decideCode(used, client, codeGrant({ codeVerifier: "x".repeat(43) })))).toEqual([
    "invalid_grant",
    "code_verifier_wrong",
  ]);
});

test.for([
  ["the same key", { jkt: "a" }, "granted"],
  ["another key", { jkt: "b" }, ["invalid_grant", "dpop_key_differs"]],
  ["no proof", undefined, ["invalid_dpop_proof", "dpop_missing"]],
] as const)("RFC 9449 §10: a code that is bound to a key, with %s", ([, confirmation, expected]) => {
  expect(refusalOf(() => decide(aCode({ dpopJkt: "a" }), { client, params: codeGrant(), confirmation }))).toEqual(expected);
});
