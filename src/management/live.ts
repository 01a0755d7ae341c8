import { tracked } from "@trpc/server";
import { z } from "zod";
import { Refusal } from "../errors.ts";
import { isOperator } from "./acts.ts";
import { auditFilter, auditFilterOf } from "./audit-filter.ts";
import type { AuditFilter, LiveRecord } from "./audit-ports.ts";
import { matches } from "./live-audit.ts";
import type { Bearer, ManagementPorts } from "./ports.ts";
import { bearerToken, developerProcedure, router, streamOf } from "./trpc.ts";
import { auditView } from "./views.ts";

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
