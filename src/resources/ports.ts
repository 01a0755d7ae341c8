import type { ManagedRecords } from "../clients/ports.ts";
import type { Filter } from "../paging.ts";
import type { ClientKind, ResourceRecord, ResourceSettings, ResourceTerms } from "./resource.ts";

/** Finds the records of requested resources. Concurrent look-ups share one query; nothing is cached. */
export interface ResourceDirectory {
  /** The records of a realm among these resources; others are left out. */
  of(realmId: string, resources: readonly string[]): Promise<readonly ResourceTerms[]>;
}

/** The scopes of a realm's enabled resources. */
export interface OfferedScopes {
  /** Without repeats, by name. @param kind of clients that may request them; default: any */
  offered(realmId: string, kind?: ClientKind): Promise<readonly string[]>;
}

/** What users see of a resource: its name, and the words of its scopes. */
export type ShownRecord = Pick<ResourceRecord, "resource" | "name" | "scopes">;

export interface ShownResources {
  /**
   * What the records of a user's realm say about these resources, in the spelling that is asked for; and of resources and scopes of which they
   * say nothing, those of the default realm, in which the clients are.
   */
  shown(realmId: string, resources: readonly string[]): Promise<readonly ShownRecord[]>;
}

/** A record as it is first stored; the store sets id and times. */
export type NewResource = Omit<ResourceRecord, "id" | "createdAt" | "updatedAt">;

/** Stores a record with its audit record, unless the resource has one already, or the realm does not exist. */
export type ResourceRegistry = Pick<ManagedResources, "add">;

export const RESOURCE_SORTS = ["resource", "name", "created"] as const;
export type ResourceSort = (typeof RESOURCE_SORTS)[number];

/** Records as operators manage them, in any spelling of their URI. Searched are URI and name. */
export type ManagedResources = ManagedRecords<
  "realmId" | "resource",
  ResourceRecord,
  NewResource,
  ResourceSettings,
  Pick<ResourceRecord, "realmId"> & Filter<ResourceRecord, "enabled" | "origin">,
  ResourceSort
>;

/** The result of one check. A fault must be fixed; a warning may be intended. */
export interface Finding {
  /** Stable name of the check, for programs that read `--json`. */
  readonly check: string;
  readonly verdict: "ok" | "warning" | "fault";
  /** What the check is about: the URL of a resource or an authorization server, or "MCP hosts", or "database". */
  readonly about: string;
  readonly found: string;
  /** What to do about it; absent for `ok`. */
  readonly change?: string;
}

/** All that `countersign doctor` reports, which is also its JSON document. */
export interface Report {
  readonly url: string;
  readonly kind: "authorization-server" | "protected-resource" | "unknown";
  readonly verdict: Finding["verdict"];
  readonly findings: readonly Finding[];
}
