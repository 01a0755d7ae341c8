import type { Wording } from "../accounts/account.ts";
import type { Client } from "../clients/client.ts";
import { isResourceUri, isScopeToken, sameResource } from "../protocol/access.ts";
import { type AuthenticationDemand, strictest } from "../protocol/authentication-context.ts";

/** Kinds of clients by who registered them: the client itself, its metadata document, or a developer or operator. */
export const CLIENT_KINDS = ["registered", "document", "named"] as const;
export type ClientKind = (typeof CLIENT_KINDS)[number];

/** Who made a record: an operator, the provisioning file, or the server, from the metadata of a resource on this machine. */
export const RESOURCE_ORIGINS = ["operator", "file", "discovered"] as const;
export type ResourceOrigin = (typeof RESOURCE_ORIGINS)[number];

/** A scope of a resource, with its words for users. */
export interface ResourceScope {
  readonly name: string;
  readonly title: Wording;
  readonly detail: Wording;
  /** The sign-in that a token with this scope needs; absent: any. */
  readonly stepUp?: AuthenticationDemand | undefined;
}

/** A protected resource (docs/protocol.md#resource-records). Times are seconds since the epoch, with their fraction. */
export interface ResourceRecord {
  readonly id: string;
  readonly realmId: string;
  /** As `resourceKey` writes it. */
  readonly resource: string;
  readonly name: string;
  /** In the order in which they are shown. */
  readonly scopes: readonly ResourceScope[];
  /** The kinds of clients that may request these scopes. */
  readonly clients: readonly ClientKind[];
  /** Seconds; null: the server's. The shorter of both applies. */
  readonly accessTokenLifetime: number | null;
  readonly enabled: boolean;
  readonly origin: ResourceOrigin;
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

/** The most scopes that a record may have. */
export const MAX_SCOPES = 100;
/** Characters of one of them. */
export const MAX_SCOPE_LENGTH = 200;

export const SETTING_MEMBERS = ["name", "scopes", "clients", "accessTokenLifetime", "enabled"] as const;
export type ResourceSettings = Pick<ResourceRecord, (typeof SETTING_MEMBERS)[number]>;

/** The settings of a new record. Pure. @param resource whose host, or else it itself, is the name */
export const defaultSettings = (resource: string): ResourceSettings => ({
  name: (URL.parse(resource)?.host || resource).slice(0, 255),
  scopes: [],
  clients: CLIENT_KINDS,
  accessTokenLifetime: null,
  enabled: true,
});

/** What the policies read of a record. */
export type ResourceTerms = Pick<ResourceRecord, "realmId" | "resource" | "clients" | "accessTokenLifetime" | "enabled"> & {
  readonly scopeNames: readonly string[];
  /** The demands of its scopes, by name. */
  readonly stepUps?: Readonly<Record<string, AuthenticationDemand>>;
};

/** The one spelling of a resource in records: a web URI without a path loses its root slash (RFC 3986 §6.2.3). */
export const resourceKey = (resource: string): string =>
  resource.endsWith("/") && sameResource(resource, resource.slice(0, -1)) ? resource.slice(0, -1) : resource;

/** Pure. */
export function clientKind({ origin }: Pick<Client, "origin">): ClientKind {
  if (origin === "dynamic") return "registered";
  return origin === "metadata_document" ? "document" : "named";
}

/** Scopes with a meaning of their own, which no resource defines. */
const RESERVED = /^(?:openid|profile|email|address|phone|offline_access|clients:manage|server:manage|agent:.*)$/;

/** Whether a record may define a scope: a scope token that the protocol and this server do not use for themselves. */
export const isResourceScope = (name: string): boolean => isScopeToken(name) && !RESERVED.test(name);

/** Whether a URI can have a record: one that an authorization request may name, and not this server itself. */
export const mayHaveRecord = (resource: string, issuer: string): boolean => isResourceUri(resource) && !sameResource(resource, issuer);

/** The terms of one of these resources, if it has a record. */
export const termsOf = (resource: string, terms: readonly ResourceTerms[]): ResourceTerms | undefined =>
  terms.find((each) => sameResource(each.resource, resource));

export const disabledAmong = (resources: readonly string[], terms: readonly ResourceTerms[]): readonly string[] =>
  terms.length === 0 ? [] : resources.filter((resource) => termsOf(resource, terms)?.enabled === false);

/** What the scopes at these resources demand of the sign-in. Pure. */
export function demandOf(scopes: readonly string[], terms: readonly ResourceTerms[]): AuthenticationDemand | undefined {
  const demands: AuthenticationDemand[] = [];
  for (const { stepUps = {} } of terms) for (const scope of scopes) if (Object.hasOwn(stepUps, scope)) demands.push(stepUps[scope] ?? {});
  return strictest(demands);
}

/** Seconds that an access token for an audience lasts: the least of the server's lifetime and those of the records. Pure. */
export function lifetimeAt(lifetime: number, audience: readonly string[], terms: readonly ResourceTerms[]): number {
  let least = lifetime;
  for (const { resource, accessTokenLifetime } of terms)
    if (accessTokenLifetime !== null && accessTokenLifetime < least && audience.some((each) => sameResource(each, resource)))
      least = accessTokenLifetime;
  return least;
}
