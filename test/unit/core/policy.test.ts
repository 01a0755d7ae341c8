import { expect, test } from "vitest";
import { decideClientCredentials } from "../../../src/core/grants/client-credentials/grant.ts";
import { GRANT_HELD } from "../../../src/core/grants/grant.ts";
import {
  allowedScopes,
  droppedScopes,
  exchangedAudience,
  exchangedScopes,
  mayNameClient,
  narrowResource,
  narrowScope,
  requestableResources,
  requestableScopes,
  serviceReach,
} from "../../../src/core/policy/access.ts";
import { missingConsent } from "../../../src/core/policy/consent.ts";
import type { ResourceTerms } from "../../../src/resources/resource.ts";
import { aClient, clientGrant, descriptionOf, outcomeOf, refusalOf, someTerms } from "../../support/builders.ts";

/** Decides on client credentials of a client that is registered for the grant. */
const decided = (members: Parameters<typeof aClient>[0], value: ReturnType<typeof clientGrant>, terms: readonly ResourceTerms[] = []) =>
  decideClientCredentials({
    terms,
    client: aClient({ grantTypes: ["client_credentials"], ...members }),
    grant: { case: "clientCredentials", value },
  });

test.for([
  ["no scope", {}, clientGrant(), ["invalid_scope", "scope_missing"]],
  ["an empty scope", {}, clientGrant({ scope: "" }), ["invalid_scope", "scope_missing"]],
  ["a scope of blanks", {}, clientGrant({ scope: "  " }), ["invalid_scope", "scope_malformed"]],
  ["a foreign scope beside a good one", {}, clientGrant({ scope: "notes:read mail:read" }), ["invalid_scope", "scope_not_allowed"]],
  ["openid, although on the allowlist", {}, clientGrant({ scope: "openid" }), ["invalid_scope", "scope_not_allowed"]],
  ["a public client", { tokenEndpointAuthMethod: "none" }, clientGrant({ scope: "notes:read" }), ["unauthorized_client", "public_client"]],
  [
    "a resource outside the audience",
    {},
    clientGrant({ scope: "notes:read", resource: ["https://x.example.test/"] }),
    ["invalid_target", "resource_outside_audience"],
  ],
  [
    "a malformed resource",
    {},
    clientGrant({ scope: "notes:read", resource: ["not a uri"] }),
    ["invalid_target", "resource_outside_audience"],
  ],
  ["the client itself as resource", {}, clientGrant({ scope: "notes:read", resource: ["notes-app"] }), "granted"],
] as const)("docs/protocol.md#client-credentials: %s", ([, members, grant, expected]) => {
  expect(refusalOf(() => decided(members, grant))).toEqual(expected);
});

test("docs/protocol.md#resources: the audience defaults to the client_id, or to all audiences that an operator set", () => {
  const grant = clientGrant({ scope: "notes:read" });
  expect(decided({}, grant).audience).toEqual(["notes-app"]);
  const audience = ["https://a.example.test/", "https://b.example.test/"];
  expect(decided({ audience }, grant).audience).toEqual(audience);
});

const [NOTES, MAIL] = ["https://notes.example.test/mcp", "https://mail.example.test/mcp"];
const records = (notes: Partial<ResourceTerms>, mail: Partial<ResourceTerms> = {}) => [
  someTerms({ resource: NOTES, scopeNames: ["notes:read"], ...notes }),
  someTerms({ resource: MAIL, ...mail }),
];

test.for([
  ["all resources of its audience, each enabled", records({}), undefined, [NOTES, MAIL]],
  ["the resources of its audience that are enabled", records({}, { enabled: false }), undefined, [NOTES]],
  ["a resource that it names", records({}), [NOTES], [NOTES]],
  [
    "a named resource that is disabled, whose scopes are judged first",
    records({ enabled: false }),
    [NOTES],
    ["invalid_scope", "scope_not_allowed"],
  ],
  [
    "resources of which each is disabled, likewise",
    records({ enabled: false }, { enabled: false }),
    undefined,
    ["invalid_scope", "scope_not_allowed"],
  ],
  [
    "a scope that one record keeps from its kind",
    records({}, { clients: [], scopeNames: ["notes:read"] }),
    undefined,
    ["invalid_scope", "scope_not_allowed"],
  ],
  ["a scope that only a resource that it does not name keeps", records({}, { clients: [], scopeNames: ["notes:read"] }), [NOTES], [NOTES]],
] as const)("docs/protocol.md#resource-records: a client asks for %s", ([, terms, resource, expected]) => {
  const grant = clientGrant({ scope: "notes:read", resource: [...(resource ?? [])] });
  expect(outcomeOf(() => decided({ audience: [NOTES, MAIL] }, grant, terms).audience)).toEqual(expected);
});

test("docs/protocol.md#scopes: scopes that are not allowed are dropped at authorize", () => {
  expect(requestableScopes("notes:read admin notes:read", aClient())).toEqual({ granted: ["notes:read"], dropped: ["admin"] });
});

test("docs/protocol.md#scopes: without scope, all allowed scopes but openid and offline_access are requested", () => {
  expect(requestableScopes(undefined, aClient({ scopes: ["openid", "offline_access", "notes:read"] }))).toEqual({
    granted: ["notes:read"],
    dropped: [],
  });
});

test.for([
  ["only unknown scopes", "admin", {}],
  ["offline_access alone", "offline_access", { scopes: ["offline_access", "notes:read"] }],
  ["nothing left but offline_access", "offline_access admin", { scopes: ["offline_access", "notes:read"] }],
  ["a client without scopes", undefined, { scopes: [] }],
] as const)("docs/protocol.md#errors: %s is refused with invalid_scope", ([, scope, members]) => {
  expect(refusalOf(() => requestableScopes(scope, aClient(members)))).toEqual(["invalid_scope", "no_scope_left"]);
});

test.for([
  [null, []],
  ["readonly", ["agent:readonly"]],
  ["admin", ["agent:readonly", "agent:admin"]],
  ["exec", ["agent:readonly", "agent:admin", "agent:exec"]],
] as const)("docs/protocol.md#agents: with the ceiling %s an agent is allowed %j", ([maxAgentMode, expected]) => {
  const scopes = ["agent:readonly", "agent:admin", "agent:exec"];
  expect(allowedScopes(aClient({ maxAgentMode, scopes }))).toEqual(expected);
});

test("docs/protocol.md#agents: agent modes are independent, so that exec does not include readonly", () => {
  expect(allowedScopes(aClient({ maxAgentMode: "exec", scopes: ["agent:exec"] }))).toEqual(["agent:exec"]);
});

test("docs/protocol.md#errors: a grant that the client is not registered for is refused with unauthorized_client", () => {
  const client = aClient({ grantTypes: ["client_credentials"] });
  const check = () => GRANT_HELD.check({ client, grant: { case: "authorizationCode" } });
  expect(refusalOf(check)).toEqual(["unauthorized_client", "grant_not_held"]);
  expect(descriptionOf(check)).toBe("The client is not registered for this grant: use one of its grant types.");
});

const ISSUER = "https://issuer.example.test";
const known = { terms: [], clients: new Set(["agent"]), requireKnown: false };

test.for([
  ["https://notes.example.test/mcp?tenant=1", true],
  ["http://localhost:8080/mcp", true],
  ["http://127.0.0.1:8080/mcp", true],
  ["http://[::1]:8080/mcp", true],
  ["agent", true],
  ["urn:x:y", true],
  ["api://notes", true],
  ["http://notes.example.test/mcp", false],
  ["https://notes.example.test/mcp#part", false],
  ["https://user@notes.example.test/", false],
  ["/mcp", false],
  ["unknown", false],
  ["https:///x", false],
  ["https:notes.example.test", false],
  ["http:\\\\localhost", false],
  ["urn:x:y#part", false],
  ["javascript:alert(1)", false],
  ["data:text/html,x", false],
  ["https://no tes.example.test/", false],
  [ISSUER, false],
  [`${ISSUER}/`, false],
] as const)("RFC 8707 §2 at authorize: %s is accepted: %s", ([resource, expected]) => {
  const refused = refusalOf(() => requestableResources([resource], ISSUER, "never", known));
  expect(refused).toEqual(expected ? "granted" : ["invalid_target", "resource_not_allowed"]);
});

test.for([
  ["countersign-cli", [], "only"],
  ["notes-app", ["clients:manage"], "also"],
  ["notes-app", ["server:manage"], "never"],
] as const)("docs/protocol.md#command-line-sign-in: %s with %j may request a token for the service: %s", ([clientId, scopes, reach]) => {
  expect(serviceReach(clientId, scopes)).toBe(reach);
});

test("docs/protocol.md#resources: a client that may name the service gets the issuer as its resource, with and without root path", () => {
  expect(requestableResources([`${ISSUER}/`, ISSUER], ISSUER, "also", known)).toEqual([ISSUER]);
});

test("RFC 8707: at most ten resources are accepted, and repeats count once", () => {
  const many = Array.from({ length: 11 }, (_, index) => `https://r${index}.example.test/`);
  expect(refusalOf(() => requestableResources(many, ISSUER, "never", known))).toEqual(["invalid_target", "too_many_resources"]);
  expect(requestableResources([...many.slice(1), ...many.slice(1)], ISSUER, "never", known)).toHaveLength(10);
});

const consentCovers = (...request: Parameters<typeof missingConsent>): boolean =>
  Object.values(missingConsent(...request)).every((missing) => missing.length === 0);

test("docs/protocol.md#consent: consent is skipped only when scopes are covered for each resource", () => {
  const [notes, mail] = ["https://notes.example.test/mcp", "https://mail.example.test/mcp"];
  const consent = { scopes: ["notes:read"], allowed: { [notes]: ["notes:read"] } };
  expect(consentCovers(["notes:read"], [notes], consent)).toBe(true);
  const apart = {
    scopes: ["read", "write"],
    resources: [notes, mail],
    allowed: { [notes]: ["read"], [mail]: ["read", "write"], "": ["write"] },
  };
  expect(consentCovers(["read"], [notes, mail], apart)).toBe(true);
  expect(consentCovers(["write"], [notes], apart)).toBe(false);
  expect(consentCovers(["write"], [notes, mail], apart)).toBe(false);
  expect(consentCovers(["write"], [], apart)).toBe(true);
  expect(consentCovers(["read"], [], apart)).toBe(false);
  expect(consentCovers(["read"], ["constructor"], apart)).toBe(false);
  expect(consentCovers(["notes:read"], [], undefined)).toBe(false);
  expect(missingConsent(["notes:read", "notes:write"], ["https://mail.example.test/"], consent)).toEqual({
    scopes: ["notes:write"],
    resources: ["https://mail.example.test/"],
  });
  // What was allowed elsewhere is new here, so that a page that asks always names something.
  expect(missingConsent(["write"], [notes, mail], apart)).toEqual({ scopes: ["write"], resources: [] });
  expect(missingConsent(["read"], [], apart)).toEqual({ scopes: ["read"], resources: [] });
  expect(missingConsent(["read", "write"], [mail], apart)).toEqual({ scopes: [], resources: [] });
  expect(missingConsent(["read"], [notes], undefined)).toEqual({ scopes: ["read"], resources: [notes] });
});

test.for([
  ["the client is allowed none of it", () => requestableScopes("mail:read", aClient()), "The client may have none of these scopes."],
  [
    "only offline_access is left",
    () => requestableScopes("mail:read offline_access", { ...aClient(), scopes: ["notes:read", "offline_access"] }),
    "Of these scopes the client may have offline_access alone, which permits nothing by itself.",
  ],
  ["it is malformed", () => requestableScopes('a"b', aClient()), /^scope must be names of visible ASCII characters/],
  ["it is blank at a refresh", () => narrowScope(" ", ["notes:read"]), /^scope must be names of visible ASCII characters/],
  ["it exceeds the grant", () => narrowScope("mail:read", ["notes:read"]), "A scope is not among those that were granted."],
] as const)("the description of invalid_scope says that %s", ([, act, description]) => {
  expect(act).toThrow(
    expect.objectContaining({
      detail: { description: typeof description === "string" ? description : expect.stringMatching(description) },
    }),
  );
});

const agent = aClient({ scopes: ["a", "agent:readonly", "agent:exec"], maxAgentMode: "readonly" });
const clients = new Map([["on", { enabled: true }]]);
const many = Array.from({ length: 11 }, (_, index) => `https://r${index}.example.test`);

test.for<readonly [string, () => unknown, string]>([
  ["no scope at all", () => requestableScopes(undefined, aClient({ scopes: ["openid"] })), "The client may have no scope."],
  ["no requested scope", () => requestableScopes("x", agent), "The client may have none of these scopes."],
  [
    "offline_access alone",
    () => requestableScopes("offline_access x", aClient({ scopes: ["offline_access"] })),
    "Of these scopes the client may have offline_access alone, which permits nothing by itself.",
  ],
  ["a scope that was not granted", () => narrowScope("a b", ["a"]), "A scope is not among those that were granted."],
  ["a scope beyond the subject", () => exchangedScopes("a b", ["a"], agent), "A scope is not among those of the subject_token."],
  [
    "an agent mode beyond the ceiling",
    () => exchangedScopes("a agent:exec", ["a", "agent:exec"], agent),
    "An agent mode is above the ceiling of this client.",
  ],
  ["a scope beyond the allowlist", () => exchangedScopes("a b", ["a", "b"], agent), "The agent may not have one of these scopes."],
  ["no requested scope of client credentials", () => decided({}, clientGrant()), "scope is missing."],
  [
    "a user's scope",
    () => decided({}, clientGrant({ scope: "openid" })),
    "The client may not have one of these scopes, or it is one for users only (openid, offline_access).",
  ],
  [
    "a resource beyond the grant",
    () => narrowResource(["https://x.example.test"], []),
    "A resource lies outside of those that the grant is bound to.",
  ],
  [
    "an absent audience",
    () => narrowResource([], ["off"], ["off"]),
    "None of the clients and resources that the token would be for exists and is enabled.",
  ],
  ["too many resources", () => exchangedAudience(many, many, clients), "At most 10 resources can be named."],
])("the description of a refusal for %s", ([, decide, description]) => expect(descriptionOf(decide)).toBe(description));

test("docs/protocol.md#resources: ten resources are accepted, and an empty audience stays empty", () => {
  expect(exchangedAudience(many.slice(1), many, clients)).toEqual(many.slice(1));
  expect([narrowResource([], []), narrowResource([], ["on"])]).toEqual([[], ["on"]]);
  expect(["on", "urn:x:https:y", "http://a", "HTTPS://a"].filter(mayNameClient)).toEqual(["on", "urn:x:https:y"]);
  expect(droppedScopes("a b", agent)).toEqual(["b"]);
});
