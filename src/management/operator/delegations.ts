import { z } from "zod";
import { found } from "../clients.ts";
import { identifier, paging } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { delegationView, pageView, rootGrantView } from "../views.ts";

const EVERYBODY = { kind: "everyone" } as const;

const Id = z.uuid().transform((id) => id.toLowerCase());
const ClientId = identifier.unwrap();
/** True: those that count; false: those that have ended. */
const live = z.boolean().optional();

const Cut = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("delegation"), id: Id }),
  z.strictObject({ kind: z.literal("agent"), clientId: ClientId, userId: Id.optional() }),
  z.strictObject({ kind: z.literal("grant"), id: Id }),
]);

/** Who acts for whom, through which agents, and the end of it. Delegations are kept for a day after their expiry. */
export const operatorDelegationsRouter = router({
  /** Newest first, to the second. `agent` is the client_id of who holds it. */
  list: operatorProcedure
    .input(z.strictObject({ ...paging, userId: Id.optional(), agent: identifier, grantId: Id.optional(), live }).prefault({}))
    .query(async ({ ctx, input: { limit, cursor, ...filter } }) => {
      const { items, nextCursor } = pageView(await ctx.ports.delegations.list(EVERYBODY, filter, limit, cursor), delegationView);
      return { delegations: items, nextCursor };
    }),
  /** A grant with all that agents got out of it, each delegation after the one that it came of. */
  tree: operatorProcedure.input(z.strictObject({ grantId: Id, live })).query(async ({ ctx, input }) => {
    const { root, delegations, complete } = found(await ctx.ports.delegations.tree(EVERYBODY, input.grantId, input.live));
    return { root: rootGrantView(root), delegations: delegations.map(delegationView), complete };
  }),
  /**
   * Ends a delegation, all that an agent holds, or the grant at the root; with it all below, at once and for good. Answers how many this
   * call ended.
   */
  cut: operatorProcedure
    .input(Cut)
    .mutation(async ({ ctx, input }) => ({ ended: found(await ctx.ports.delegations.cut(EVERYBODY, input, ctx.audit("delegation.cut"))) })),
});
