import type { AuditEntry } from "../audit.ts";
import type { SignedCheckpoint } from "../audit-chain/checkpoint.ts";
import type { Link, SealedRecord } from "../audit-chain/link.ts";
import type { Page } from "../clients/ports.ts";

/** `at`: seconds since the epoch, with their fraction. `link`: null until the record is sealed, within a second. */
export type AuditRecord = AuditEntry & { readonly id: string; readonly at: number; readonly link: Link | null };

type FilteredMember = "event" | "outcome" | "reason" | "userId" | "clientId" | "grantId" | "jti" | "requestId";

export interface AuditFilter extends Readonly<{ [Member in FilteredMember]?: AuditEntry[Member] | undefined }> {
  readonly actorId?: string | undefined;
  /** Seconds since the epoch; `since` is inclusive, `until` exclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export interface AuditChainState {
  /** Null before the first record is sealed. */
  readonly head: Link | null;
  /** Records that wait to be sealed. */
  readonly waiting: number;
  /** The last signed record, and when it was signed, in seconds since the epoch. */
  readonly signed: { readonly seq: number; readonly at: number } | null;
}

/** A part of the chain, with its checkpoints. */
export interface AuditChainPart {
  /** The link before the first record; undefined when the chain is shorter. */
  readonly start: Link | undefined;
  readonly records: readonly (Link & { readonly record: SealedRecord })[];
  readonly checkpoints: readonly SignedCheckpoint[];
}

export interface AuditTrail {
  /** Newest first. @param after id of the last record of the page before */
  list(filter: AuditFilter, limit: number, after?: string): Promise<Page<AuditRecord>>;
  /** Sealed records in the order of the chain. @param after a number in it @returns also `reached`, the next call's `after` */
  follow(filter: AuditFilter, limit: number, after: number): Promise<{ readonly items: readonly AuditRecord[]; readonly reached: number }>;
  chain(): Promise<AuditChainState>;
  /** @param after a number in the chain, 0 for its start */
  part(limit: number, after: number): Promise<AuditChainPart>;
}
