import { z } from "zod";
import { Refusal } from "../../errors.ts";
import { type AuditFilter, auditFilter, inParts, listing, paging, secondsOf } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { auditChainView, auditView, pageView } from "../views.ts";

/** The filter of an input, whose times are milliseconds, as one in seconds. */
export const auditFilterOf = ({ since, until, ...members }: AuditFilter): AuditFilter => ({
  ...members,
  since: secondsOf(since),
  until: secondsOf(until),
});

/** A number in the chain; the records after it are returned. */
const after = z.int().min(0).default(0);

/** The audit log. @see docs/protocol.md#audit */
export const operatorAuditRouter = router({
  /** Newest first. */
  list: operatorProcedure.input(z.strictObject({ ...listing(["created"]), ...auditFilter }).prefault({})).query(async ({ ctx, input }) => {
    const [filter, part] = inParts(input);
    return pageView("records", await ctx.ports.auditTrail.list(auditFilterOf(filter), part), auditView);
  }),
  /** Sealed records in the order of the chain. The next call passes `reached` as `after`, and gets each later record once. */
  follow: operatorProcedure
    .input(z.strictObject({ limit: paging.limit, after, ...auditFilter }))
    .query(async ({ ctx, input: { limit, after: from, ...filter } }) => {
      const { items, reached } = await ctx.ports.auditTrail.follow(auditFilterOf(filter), limit, from);
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
