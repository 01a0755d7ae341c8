import type { Page, Part } from "../paging.ts";
import type { Report } from "../resources/report.ts";
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

/** Examines a resource as its clients see it, by guarded requests, within seconds. */
export type ResourceDoctor = (resource: string) => Promise<Report>;
