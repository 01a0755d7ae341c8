import { describe, expect, test } from "vitest";
import { decideCode } from "../../../src/core/grants/authorization-code/rules.ts";
import { decideRefresh } from "../../../src/core/grants/refresh-token/grant.ts";
import { allowedAt, requestableResources, requestableScopes, targetOf } from "../../../src/core/policy/access.ts";
import type { StatedAuthentication } from "../../../src/protocol/authentication-context.ts";
import { hashSecret } from "../../../src/random.ts";
import type { ResourceTerms } from "../../../src/resources/resource.ts";
import { aClient, aCode, aFamily, codeGrant, refreshGrant, refusalOf, someTerms } from "../../support/builders.ts";

const NOTES = "https://notes.example.test/mcp";
const MAIL = "https://mail.example.test/mcp";
const notes = someTerms({ resource: NOTES, scopeNames: ["notes:read", "notes:write"] });
const mail = someTerms({ resource: MAIL, scopeNames: ["mail:read"], clients: ["named"] });

const registered = aClient({ origin: "dynamic", scopes: ["openid", "offline_access", "crm:read"] });
const documented = aClient({ origin: "metadata_document", scopes: ["openid", "crm:read"] });
const named = aClient({ scopes: ["openid", "notes:read", "mail:read", "crm:read", "agent:exec"], maxAgentMode: "exec" });

test.for<[string, ReturnType<typeof aClient>, readonly string[], readonly ResourceTerms[], readonly string[]]>([
  ["without a resource the allowlist", registered, [], [notes], ["openid", "offline_access", "crm:read"]],
  ["at an unknown resource the allowlist", registered, [MAIL], [notes], ["openid", "offline_access", "crm:read"]],
  ["a registered client all that is offered", registered, [NOTES], [notes], ["openid", "offline_access", "notes:read", "notes:write"]],
  ["a document client all that is offered", documented, [NOTES], [notes], ["openid", "notes:read", "notes:write"]],
  ["a named client what its allowlist holds of it", named, [NOTES], [notes], ["openid", "agent:exec", "notes:read"]],
  ["nothing offered to another kind", registered, [MAIL], [mail], ["openid", "offline_access"]],
  ["the union of all resources", named, [NOTES, MAIL], [notes, mail], ["openid", "agent:exec", "notes:read", "mail:read"]],
  [
    "also the allowlist beside an unknown resource",
    registered,
    [NOTES, MAIL],
    [notes],
    [...registered.scopes, "notes:read", "notes:write"],
  ],
  [
    "nothing that one resource keeps from its kind, beside an unknown one",
    aClient({ origin: "dynamic", scopes: ["openid", "mail:read"] }),
    [MAIL, "https://unknown.example.test"],
    [mail],
    ["openid"],
  ],
  [
    "nothing that one resource keeps from its kind and another offers",
    registered,
    [NOTES, MAIL],
    [{ ...notes, scopeNames: ["notes:read", "mail:read"] }, mail],
    ["openid", "offline_access", "notes:read"],
  ],
  [
    "what another resource offers beside a disabled one",
    registered,
    [NOTES, MAIL],
    [
      { ...notes, scopeNames: ["mail:read"] },
      { ...mail, enabled: false },
    ],
    ["openid", "offline_access", "mail:read"],
  ],
  ["nothing of a disabled record", registered, [NOTES], [{ ...notes, enabled: false }], ["openid", "offline_access"]],
])("docs/protocol.md#resource-records: %s", ([, client, resources, terms, expected]) => {
  expect(allowedAt(client, targetOf(client, resources, terms))).toEqual(expected);
});

test("records of another realm do not count", () => {
  const elsewhere = { ...notes, realmId: "01900000-0000-7000-8000-0000000000ff" };
  expect(allowedAt(registered, targetOf(registered, [NOTES], [elsewhere]))).toEqual(registered.scopes);
});

test("an agent mode above the ceiling stays out of reach, whatever the resource", () => {
  const low = aClient({ scopes: ["agent:exec"], maxAgentMode: "readonly" });
  expect(allowedAt(low, targetOf(low, [NOTES], [notes]))).toEqual([]);
});

test("a request without scope gets all that the resource offers, and one for others nothing", () => {
  const target = targetOf(registered, [NOTES], [notes]);
  expect(requestableScopes(undefined, registered, target).granted).toEqual(["notes:read", "notes:write"]);
  expect(requestableScopes("notes:write crm:read", registered, target)).toEqual({ granted: ["notes:write"], dropped: ["crm:read"] });
  expect(refusalOf(() => requestableScopes("crm:read offline_access", registered, target))).toEqual(["invalid_scope", "no_scope_left"]);
});

test.for([
  ["without a record", [MAIL], [notes]],
  ["whose record has other scopes", [NOTES], [notes]],
  ["whose record is for other clients", [MAIL], [mail]],
] as const)("the refusal of scopes at a resource %s names the record", ([, resources, terms]) => {
  const description = "The client may have none of these scopes: no record of a requested resource offers them to it.";
  const refused = (client: typeof registered) => () => requestableScopes("mail:read", client, targetOf(client, resources, terms));
  expect(refused(registered)).toThrow(expect.objectContaining({ detail: { description } }));
  expect(refused({ ...named, scopes: ["openid"] })).toThrow(
    expect.objectContaining({ detail: { description: "The client may have none of these scopes." } }),
  );
});

test.for([
  ["one record offers and another keeps", "mail:read", [MAIL, NOTES], [mail, { ...notes, scopeNames: ["mail:read"] }]],
  ["no record may offer", "agent:exec", [NOTES], [notes]],
  ["is asked for a client", "mail:read", ["agent"], []],
] as const)("the refusal of a scope that %s names no record", ([, scope, resources, terms]) => {
  expect(() => requestableScopes(scope, registered, targetOf(registered, resources, terms))).toThrow(
    expect.objectContaining({ detail: { description: "The client may have none of these scopes." } }),
  );
});

test("a disabled resource is refused, and with REQUIRE_KNOWN_RESOURCES an unknown one, but not a client", () => {
  const ask = (resource: string, requireKnown: boolean, terms = [notes]) =>
    requestableResources([resource], "https://id.example.test", "never", { terms, clients: new Set(["agent"]), requireKnown });
  expect(ask(NOTES, true)).toEqual([NOTES]);
  expect(ask(MAIL, false)).toEqual([MAIL]);
  expect(ask("agent", true)).toEqual(["agent"]);
  expect(refusalOf(() => ask(MAIL, true))).toEqual(["invalid_target", "resource_unknown"]);
  expect(refusalOf(() => ask(NOTES, false, [{ ...notes, enabled: false }]))).toEqual(["invalid_target", "resource_disabled"]);
  for (const spelled of [
    NOTES.replace("notes.", "NOTES."),
    NOTES.replace("https", "HTTPS"),
    NOTES.replace("/mcp", ":443/mcp"),
    NOTES.replace("/mcp", "/x/../mcp"),
  ])
    expect(refusalOf(() => ask(spelled, false))).toEqual(["invalid_target", "resource_misspelled"]);
  expect(ask("https://MAIL.example.test/mcp", false)).toEqual(["https://MAIL.example.test/mcp"]);
});

test("a refreshed token has no scope that was taken from the record, and no disabled resource", () => {
  const grace = { seconds: 0, successor: hashSecret("next") };
  const refresh = (resourceTerms: readonly ResourceTerms[]) =>
    decideRefresh(
      aFamily({ audience: [NOTES, MAIL], scopes: ["openid", "notes:read", "notes:write"], resourceTerms }),
      { client: registered, params: refreshGrant() },
      grace,
    );
  expect(refresh([notes, mail])).toMatchObject({ scopes: ["openid", "notes:read", "notes:write"], audience: [NOTES, MAIL] });
  expect(refresh([{ ...notes, scopeNames: ["notes:read"] }, mail])).toMatchObject({ scopes: ["openid", "notes:read"] });
  expect(refresh([{ ...notes, enabled: false }, mail])).toMatchObject({ scopes: ["openid"], audience: [MAIL] });
  expect(refusalOf(() => refresh([notes, mail].map((terms) => ({ ...terms, enabled: false }))))).toEqual([
    "invalid_target",
    "audience_absent",
  ]);
});

describe("docs/protocol.md#step-up: a scope that demands a class by now needs a code or grant that states it", () => {
  const demanding = { ...notes, stepUps: { "notes:write": { acr: "urn:countersign:mfa", maxAge: 60 } } } as const;
  const both = ["notes:read", "notes:write"];
  const scopesOf = (decision: unknown) => decision as { readonly scopes?: unknown; readonly code?: { readonly scopes: unknown } };
  const refreshed = (resourceTerms: readonly ResourceTerms[], authentication: StatedAuthentication | null) => {
    const family = aFamily({ audience: [NOTES, MAIL], scopes: both, resourceTerms, authentication });
    const grace = { seconds: 0, successor: hashSecret("next") };
    return scopesOf(decideRefresh(family, { client: registered, params: refreshGrant() }, grace)).scopes;
  };
  const redeemed = (resourceTerms: readonly ResourceTerms[], authentication: StatedAuthentication | null) => {
    const code = aCode({ clientId: registered.clientId, resources: [NOTES, MAIL], scopes: both, resourceTerms, authentication });
    return scopesOf(decideCode(code, { client: registered, params: codeGrant() })).code?.scopes;
  };

  test.for([
    ["phr", both],
    ["urn:countersign:mfa", both],
    ["urn:countersign:pwd", ["notes:read"]],
    [undefined, ["notes:read"]],
  ] as const)("of the class %s: %o", ([acr, scopes]) => {
    const authentication = acr === undefined ? null : { acr, amr: [], requested: [], inIdToken: false };
    expect([refreshed([demanding], authentication), redeemed([demanding], authentication)]).toEqual([scopes, scopes]);
  });

  test("the demand of a disabled record, or of an age alone, is none", () => {
    const open = { ...mail, scopeNames: both, clients: ["registered"] } as const;
    const disabled = [{ ...demanding, enabled: false }, open];
    const aged = [{ ...demanding, stepUps: { "notes:write": { maxAge: 60 } } }];
    for (const terms of [disabled, aged]) expect([refreshed(terms, null), redeemed(terms, null)]).toEqual([both, both]);
  });
});
