import { tracked } from "@trpc/server";
import { z } from "zod";
import { Refusal } from "../errors.ts";
import { shared } from "../load-once.ts";
import { sameResource } from "../protocol/access.ts";
import { isOperator } from "./acts.ts";
import { type AuditFilter, auditFilter } from "./inputs.ts";
import { auditFilterOf } from "./operator/audit.ts";
import type { Bearer, ManagementPorts } from "./ports.ts";
import type { AuditRecord, LiveAudit, LiveBatch, LiveRecord } from "./report-ports.ts";
import { bearerToken, developerProcedure, router, streamOf } from "./trpc.ts";
import { auditView } from "./views.ts";

export interface LiveAuditPorts {
  /** Sealed records in the order of the chain. @param after a number in it; undefined: the newest records */
  readonly read: (after: number | undefined, limit: number) => Promise<readonly LiveRecord[]>;
  /** Whether the process is shutting down. */
  readonly draining: () => boolean;
  readonly failed: (error: unknown) => void;
}

/** Records that are kept for all listeners together, and the most that one look reads. */
const KEPT = 1_000;
/** Milliseconds between two looks. */
const EVERY = 1_000;
/** Of developers, and of operators: any user may be a developer, and developers are not to keep operators out. */
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
      const alike = [...open.values()].filter((other) => (other === undefined) === (developerId === undefined));
      const ofDeveloper = developerId === undefined ? 0 : alike.filter((other) => other === developerId).length;
      if (alike.length >= MOST_LISTENERS || ofDeveloper >= MOST_OF_ONE)
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
export function matches(record: AuditRecord, { since, until, actorId, search, resource, ...members }: AuditFilter): boolean {
  if (since !== undefined && record.at < since) return false;
  if (until !== undefined && record.at >= until) return false;
  if (actorId !== undefined && !actorId.includes(record.actor.id)) return false;
  if (resource !== undefined && !record.resources?.some((each) => sameResource(each, resource))) return false;
  const { actor, userId, clientId, grantId, jti, requestId } = record;
  const ids = [actor.id, userId, clientId, grantId, jti, requestId];
  if (search !== undefined && !search.some((id) => ids.includes(id))) return false;
  return Object.entries(members).every(([member, value]) => value === undefined || record[member as keyof AuditRecord] === value);
}

/** Seconds after which the token of a listener that gets nothing is validated again. */
const VALIDATED_FOR = 5;
/** Records after which a listener learns how far it is, though none was for it: it can then resume there. */
const UNSEEN = 500;

const Listen = z
  .strictObject({
    ...auditFilter,
    /** Number of the last record that the listener has. The client sends it by itself when it connects again. */
    lastEventId: z
      .string()
      .regex(/^\d{1,15}$/, "is no number of a record")
      .optional(),
  })
  .prefault({});

/** What developers may know of the records of their own clients, also by a filter: neither addresses nor the private reasons of refusals. */
const forDeveloper = ({ address: _, reason: __, ...record }: LiveRecord): LiveRecord => record;

/** Tokens issued and requests refused among records. Pure. */
function figuresOf(records: readonly LiveRecord[]) {
  const count = (event: LiveRecord["event"]) =>
    records.reduce((sum, record) => sum + (record.event === event ? 1 + (record.repeats ?? 0) : 0), 0);
  return { issued: count("token.issued"), refused: count("token.refused") };
}

interface Listening {
  readonly ports: Pick<ManagementPorts, "bearers" | "clock" | "liveAudit">;
  readonly token: string;
  readonly caller: Bearer;
  readonly from: number | undefined;
  readonly wanted: AuditFilter;
}

/**
 * The events of one listener. Its token is validated after the records have been read and before they are sent, so that no record follows a
 * revocation. All listeners wake at once, so that the core looks up their tokens in batches.
 */
async function* eventsFor({ ports, token, caller, from, wanted }: Listening, signal: AbortSignal | undefined) {
  const operator = isOperator(caller);
  const isSeen = ({ ownerId }: LiveRecord) => operator || ownerId === caller.userId;
  let validatedAt = ports.clock();
  let sent: number | undefined;
  for await (const { records, missed, reached } of ports.liveAudit.listen(from, operator ? undefined : caller.userId)) {
    if (signal?.aborted) return;
    const seen = records.filter(isSeen);
    const isQuiet = sent !== undefined && seen.length === 0 && missed === 0 && reached - sent < UNSEEN;
    if (!isQuiet || ports.clock() - validatedAt >= VALIDATED_FOR) {
      if (isOperator(await ports.bearers.judge(token)) !== operator) throw new Refusal("invalid_token", "role_changed");
      validatedAt = ports.clock();
    }
    if (isQuiet) continue;
    sent = reached;
    const known = operator ? seen : seen.map(forDeveloper);
    const shown = known.filter((record) => matches(record, wanted)).map(auditView);
    yield tracked(String(reached), { records: shown, missed, figures: figuresOf(seen) });
  }
}

/** Records as they are sealed. @see docs/protocol.md#live-audit */
export const liveRouter = router({
  /** An operator gets all records, a developer those of the clients that they own. `figures` do not depend on the filter. */
  audit: developerProcedure.input(Listen).subscription(({ ctx, input: { lastEventId, ...filter }, signal }) => {
    if (ctx.boundCaller !== undefined)
      throw new Refusal("invalid_request", "bound_listener", {
        description: "A proof serves one request: this channel takes bearer tokens.",
      });
    const from = lastEventId === undefined ? undefined : Number(lastEventId);
    const { ports, caller, authorization } = ctx;
    const listening = { ports, caller, from, token: bearerToken(authorization), wanted: auditFilterOf(filter) };
    return streamOf(eventsFor(listening, signal));
  }),
});
