import { expect, test } from "vitest";
import type { Client } from "../../../src/clients/client.ts";
import { decideRefresh as decide, type Grace } from "../../../src/core/grants/refresh-token/grant.ts";
import type { FamilyState } from "../../../src/core/ports.ts";
import type { RefreshTokenGrant } from "../../../src/gen/countersign/token/v1/token_pb.ts";
import { hashSecret } from "../../../src/random.ts";
import { aClient, aFamily, aSubject, refreshGrant, refusalOf } from "../../support/builders.ts";

const decideRefresh = (found: FamilyState | undefined, client: Client, params: RefreshTokenGrant, grace: Grace) =>
  decide(found, { client, params }, grace);
const client = aClient();
const strict = { seconds: 0, successor: hashSecret("next") };
const graceful = { seconds: 30, successor: hashSecret("current") };

test.for([
  ["an unknown token", undefined, refreshGrant(), ["invalid_grant", "refresh_token_unknown"]],
  ["a token of another client", aFamily({ clientId: "other" }), refreshGrant(), ["invalid_grant", "refresh_token_of_another_client"]],
  ["a revoked family", aFamily({ revoked: true }), refreshGrant(), ["invalid_grant", "refresh_token_revoked"]],
  ["a family at its expiry", aFamily({ expiresAt: 1000 }), refreshGrant(), ["invalid_grant", "refresh_token_expired"]],
  ["a user who has been disabled", aFamily({ subject: aSubject({ enabled: false }) }), refreshGrant(), ["invalid_grant", "user_disabled"]],
  ["a wider scope", aFamily(), refreshGrant({ scope: "notes:read mail:read" }), ["invalid_scope", "scope_wider_than_granted"]],
  ["a malformed scope", aFamily(), refreshGrant({ scope: 'notes"read' }), ["invalid_scope", "scope_malformed"]],
  [
    "a foreign resource",
    aFamily(),
    refreshGrant({ resource: ["https://other.example.test/"] }),
    ["invalid_target", "resource_outside_grant"],
  ],
  ["the current token", aFamily(), refreshGrant(), "granted"],
] as const)("docs/protocol.md#refresh-token-rules: %s", ([, family, grant, expected]) => {
  expect(refusalOf(() => decideRefresh(family, client, grant, strict))).toEqual(expected);
});

test("RFC 6749 §6: without scope and resource, the response has all that was granted", () => {
  const family = aFamily();
  expect(decideRefresh(family, client, refreshGrant(), strict)).toEqual({
    kind: "rotate",
    family,
    scopes: family.scopes,
    audience: family.audience,
    terms: [],
  });
});

test("RFC 6749 §6: a narrower scope applies to this response only", () => {
  expect(decideRefresh(aFamily(), client, refreshGrant({ scope: "notes:read" }), strict)).toMatchObject({
    kind: "rotate",
    scopes: ["notes:read"],
  });
});

test("docs/protocol.md#refresh-token-rules: a scope no longer allowed to the client is omitted, and refused when requested", () => {
  const less = aClient({ scopes: ["openid", "notes:read"] });
  expect(decideRefresh(aFamily(), less, refreshGrant(), strict)).toMatchObject({ kind: "rotate", scopes: ["openid", "notes:read"] });
  expect(refusalOf(() => decideRefresh(aFamily(), less, refreshGrant({ scope: "notes:write" }), strict))).toEqual([
    "invalid_scope",
    "scope_wider_than_granted",
  ]);
  expect(refusalOf(() => decideRefresh(aFamily(), aClient({ scopes: [] }), refreshGrant(), strict))).toEqual([
    "invalid_scope",
    "no_scope_left",
  ]);
});

test("disabled and deleted clients are omitted from aud; an empty aud is refused with invalid_target", () => {
  const family = aFamily({ audience: ["agent", "gone", "https://notes.example.test/mcp"], absentClients: ["gone"] });
  expect(decideRefresh(family, client, refreshGrant(), strict)).toMatchObject({ audience: ["agent", "https://notes.example.test/mcp"] });
  expect(decideRefresh(family, client, refreshGrant({ resource: ["gone", "agent"] }), strict)).toMatchObject({ audience: ["agent"] });
  expect(refusalOf(() => decideRefresh(family, client, refreshGrant({ resource: ["gone"] }), strict))).toEqual([
    "invalid_target",
    "audience_absent",
  ]);
});

test("offline_access requested at refresh stays in the response", () => {
  const family = aFamily({ scopes: ["offline_access", "notes:read"] });
  const able = aClient({ scopes: ["offline_access", "notes:read"] });
  expect(decideRefresh(family, able, refreshGrant({ scope: "offline_access notes:read" }), strict)).toMatchObject({
    scopes: ["offline_access", "notes:read"],
  });
});

test("docs/protocol.md#refresh-token-rules: a used token is a replay, whatever scope is requested", () => {
  expect(decideRefresh(aFamily({ usedAt: 1000 }), client, refreshGrant({ scope: "mail:read" }), strict)).toMatchObject({ kind: "replay" });
});

test.for([
  ["within the grace, successor unused", aFamily({ usedAt: 980 }), "repeat"],
  ["at the end of the grace", aFamily({ usedAt: 970 }), "replay"],
  ["within the grace, successor used", aFamily({ usedAt: 980, currentHash: hashSecret("later") }), "replay"],
] as const)("REFRESH_TOKEN_REUSE_GRACE: %s", ([, family, kind]) => {
  expect(decideRefresh(family, client, refreshGrant(), graceful)).toMatchObject({ kind });
});

test.for([
  ["the same key", { jkt: "a" }, "granted"],
  ["another key", { jkt: "b" }, ["invalid_grant", "dpop_key_differs"]],
  ["no proof", undefined, ["invalid_dpop_proof", "dpop_missing"]],
] as const)("RFC 9449 §5: a family that is bound to a key, with %s", ([, confirmation, expected]) => {
  const request = { client, params: refreshGrant(), confirmation };
  for (const family of [aFamily({ cnf: { jkt: "a" } }), aFamily({ cnf: { jkt: "a" }, usedAt: 900 })].slice(
    0,
    expected === "granted" ? 1 : 2,
  ))
    expect(refusalOf(() => decide(family, request, strict))).toEqual(expected);
});
