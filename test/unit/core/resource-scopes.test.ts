import { expect, test } from "vitest";
import { decideRefresh } from "../../../src/core/grants/refresh-token/rules.ts";
import { allowedAt, requestableResources, requestableScopes, targetOf } from "../../../src/core/policy/access.ts";
import { hashSecret } from "../../../src/random.ts";
import type { ResourceTerms } from "../../../src/resources/resource.ts";
import { aClient, aFamily, refreshGrant, refusalOf, someTerms } from "../../support/builders.ts";

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

test("a disabled resource is refused, and with REQUIRE_KNOWN_RESOURCES an unknown one, but not a client", async () => {
  const ask = (resource: string, requireKnown: boolean, terms = [notes]) =>
    requestableResources([resource], "https://id.example.test", "never", async (clientId) => clientId === "agent", { terms, requireKnown });
  await expect(ask(NOTES, true)).resolves.toEqual([NOTES]);
  await expect(ask(MAIL, false)).resolves.toEqual([MAIL]);
  await expect(ask("agent", true)).resolves.toEqual(["agent"]);
  await expect(ask(MAIL, true)).rejects.toMatchObject({ code: "invalid_target", reason: "resource_unknown" });
  await expect(ask(NOTES, false, [{ ...notes, enabled: false }])).rejects.toMatchObject({ reason: "resource_disabled" });
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

test("docs/protocol.md#step-up: a refreshed token has a scope that demands a class only if the sign-in of the grant had it", () => {
  const terms = [{ ...notes, stepUps: { "notes:write": { acr: "urn:countersign:mfa" } } }] as const;
  const scopesAfter = (acr?: string) => {
    const authentication = acr === undefined ? null : { acr, amr: [], requested: [], inIdToken: false };
    const family = aFamily({ audience: [NOTES], scopes: ["notes:read", "notes:write"], resourceTerms: terms, authentication });
    const grace = { seconds: 0, successor: hashSecret("next") };
    return (decideRefresh(family, { client: registered, params: refreshGrant() }, grace) as { readonly scopes?: unknown }).scopes;
  };
  const both = ["notes:read", "notes:write"];
  expect(["phr", "urn:countersign:mfa", "urn:countersign:pwd", undefined].map(scopesAfter)).toEqual([
    both,
    both,
    ["notes:read"],
    ["notes:read"],
  ]);
});
