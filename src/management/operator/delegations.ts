import { z } from "zod";
import { found } from "../clients.ts";
import { identifier, paging } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { agentPauseView, delegationView, pageView, rootGrantView } from "../views.ts";

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

const Agent = z.strictObject({ clientId: identifier.unwrap() });

/**
 * Pauses an agent for all users: until it is resumed it cannot exchange tokens, and its delegations are inactive. Its client_credentials
 * tokens are not affected. Users pause and resume agents for themselves.
 */
export const operatorAgentsRouter = router({
  /** Newest first; `userId` is null for a pause for all users. */
  pauses: operatorProcedure
    .input(z.strictObject({ ...paging, agent: identifier, userId: z.uuid().optional() }).prefault({}))
    .query(async ({ ctx, input: { limit, cursor, ...filter } }) =>
      pageView("pauses", await ctx.ports.agentPauses.list(ALL_USERS, filter, limit, cursor), agentPauseView),
    ),
  /** `changed`: whether this call changed anything. */
  pause: operatorProcedure.input(Agent).mutation(async ({ ctx, input: { clientId } }) => ({
    changed: found(await ctx.ports.agentPauses.pause(ALL_USERS, clientId, ctx.audit("agent.paused"))),
  })),
  resume: operatorProcedure.input(Agent).mutation(async ({ ctx, input: { clientId } }) => ({
    changed: await ctx.ports.agentPauses.resume(ALL_USERS, clientId, ctx.audit("agent.resumed")),
  })),
});
