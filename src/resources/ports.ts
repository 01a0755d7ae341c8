import type { AuditEntry } from "../audit.ts";
import type { Page, Part } from "../paging.ts";
import type { ClientKind, ResourceOrigin, ResourceRecord, ResourceSettings, ResourceTerms } from "./resource.ts";

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
  /** What the records of a realm say about these resources, in the spelling that is asked for. */
  shown(realmId: string, resources: readonly string[]): Promise<readonly ShownRecord[]>;
}

/** A record as it is first stored; the store sets id and times. */
export type NewResource = Omit<ResourceRecord, "id" | "createdAt" | "updatedAt">;

export interface ResourceRegistry {
  /** Stores a record with its audit record. @returns undefined when the resource has one already, or the realm does not exist */
  add(resource: NewResource, audit: AuditEntry): Promise<ResourceRecord | undefined>;
}

export const RESOURCE_SORTS = ["resource", "name", "created"] as const;
export type ResourceSort = (typeof RESOURCE_SORTS)[number];

export interface ResourceFilter {
  readonly realmId: string;
  readonly enabled?: boolean | undefined;
  readonly origin?: ResourceOrigin | undefined;
  /** A part of the URI or the name, without regard to case; or an id. */
  readonly search?: string | undefined;
}

/** Records as operators manage them, named by realm and resource. Every write includes its audit record. */
export interface ManagedResources extends ResourceRegistry {
  /** By resource, unless sorted otherwise. */
  list(filter: ResourceFilter, part: Part<ResourceSort>): Promise<Page<ResourceRecord>>;
  one(realmId: string, resource: string): Promise<ResourceRecord | undefined>;
  /** Changes a record, which is locked while `decide` runs. @returns undefined for an unknown one */
  change(
    realmId: string,
    resource: string,
    decide: (record: ResourceRecord) => ResourceSettings,
    audit: AuditEntry,
  ): Promise<ResourceRecord | undefined>;
  /** @returns whether there was one */
  remove(realmId: string, resource: string, audit: AuditEntry): Promise<boolean>;
}

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
