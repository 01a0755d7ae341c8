import type { Page, Part } from "../paging.ts";
import type { AuditRecord } from "./audit-ports.ts";

/** How often requests that named a resource were refused for a reason, within the last 24 hours. */
export interface RefusalCount {
  readonly reason: string;
  readonly count: number;
}

/** Refused token requests that named a resource with a record, of the last 90 days. */
export interface ResourceRefusals {
  /** Newest first. */
  list(realmId: string, resource: string, part: Part): Promise<Page<AuditRecord>>;
  /** Of the last 24 hours, the most frequent reason first; at most TOTAL_LIMIT refusals are counted. */
  reasons(realmId: string, resource: string): Promise<readonly RefusalCount[]>;
}

/** What `countersign doctor` reports of a URL. */
export interface ResourceReport {
  readonly url: string;
  readonly kind: "authorization-server" | "protected-resource" | "unknown";
  readonly verdict: "ok" | "warning" | "fault";
  readonly findings: readonly {
    readonly check: string;
    readonly verdict: "ok" | "warning" | "fault";
    readonly about: string;
    readonly found: string;
    /** What to do about it. */
    readonly change?: string;
  }[];
}

/** Examines a resource as its clients see it, by guarded requests, within seconds. */
export type ResourceDoctor = (resource: string) => Promise<ResourceReport>;
