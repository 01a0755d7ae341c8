import { z } from "zod";
import { found } from "../clients.ts";
import { identifier, paging } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { agentPauseView, pageView } from "../views.ts";

const ALL_USERS = { kind: "everyone" } as const;
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
