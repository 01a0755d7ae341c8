import type { AuditEntry } from "../audit.ts";
import type { Page, Part } from "../paging.ts";
import type { WorkloadIdentity, WorkloadIssuer, WorkloadTrust } from "./workload.ts";

/** An identity as it is stored, with the client that it stands for. Times are seconds since the epoch. */
export interface StoredIdentity extends WorkloadIdentity {
  readonly id: string;
  readonly clientId: string;
  readonly createdAt: number;
}

export const WORKLOAD_ISSUER_SORTS = ["issuer", "created"] as const;
export type WorkloadIssuerSort = (typeof WORKLOAD_ISSUER_SORTS)[number];

export const IDENTITY_SORTS = ["subject", "created"] as const;
export type IdentitySort = (typeof IDENTITY_SORTS)[number];

export interface WorkloadIssuerFilter {
  readonly kind?: WorkloadIssuer["kind"] | undefined;
  /** A part of the issuer, without regard to case; or an id. */
  readonly search?: string | undefined;
}

export interface IdentityFilter {
  readonly issuer?: string | undefined;
  readonly clientId?: string | undefined;
  /** A part of the subject, without regard to case; or an id. */
  readonly search?: string | undefined;
}

/** Platforms and identities as operators manage them. Every write includes its audit record. */
export interface ManagedWorkloads {
  /** By issuer, unless sorted otherwise. */
  issuers(filter: WorkloadIssuerFilter, part: Part<WorkloadIssuerSort>): Promise<Page<WorkloadIssuer>>;
  issuer(issuer: string): Promise<WorkloadIssuer | undefined>;
  /** @returns undefined for an issuer that is known already */
  add(trust: WorkloadTrust, audit: AuditEntry): Promise<WorkloadIssuer | undefined>;
  /** Changes a platform. The record is locked while `decide` runs, which may throw a refusal. @returns undefined for an unknown one */
  change(issuer: string, decide: (current: WorkloadIssuer) => WorkloadTrust, audit: AuditEntry): Promise<WorkloadIssuer | undefined>;
  /** Removes a platform with all identities on it. @returns whether it existed */
  remove(issuer: string, audit: AuditEntry): Promise<boolean>;
  /** By subject, unless sorted otherwise. */
  identities(filter: IdentityFilter, part: Part<IdentitySort>): Promise<Page<StoredIdentity>>;
  /**
   * Lets an identity stand for a client.
   * @throws {Refusal} invalid_request, not_found, conflict for an identity that stands for another client
   */
  assign(clientId: string, identity: WorkloadIdentity, audit: AuditEntry): Promise<StoredIdentity>;
  /** @returns whether it existed */
  unassign(id: string, audit: AuditEntry): Promise<boolean>;
}
