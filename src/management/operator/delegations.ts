import { z } from "zod";
import { found } from "../clients.ts";
import { identifier, paging } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { delegationView, pageView, rootGrantView } from "../views.ts";

const ALL_USERS = { kind: "everyone" } as const;

const Id = z.uuid().transform((id) => id.toLowerCase());
const ClientId = identifier.unwrap();
/** True: active delegations; false: ended ones. */
const live = z.boolean().optional();

const Cut = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("delegation"), id: Id }),
  z.strictObject({ kind: z.literal("agent"), clientId: ClientId, userId: Id.optional() }),
  z.strictObject({ kind: z.literal("grant"), id: Id }),
]);

/** Ended delegations are kept for a day after their expiry. */
export const operatorDelegationsRouter = router({
  /** Newest first. @param agent client_id of the agent that holds it */
  list: operatorProcedure
    .input(z.strictObject({ ...paging, userId: Id.optional(), agent: identifier, grantId: Id.optional(), live }).prefault({}))
    .query(async ({ ctx, input: { limit, cursor, ...filter } }) =>
      pageView("delegations", await ctx.ports.delegations.list(ALL_USERS, filter, limit, cursor), delegationView),
    ),
  /** A grant with all its delegations, each after its parent. */
  tree: operatorProcedure.input(z.strictObject({ grantId: Id, live })).query(async ({ ctx, input }) => {
    const { root, delegations, complete } = found(await ctx.ports.delegations.tree(ALL_USERS, input.grantId, input.live));
    return { root: rootGrantView(root), delegations: delegations.map(delegationView), complete };
  }),
  /** Permanently ends a delegation, all delegations of an agent, or a grant, with everything below. Returns how many this call ended. */
  cut: operatorProcedure
    .input(Cut)
    .mutation(async ({ ctx, input }) => ({ ended: found(await ctx.ports.delegations.cut(ALL_USERS, input, ctx.audit("delegation.cut"))) })),
});
