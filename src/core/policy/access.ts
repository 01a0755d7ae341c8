import { AGENT_MODES, type Client, isOwnProgram, MANAGE_CLIENTS, PERSONAL_SCOPES } from "../../clients/client.ts";
import { Refusal } from "../../errors.ts";
import { isAbsoluteUri, isResourceUri, MAX_RESOURCES, parsedSpelling, parseScope, sameResource } from "../../protocol/access.ts";
import { isAsStrong, PASSWORD_ACR } from "../../protocol/authentication-context.ts";
import { clientKind, demandOf, disabledAmong, isResourceScope, type ResourceTerms, termsOf } from "../../resources/resource.ts";
import type { RuleHead } from "./rule.ts";

/** All scopes of a client's allowlist, without the agent modes above its ceiling. */
export const allowedScopes = (client: Client): readonly string[] => without(client.scopes, modesAbove(client));

/** The resources that a token is requested for, and the terms of those that have a record in the client's realm. */
export interface Target {
  readonly resources: readonly string[];
  readonly terms: readonly ResourceTerms[];
}

const NO_RESOURCE: Target = { resources: [], terms: [] };

/** Of the terms that are stored with a grant, which are those of all realms, a client is bound by those of its own. */
export const targetOf = (client: Client, resources: readonly string[], terms: readonly ResourceTerms[]): Target => ({
  resources,
  terms: terms.filter(({ realmId }) => realmId === client.realmId),
});

/**
 * All scopes that a client may have at these resources. Records offer their scopes to kinds of clients: to those that developers and
 * operators name only within the client's allowlist. Where every resource has a record, the allowlist alone gives only protocol scopes and
 * agent modes; where one has none, or none is named, it gives all that it holds. What one of the records keeps from this kind of client is
 * left out whatever gives it: the token is for that resource too. Pure.
 * @see docs/protocol.md#resource-records
 */
export function allowedAt(client: Client, target: Target): readonly string[] {
  const own = allowedScopes(client);
  const unrecorded = target.resources.filter((resource) => termsOf(resource, target.terms) === undefined);
  if (unrecorded.length === target.resources.length) return own;
  const offered = recordedScopes(client, target, "offered");
  const kept = unrecorded.length > 0 ? own : own.filter((name) => !isResourceScope(name));
  const given = [...kept, ...(clientKind(client) === "named" ? offered.filter((name) => own.includes(name)) : offered)];
  return without([...new Set(given)], recordedScopes(client, target, "withheld"));
}

/** The scopes that the records of these resources offer to a kind of clients, or keep from it. A disabled resource is in no token. */
const recordedScopes = (client: Client, { resources, terms }: Target, as: "offered" | "withheld"): readonly string[] =>
  resources.flatMap((resource) => {
    const { enabled = false, clients = [], scopeNames = [] } = termsOf(resource, terms) ?? {};
    return enabled && clients.includes(clientKind(client)) === (as === "offered") ? scopeNames : [];
  });

export const SCOPE_ALLOWED: RuleHead = {
  name: "scope_allowed",
  demand:
    "Of the scope something is left that the client's allowlist and ceiling and the requested resources let it have, more than offline_access alone; the rest is dropped.",
  source: "docs/protocol.md#scopes, docs/protocol.md#resource-records, RFC 6749 §3.3",
};

/** Requested scopes that the client may not have. Pure. */
export function droppedScopes(scope: string | undefined, client: Client, target: Target = NO_RESOURCE): readonly string[] {
  const allowed = allowedAt(client, target);
  return parseScope(scope).filter((name) => !allowed.includes(name));
}

/**
 * The requested scopes that the client may have; without `scope` all that it may have except `openid` and `offline_access`.
 * @throws {Refusal} invalid_scope when nothing is left, or `offline_access` alone
 * @see docs/protocol.md#scopes, RFC 6749 §3.3
 */
export function requestableScopes(scope: string | undefined, client: Client, target: Target = NO_RESOURCE) {
  const allowed = allowedAt(client, target);
  const requested = parseScope(scope);
  const granted: readonly string[] =
    requested.length === 0 ? allowed.filter((name) => !PERSONAL_SCOPES.has(name)) : requested.filter((name) => allowed.includes(name));
  if (granted.every((name) => name === "offline_access")) {
    const offered = recordedScopes(client, target, "offered");
    const missesRecord =
      clientKind(client) !== "named" &&
      target.resources.some(isAbsoluteUri) &&
      requested.some(isResourceScope) &&
      !requested.some((name) => offered.includes(name));
    throw new Refusal("invalid_scope", "no_scope_left", {
      description:
        requested.length === 0
          ? "The client may have no scope."
          : granted.length === 0
            ? `The client may have none of these scopes${missesRecord ? ": no record of a requested resource offers them to it" : ""}.`
            : "Of these scopes the client may have offline_access alone, which permits nothing by itself.",
    });
  }
  return { granted, dropped: requested.filter((name) => !allowed.includes(name)) };
}

/**
 * What a client may still have of the scopes that it was granted.
 * @param signIn what is stated of the sign-in: without a class a scope that demands one by now is left out
 * @throws {Refusal} invalid_scope when nothing is left  @see docs/protocol.md#step-up
 */
export function remainingScopes(
  granted: readonly string[],
  client: Client,
  target: Target,
  signIn: { readonly acr: string } | null | undefined,
): readonly string[] {
  const allowed = allowedAt(client, target);
  const terms = target.terms.filter(({ enabled }) => enabled);
  const isReached = (scope: string) => isAsStrong(signIn?.acr ?? PASSWORD_ACR, demandOf([scope], terms)?.acr ?? PASSWORD_ACR);
  const left = granted.filter((scope) => allowed.includes(scope) && isReached(scope));
  if (left.length > 0) return left;
  throw new Refusal("invalid_scope", "no_scope_left", { description: "The client may have none of what was granted." });
}

/** Narrows the granted scopes to the requested ones, if any. @throws {Refusal} invalid_scope for others  @see RFC 6749 §6 */
export function narrowScope(scope: string | undefined, granted: readonly string[]): readonly string[] {
  const requested = parseScope(scope);
  if (requested.length === 0) return granted;
  if (!requested.every((name) => granted.includes(name)))
    throw new Refusal("invalid_scope", "scope_wider_than_granted", { description: "A scope is not among those that were granted." });
  return requested;
}

/**
 * The scopes of an exchanged token: those requested, or else all of the subject token's that the agent may have at the target.
 * @throws {Refusal} invalid_scope for a scope outside of the subject token, the agent's ceiling or its allowlist
 * @see docs/protocol.md#token-exchange-rules, docs/protocol.md#agents, RFC 8693 §2.1
 */
export function exchangedScopes(
  scope: string | undefined,
  subjectScopes: readonly string[],
  agent: Client,
  target: Target = NO_RESOURCE,
): readonly string[] {
  const requested = parseScope(scope);
  const allowed = without(allowedScopes(agent), recordedScopes(agent, target, "withheld"));
  if (requested.length === 0) return subjectScopes.filter((name) => allowed.includes(name));
  if (!requested.every((name) => subjectScopes.includes(name)))
    throw new Refusal("invalid_scope", "scope_wider_than_subject", { description: "A scope is not among those of the subject_token." });
  if (modesAbove(agent).some((mode) => requested.includes(mode)))
    throw new Refusal("invalid_scope", "agent_mode_above_ceiling", { description: "An agent mode is above the ceiling of this client." });
  if (!requested.every((name) => allowed.includes(name)))
    throw new Refusal("invalid_scope", "scope_not_allowed", { description: "The agent may not have one of these scopes." });
  return requested;
}

/** The scopes of the agent modes, the lowest first. */
export const AGENT_SCOPES: readonly string[] = AGENT_MODES.map((mode) => `agent:${mode}`);

/**
 * The agent modes that a client may not have: each is a scope of its own, and `maxAgentMode` is the highest that the client may have.
 * @see docs/protocol.md#agents
 */
const modesAbove = ({ maxAgentMode }: Client): readonly string[] =>
  maxAgentMode === null ? AGENT_SCOPES : AGENT_SCOPES.slice(AGENT_MODES.indexOf(maxAgentMode) + 1);

const DESCRIPTIONS = {
  too_many_resources: `At most ${MAX_RESOURCES} resources can be named.`,
  resource_not_allowed:
    "A resource must be an absolute URI without fragment (of http URIs those of loopback hosts only), or the client_id of a client that exists; this service itself is one for clients only that may manage clients.",
  resource_outside_grant: "A resource lies outside of those that the grant is bound to.",
  resource_malformed: "A resource must be an absolute URI without fragment, or the client_id of a client that exists.",
  resource_outside_audience: "A resource lies outside of the client's audience.",
  resource_outside_subject: "A resource or audience lies outside of the audience of the subject_token.",
  resource_disabled: "A resource is disabled here.",
  resource_misspelled:
    "A resource is spelled otherwise here: as URI parsers write it, with its host in lower case, without default port and dot segments.",
  resource_unknown: "A resource is not known here; an operator can add it.",
  audience_absent: "None of the clients and resources that the token would be for exists and is enabled.",
} as const;

const refuse = (reason: keyof typeof DESCRIPTIONS): never => {
  throw new Refusal("invalid_target", reason, { description: DESCRIPTIONS[reason] });
};

const without = (values: readonly string[], excluded: readonly string[]): readonly string[] =>
  values.filter((value) => !excluded.includes(value));

/** Whether a client may ask for a token for this service itself: the command line and the console may ask for no other one. */
export type ServiceReach = "never" | "also" | "only";

export const serviceReach = (clientId: string, scopes: readonly string[]): ServiceReach => {
  if (isOwnProgram(clientId)) return "only";
  return scopes.includes(MANAGE_CLIENTS) ? "also" : "never";
};

interface KnownTargets {
  readonly terms: readonly ResourceTerms[];
  readonly clients: Pick<ReadonlySet<string>, "has">;
  readonly requireKnown: boolean;
}

/** Each of the requested resources once, and this server in one spelling. Pure. */
export const distinctResources = (resources: readonly string[], issuer: string): readonly string[] => [
  ...new Set(resources.map((resource) => (sameResource(resource, issuer) ? issuer : resource))),
];

/**
 * The resources of an authorization request: absolute URIs, or client_ids of existing clients, to which a token can be delegated. This
 * service is named by its issuer, however the request spells it. Pure.
 * @param terms those of the resources, as the request and as parsers spell them
 * @param clients those that the request names
 * @param requireKnown REQUIRE_KNOWN_RESOURCES: a URI must have a record
 * @throws {Refusal} invalid_target
 * @see RFC 8707 §2, docs/protocol.md#resources
 */
export function requestableResources(
  resources: readonly string[],
  issuer: string,
  service: ServiceReach,
  { terms, clients, requireKnown }: KnownTargets,
): readonly string[] {
  const requested = distinctResources(resources, issuer);
  if (requested.length > MAX_RESOURCES) refuse("too_many_resources");
  if (disabledAmong(requested, terms).length > 0) refuse("resource_disabled");
  for (const resource of requested) {
    const isUri = resource !== issuer && isResourceUri(resource);
    const isAllowed = resource === issuer ? service !== "never" : service !== "only" && (isUri || clients.has(resource));
    if (!isAllowed) refuse("resource_not_allowed");
    if (!isUri || termsOf(resource, terms) !== undefined) continue;
    // Resource servers that compare parsed URIs would take the token, and what the record says would not have counted.
    if (termsOf(parsedSpelling(resource), terms) !== undefined) refuse("resource_misspelled");
    if (requireKnown && !clients.has(resource)) refuse("resource_unknown");
  }
  return requested;
}

/** Whether a value of an audience may name a client: a client_id can be a URN, and no web URI, which is a resource. Pure. */
export const mayNameClient = (value: string): boolean => !/^https?:/i.test(value);

/** The spelling of a resource in a bound list, where a root path makes no difference; undefined if it is not in the list. */
export const boundForm = (resource: string, bound: readonly string[]): string | undefined =>
  bound.includes(resource) ? resource : bound.find((each) => sameResource(each, resource));

/** The requested part of a bound list in its spelling, or all of it. @throws {Refusal} invalid_target */
export function within(bound: readonly string[], requested: readonly string[], otherwise: keyof typeof DESCRIPTIONS): readonly string[] {
  if (requested.length === 0) return bound;
  return [...new Set(requested.map((resource) => boundForm(resource, bound) ?? refuse(otherwise)))];
}

/** Drops what is disabled or deleted from an audience. @throws {Refusal} invalid_target when nothing is left */
function present(audience: readonly string[], isAbsent: (value: string) => boolean): readonly string[] {
  const left = audience.filter((value) => !isAbsent(value));
  if (left.length === 0 && audience.length > 0) refuse("audience_absent");
  return left;
}

/**
 * Narrows the bound audience to the requested resources, if there are any, and drops clients and resources that are disabled or deleted.
 * @param absent those clients and resources, as far as the bound audience names them
 * @throws {Refusal} invalid_target for a resource outside of the audience, or when nothing is left
 * @see RFC 8707 §2.2
 */
export const narrowResource = (resources: readonly string[], bound: readonly string[], absent: readonly string[] = []): readonly string[] =>
  present(within(bound, resources, "resource_outside_grant"), (value) => absent.includes(value));

/**
 * The audience of an exchanged token: what the request names, or all of the subject token's audience, without disabled or deleted clients.
 * Each requested value must be in the subject token's audience.
 * @param requested the values of `resource` and `audience` together
 * @param clients the existing clients that either names, and disabled resources
 * @throws {Refusal} invalid_target
 * @see RFC 8693 §2.1, RFC 8707 §2, docs/protocol.md#token-exchange-rules
 */
export function exchangedAudience(
  requested: readonly string[],
  subjectAudience: readonly string[],
  clients: ReadonlyMap<string, Pick<Client, "enabled">>,
): readonly string[] {
  const named = [...new Set(requested)];
  if (named.length > MAX_RESOURCES) refuse("too_many_resources");
  if (!named.every((value) => isAbsoluteUri(value) || clients.has(value))) refuse("resource_malformed");
  const audience = within(subjectAudience, named, "resource_outside_subject");
  return present(audience, (value) => !(clients.get(value)?.enabled ?? isAbsoluteUri(value)));
}
