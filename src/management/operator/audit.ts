import { z } from "zod";
import { AUDIT_EVENTS } from "../../audit.ts";
import { identifier, moment, paging } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { auditView, pageView } from "../views.ts";

const Filter = z.strictObject({
  ...paging,
  event: z.enum(AUDIT_EVENTS).optional(),
  outcome: z.enum(["success", "failure"]).optional(),
  actorId: identifier,
  userId: identifier,
  clientId: identifier,
  since: moment,
  until: moment,
});

const seconds = (milliseconds: number | undefined): number | undefined => (milliseconds === undefined ? undefined : milliseconds / 1000);

/** The audit trail, newest first (specification §2.12). */
export const operatorAuditRouter = router({
  list: operatorProcedure.input(Filter.prefault({})).query(async ({ ctx, input: { limit, cursor, since, until, ...filter } }) => {
    const page = await ctx.ports.auditTrail.list({ ...filter, since: seconds(since), until: seconds(until) }, limit, cursor);
    const { items, nextCursor } = pageView(page, auditView);
    return { records: items, nextCursor };
  }),
});
