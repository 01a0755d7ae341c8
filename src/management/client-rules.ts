import type { Client } from "../clients/client.ts";
import { MANAGE_CLIENTS } from "../clients/client.ts";
import {
  type ClientSettings,
  type Incoherence,
  impliedResponseTypes,
  incoherences,
  uselessGrants,
  usesSecret,
} from "../clients/coherence.ts";
import type { ClientChange } from "../clients/ports.ts";
import { Refusal } from "../errors.ts";
import type { GrantType } from "../protocol/grants.ts";
import { SELF_SERVICE_GRANT_TYPES } from "../protocol/grants.ts";
import type { ClientPatch, OperatorClientPatch } from "./inputs.ts";

/** @throws {Refusal} invalid_request, naming every member that is at fault */
function assertCoherent(settings: ClientSettings): void {
  assertNone(incoherences(settings));
}

/** @throws {Refusal} invalid_request for a client that would hold a grant which it could never use */
export function assertUsable(settings: Pick<ClientSettings, "grantTypes" | "tokenEndpointAuthMethod">): void {
  assertNone(uselessGrants(settings));
}

function assertNone(issues: readonly Incoherence[]): void {
  if (issues.length > 0)
    throw new Refusal("invalid_request", "client_incoherent", { description: "The client would contradict itself.", issues });
}

/** @throws {Refusal} forbidden when the scopes hold what they did not hold before and a developer cannot give */
export function assertSelfServiceScopes(scopes: readonly string[], before: readonly string[]): void {
  if (scopes.includes(MANAGE_CLIENTS) && !before.includes(MANAGE_CLIENTS)) {
    throw new Refusal("forbidden", "scope_is_the_operators", { description: `The scope ${MANAGE_CLIENTS} is given by an operator.` });
  }
}

const isSelfService = (grant: GrantType): boolean => SELF_SERVICE_GRANT_TYPES.some((known) => known === grant);

/**
 * What a developer's patch makes of a client. Grants that an operator gave stay: they are not the developer's to take or to give. Pure.
 * @throws {Refusal} invalid_request, forbidden
 */
export function developerChange(client: Client, patch: ClientPatch): ClientChange {
  if (patch.scopes !== undefined) assertSelfServiceScopes(patch.scopes, client.scopes);
  const given = client.grantTypes.filter((grant) => !isSelfService(grant));
  return operatorChange(client, { ...patch, ...(patch.grantTypes && { grantTypes: [...patch.grantTypes, ...given] }) });
}

/**
 * What an operator's patch makes of a client: mergedChange, and none that makes it hold a grant which it could never use. Pure.
 * @throws {Refusal} invalid_request, forbidden
 */
export function operatorChange(client: Client, patch: OperatorClientPatch): ClientChange {
  const change = mergedChange(client, patch);
  if (uselessGrants(client).length === 0) assertUsable(change.settings);
  return change;
}

/**
 * What members make of a client, judged on the record as a whole. Response types that are not named follow the grants. Pure.
 * @throws {Refusal} invalid_request, forbidden
 */
export function mergedChange(client: Client, patch: OperatorClientPatch): ClientChange {
  if (client.origin === "built_in")
    throw new Refusal("forbidden", "client_is_built_in", { description: "A built-in client cannot be changed." });
  const { requirePkce: _, ...members } = patch;
  const implied = patch.grantTypes === undefined ? client.responseTypes : impliedResponseTypes(patch.grantTypes);
  const settings: ClientSettings = { ...settingsOf(client), responseTypes: implied, ...present(members) };
  assertCoherent(settings);
  return { settings, secret: usesSecret(settings.tokenEndpointAuthMethod) ? "kept" : "dropped" };
}

/** What is said of a new client: the members that must be there, and those that may. */
export type Said = Pick<ClientSettings, "name" | "grantTypes" | "tokenEndpointAuthMethod"> & {
  [Member in keyof ClientSettings]?: ClientSettings[Member] | undefined;
};

/**
 * A new client with what is said of it, the rest at its safest. Pure.
 * @throws {Refusal} invalid_request
 */
export function newSettings(said: Said): ClientSettings {
  const settings: ClientSettings = {
    ownerId: said.ownerId ?? null,
    name: said.name,
    description: said.description ?? null,
    redirectUris: said.redirectUris ?? [],
    postLogoutRedirectUris: said.postLogoutRedirectUris ?? [],
    scopes: said.scopes ?? [],
    grantTypes: said.grantTypes,
    responseTypes: said.responseTypes ?? impliedResponseTypes(said.grantTypes),
    tokenEndpointAuthMethod: said.tokenEndpointAuthMethod,
    enabled: said.enabled ?? true,
    environment: said.environment ?? null,
    isAgent: said.isAgent ?? false,
    maxAgentMode: said.maxAgentMode ?? null,
    audience: said.audience ?? null,
    jwks: said.jwks ?? null,
    jwksUri: said.jwksUri ?? null,
  };
  assertCoherent(settings);
  return settings;
}

/** The members that were sent. */
const present = <Members extends object>(members: Members) =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as {
    [Name in keyof Members]: Exclude<Members[Name], undefined>;
  };

const settingsOf = (client: Client): ClientSettings => ({
  ownerId: client.ownerId,
  name: client.name,
  description: client.description,
  redirectUris: client.redirectUris,
  postLogoutRedirectUris: client.postLogoutRedirectUris,
  scopes: client.scopes,
  grantTypes: client.grantTypes,
  responseTypes: client.responseTypes,
  tokenEndpointAuthMethod: client.tokenEndpointAuthMethod,
  enabled: client.enabled,
  environment: client.environment,
  isAgent: client.isAgent,
  maxAgentMode: client.maxAgentMode,
  audience: client.audience,
  jwks: client.jwks,
  jwksUri: client.jwksUri,
});
