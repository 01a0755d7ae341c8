import { z } from "zod";
import { AUDIT_EVENTS } from "../../audit.ts";
import { Refusal } from "../../errors.ts";
import { identifier, moment, paging } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { auditChainView, auditView, pageView } from "../views.ts";

const filter = {
  event: z.enum(AUDIT_EVENTS).optional(),
  outcome: z.enum(["success", "failure"]).optional(),
  reason: identifier,
  actorId: identifier,
  userId: identifier,
  clientId: identifier,
  grantId: identifier,
  jti: identifier,
  requestId: identifier,
  since: moment,
  until: moment,
};

/** A number in the chain; the records after it are returned. */
const after = z.int().min(0).default(0);

const seconds = (milliseconds: number | undefined): number | undefined => (milliseconds === undefined ? undefined : milliseconds / 1000);

/** The audit log. @see docs/protocol.md#audit */
export const operatorAuditRouter = router({
  /** Newest first. */
  list: operatorProcedure
    .input(z.strictObject({ ...paging, ...filter }).prefault({}))
    .query(async ({ ctx, input: { limit, cursor, since, until, ...rest } }) => {
      const page = await ctx.ports.auditTrail.list({ ...rest, since: seconds(since), until: seconds(until) }, limit, cursor);
      return pageView("records", page, auditView);
    }),
  /** Sealed records in the order of the chain. The next call passes `reached` as `after`, and gets each later record once. */
  follow: operatorProcedure
    .input(z.strictObject({ limit: paging.limit, after, ...filter }))
    .query(async ({ ctx, input: { limit, after: from, since, until, ...rest } }) => {
      const { items, reached } = await ctx.ports.auditTrail.follow({ ...rest, since: seconds(since), until: seconds(until) }, limit, from);
      return { records: items.map(auditView), reached };
    }),
  chain: operatorProcedure.query(async ({ ctx }) => auditChainView(await ctx.ports.auditTrail.chain())),
  /** A part of the chain, for `countersign audit verify`. */
  export: operatorProcedure
    .input(z.strictObject({ limit: z.int().min(1).max(1000).default(500), after }))
    .query(async ({ ctx, input: { limit, after: from } }) => {
      const { start, records, checkpoints } = await ctx.ports.auditTrail.part(limit, from);
      if (start === undefined)
        throw new Refusal("not_found", "audit_link_unknown", { description: "There is no such record in the chain." });
      return { start, records, checkpoints, next: records.length < limit ? null : (records.at(-1)?.seq ?? null) };
    }),
});
