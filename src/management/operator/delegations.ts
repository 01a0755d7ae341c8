import { z } from "zod";
import { DELEGATION_SORTS } from "../../accounts/delegations.ts";
import { MAX_ACTORS } from "../../clients/client.ts";
import { inMilliseconds } from "../../clock.ts";
import { found } from "../clients.ts";
import { identifier, inParts, listing, Reference } from "../inputs.ts";
import { line } from "../record-inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { delegationView, pageView, rootGrantView } from "../views.ts";

const ALL_USERS = { kind: "everyone" } as const;

const ClientId = identifier.unwrap();
/** True: active delegations; false: ended ones. */
const live = z.boolean().optional();

const Cut = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("delegation"), id: Reference }),
  z.strictObject({ kind: z.literal("agent"), clientId: ClientId, userId: Reference.optional() }),
  z.strictObject({
    kind: z.literal("branch"),
    application: ClientId,
    chain: z.array(ClientId).min(1).max(MAX_ACTORS),
    userId: Reference.optional(),
  }),
  z.strictObject({ kind: z.literal("grant"), id: Reference }),
]);

/** Ended delegations are kept for a day after their expiry. */
export const operatorDelegationsRouter = router({
  /** Newest first. @param agent client_id of the agent that holds it */
  list: operatorProcedure
    .input(
      z
        .strictObject({
          ...listing(DELEGATION_SORTS),
          userId: Reference.optional(),
          agent: identifier,
          grantId: Reference.optional(),
          live,
        })
        .prefault({}),
    )
    .query(async ({ ctx, input }) => {
      const page = await ctx.ports.delegations.list(ALL_USERS, ...inParts(input));
      return pageView("delegations", page, delegationView);
    }),
  /** A grant with all its delegations, each after its parent. */
  tree: operatorProcedure.input(z.strictObject({ grantId: Reference, live })).query(async ({ ctx, input }) => {
    const { root, delegations, complete } = found(await ctx.ports.delegations.tree(ALL_USERS, input.grantId, input.live));
    return { root: rootGrantView(root), delegations: delegations.map(delegationView), complete };
  }),
  /** Delegations above and below an agent's, of a user, or of a grant, in at most 150 groups of one application and chain of agents. */
  groups: operatorProcedure
    .input(
      z.discriminatedUnion("kind", [
        z.strictObject({ kind: z.literal("agent"), clientId: ClientId }),
        z.strictObject({ kind: z.enum(["user", "grant"]), id: Reference }),
      ]),
    )
    .query(({ ctx, input }) => ctx.ports.delegations.groups(input)),
  /** Permanently ends a delegation, all delegations of an agent or of a branch, or a grant, with everything below. Returns how many this call ended. */
  cut: operatorProcedure
    .input(Cut)
    .mutation(async ({ ctx, input }) => ({ ended: found(await ctx.ports.delegations.cut(ALL_USERS, input, ctx.audit("delegation.cut"))) })),
});

const Agent = z.strictObject({ clientId: identifier.unwrap() });

/**
 * Pauses an agent for all users: until it is resumed it gets no tokens of users, and those that it holds are inactive. Its client_credentials
 * tokens are not affected. Users pause and resume agents for themselves.
 */
export const operatorAgentsRouter = router({
  /** Newest first; `userId` is null for a pause for all users, in the input too. */
  pauses: operatorProcedure
    .input(z.strictObject({ ...listing(["created"]), agent: identifier, userId: Reference.nullable().optional() }).prefault({}))
    .query(async ({ ctx, input }) => {
      const page = await ctx.ports.agentPauses.list(ALL_USERS, ...inParts(input));
      return pageView("pauses", page, (pause) => inMilliseconds(pause, "pausedAt"));
    }),
  /** `changed`: whether this call changed anything. */
  pause: operatorProcedure.input(Agent.extend({ reason: line(200).optional() })).mutation(async ({ ctx, input: { clientId, reason } }) => ({
    changed: found(await ctx.ports.agentPauses.pause(ALL_USERS, clientId, ctx.audit("agent.paused", reason ? { note: reason } : {}))),
  })),
  resume: operatorProcedure.input(Agent).mutation(async ({ ctx, input: { clientId } }) => ({
    changed: await ctx.ports.agentPauses.resume(ALL_USERS, clientId, ctx.audit("agent.resumed")),
  })),
});
