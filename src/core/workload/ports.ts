import type { AuditEntry } from "../../audit.ts";
import type { WorkloadIdentity, WorkloadIssuer } from "../../clients/workload.ts";
import type { WorkloadKeys } from "../../clients/workload-keys.ts";

/** An identity that a token's subject matches, with the client that it stands for. */
export type MappedIdentity = Pick<WorkloadIdentity, "subject" | "claims"> & { readonly clientId: string };

/** A trusted platform, with the identities on it that a subject matches. */
export type KnownIssuer = WorkloadIssuer & { readonly identities: readonly MappedIdentity[] };

/** A workload in audit records. */
export type WorkloadName = Pick<AuditEntry, "workloadIssuer" | "workloadSubject">;

export interface WorkloadPorts {
  /** The trusted ones of these issuers. Coalesced, and never cached. */
  find(issuers: readonly string[], subject: string): Promise<readonly KnownIssuer[]>;
  /** Whether an operator trusts any platform. */
  configured(): Promise<boolean>;
  readonly keys: WorkloadKeys;
  /** Records a refused workload; not each of a flood. */
  recordRefusal(entry: AuditEntry): Promise<void>;
}
