import { Refusal } from "../errors.ts";
import { shared } from "../load-once.ts";
import type { AuditFilter, AuditRecord, LiveRecord } from "./audit-ports.ts";

/** What a listener gets at once: the records since the last time, in the order of the chain. */
export interface LiveBatch {
  readonly records: readonly LiveRecord[];
  /** Records that the listener was too slow for, or away too long: they are in the log only. */
  readonly missed: number;
  /** The listener goes on after this number. */
  readonly reached: number;
}

export interface LiveAuditPorts {
  /** Sealed records in the order of the chain. @param after a number in it; undefined: the newest records */
  readonly read: (after: number | undefined, limit: number) => Promise<readonly LiveRecord[]>;
  /** Whether the process is shutting down. */
  readonly draining: () => boolean;
  readonly failed: (error: unknown) => void;
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

/** Records that are kept for all listeners together, and the most that one look reads. */
const KEPT = 1_000;
/** Milliseconds between two looks. */
const EVERY = 1_000;
const MOST_LISTENERS = 2_000;
/** The most of one developer: as many consoles as a user may have open, far from all that the process has. */
const MOST_OF_ONE = 50;

/** What a listener at `position` gets of the kept records. Pure. @param reached the number of the last record that was read */
export function batchAfter(kept: readonly LiveRecord[], reached: number, position: number): LiveBatch {
  const oldest = kept[0]?.link.seq ?? reached + 1;
  return { records: kept.filter(({ link }) => link.seq > position), missed: Math.max(0, oldest - 1 - position), reached };
}

/**
 * Sealed audit records as they appear. All listeners of a process share one look a second and one buffer: a slow listener falls behind the
 * buffer, and learns how many records it missed. Without listeners the database is not asked.
 */
export function liveAudit({ read, draining, failed }: LiveAuditPorts, every = EVERY, keep = KEPT): LiveAudit {
  let kept: readonly LiveRecord[] = [];
  let reached = 0;
  /** Whether the buffer goes on at `reached`: not after a pause, nor after more records than one look reads. */
  let continuous = false;
  /** The developer of each open listener. */
  const open = new Map<symbol, string | undefined>();

  const look = shared(async () => {
    const goesOn = continuous;
    const found = await read(goesOn ? reached : undefined, keep);
    kept = (goesOn ? [...kept, ...found] : found).slice(-keep);
    reached = kept.at(-1)?.link.seq ?? reached;
    continuous = !goesOn || found.length < keep;
  });
  const nextLook = shared(async () => {
    await new Promise((resolve) => setTimeout(resolve, every).unref());
    if (open.size > 0) await look().catch(failed);
  });

  return {
    async *listen(from, developerId) {
      const ofDeveloper = developerId === undefined ? 0 : [...open.values()].filter((other) => other === developerId).length;
      if (open.size >= MOST_LISTENERS || ofDeveloper >= MOST_OF_ONE)
        throw new Refusal("temporarily_unavailable", "too_many_listeners", { retryAfter: 5 });
      const listener = Symbol();
      open.set(listener, developerId);
      try {
        if (open.size === 1) continuous = false;
        if (!continuous) await look();
        let position = Math.min(from ?? reached, reached);
        for (;;) {
          if (draining()) throw new Refusal("temporarily_unavailable", "shutting_down", { retryAfter: 1 });
          const batch = batchAfter(kept, reached, position);
          position = batch.reached;
          yield batch;
          await nextLook();
        }
      } finally {
        open.delete(listener);
      }
    },
  };
}

/** Whether a record fulfils a filter, as it does in a list. Pure. */
export function matches(record: AuditRecord, { since, until, actorId, search, ...members }: AuditFilter): boolean {
  if (since !== undefined && record.at < since) return false;
  if (until !== undefined && record.at >= until) return false;
  if (actorId !== undefined && record.actor.id !== actorId) return false;
  const { actor, userId, clientId, grantId, jti, requestId } = record;
  if (search !== undefined && ![actor.id, userId, clientId, grantId, jti, requestId].includes(search)) return false;
  return Object.entries(members).every(([member, value]) => value === undefined || record[member as keyof AuditRecord] === value);
}
