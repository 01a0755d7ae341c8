import type { AuditEntry } from "../audit.ts";
import type { SignedCheckpoint } from "../audit-chain/checkpoint.ts";
import type { Link, SealedRecord } from "../audit-chain/link.ts";
import type { Page } from "../clients/ports.ts";

/** A record of the audit log. `at` in seconds since the epoch, with their fraction. */
export interface AuditRecord extends AuditEntry {
  readonly id: string;
  readonly at: number;
  /** Its link in the chain; null until it is sealed, within a second. */
  readonly link: Link | null;
}

type FilteredMember = "event" | "outcome" | "reason" | "userId" | "clientId" | "grantId" | "jti" | "requestId";

export interface AuditFilter extends Readonly<{ [Member in FilteredMember]?: AuditEntry[Member] | undefined }> {
  readonly actorId?: string | undefined;
  /** Seconds since the epoch; `since` is included, `until` is not. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

/** The head of the chain, and how far it is signed. */
export interface AuditChainState {
  /** The last sealed record; null before the first. */
  readonly head: Link | null;
  /** Records that wait to be sealed. */
  readonly waiting: number;
  /** The last signed record, and when it was signed, in seconds since the epoch. */
  readonly signed: { readonly seq: number; readonly at: number } | null;
}

/** A part of the chain as it was sealed, with its checkpoints. */
export interface AuditChainPart {
  /** The link before the first record. Undefined when there is no such record. */
  readonly start: Link | undefined;
  readonly records: readonly (Link & { readonly record: SealedRecord })[];
  readonly checkpoints: readonly SignedCheckpoint[];
}

export interface AuditTrail {
  /** Newest first. @param after the id of the last record of the page before */
  list(filter: AuditFilter, limit: number, after?: string): Promise<Page<AuditRecord>>;
  /** Sealed records in the order of the chain. @param after a number in it @returns also `reached`, from which the next call continues */
  follow(filter: AuditFilter, limit: number, after: number): Promise<{ readonly items: readonly AuditRecord[]; readonly reached: number }>;
  chain(): Promise<AuditChainState>;
  /** Records and checkpoints as they were sealed. @param after a number in the chain, 0 for its beginning */
  part(limit: number, after: number): Promise<AuditChainPart>;
}
