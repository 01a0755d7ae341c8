import type { AuditEntry } from "../audit.ts";
import type { Link, SealedRecord, SignedCheckpoint } from "../audit-chain/chain.ts";
import type { Page, Part } from "../paging.ts";

/** `at`: seconds since the epoch, with their fraction. `link`: null until the record is sealed, within a second. */
export type AuditRecord = AuditEntry & { readonly id: string; readonly at: number; readonly link: Link | null };

type FilteredMember = "event" | "outcome" | "reason" | "userId" | "clientId" | "grantId" | "jti" | "requestId";

export interface AuditFilter extends Readonly<{ [Member in FilteredMember]?: AuditEntry[Member] | undefined }> {
  readonly actorId?: string | undefined;
  /** The exact value of any identifier of a record: of the actor, user, client, grant, token or request. */
  readonly search?: string | undefined;
  /** Seconds since the epoch; `since` is inclusive, `until` exclusive. */
  readonly since?: number | undefined;
  readonly until?: number | undefined;
}

export interface AuditChainState {
  /** The number after which the trail begins: 0, or the last record of the last archive. */
  readonly start: number;
  /** Null before the first record is sealed. */
  readonly head: Link | null;
  /** Records that wait to be sealed. */
  readonly waiting: number;
  /** The last signed record, and when it was signed, in seconds since the epoch. */
  readonly signed: { readonly seq: number; readonly at: number } | null;
}

export interface AuditChainPart {
  /** The link before the first record; undefined when the chain is shorter. */
  readonly start: Link | undefined;
  readonly records: readonly (Link & { readonly record: SealedRecord })[];
  readonly checkpoints: readonly SignedCheckpoint[];
}

/** A sealed record, and the user who owns the client that it names. */
export type LiveRecord = AuditRecord & { readonly link: Link; readonly ownerId: string | null };

export interface AuditTrail {
  /** Newest first, unless sorted otherwise. */
  list(filter: AuditFilter, part: Part<"created">): Promise<Page<AuditRecord>>;
  /** Sealed records in the order of the chain. @param after a number in it @returns also `reached`, the next call's `after` */
  follow(filter: AuditFilter, limit: number, after: number): Promise<{ readonly items: readonly AuditRecord[]; readonly reached: number }>;
  /** Sealed records in the order of the chain, in one statement. @param after a number in it; undefined: the newest records */
  live(after: number | undefined, limit: number): Promise<readonly LiveRecord[]>;
  chain(): Promise<AuditChainState>;
  /** @param after a number in the chain, 0 for its start */
  part(limit: number, after: number): Promise<AuditChainPart>;
}

/** What a listener gets at once: the records since the last time, in the order of the chain. */
export interface LiveBatch {
  readonly records: readonly LiveRecord[];
  /** Records that the listener was too slow for, or away too long: they are in the log only. */
  readonly missed: number;
  /** The listener goes on after this number. */
  readonly reached: number;
}

export interface LiveAudit {
  /**
   * Batches for one listener: the first at once, the others whenever the process has looked.
   * @param from number of the last record that the listener has; undefined: only later records
   * @param developerId the user who listens; undefined for an operator, whose listeners are not limited by user
   * @throws {Refusal} temporarily_unavailable when the process or the developer has too many listeners, or the process shuts down
   */
  listen(from: number | undefined, developerId?: string): AsyncGenerator<LiveBatch, void>;
}
