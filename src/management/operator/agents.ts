import { z } from "zod";
import { found } from "../clients.ts";
import { identifier, paging } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { agentPauseView, pageView } from "../views.ts";

const EVERYBODY = { kind: "everyone" } as const;
const Agent = z.strictObject({ clientId: identifier.unwrap() });

/**
 * Stops an agent from acting for anybody, for a while: it exchanges nothing, and what it holds does not count until it is resumed. Its own
 * client_credentials are another matter, and so are the pauses of people, each for herself.
 */
export const operatorAgentsRouter = router({
  /** Who may not act for whom; `userId` is null where it is for nobody. Newest first. */
  pauses: operatorProcedure
    .input(z.strictObject({ ...paging, agent: identifier, userId: z.uuid().optional() }).prefault({}))
    .query(async ({ ctx, input: { limit, cursor, ...filter } }) => {
      const { items, nextCursor } = pageView(await ctx.ports.agentPauses.list(EVERYBODY, filter, limit, cursor), agentPauseView);
      return { pauses: items, nextCursor };
    }),
  /** Answers whether this call changed anything. */
  pause: operatorProcedure.input(Agent).mutation(async ({ ctx, input: { clientId } }) => ({
    changed: found(await ctx.ports.agentPauses.pause(EVERYBODY, clientId, ctx.audit("agent.paused"))),
  })),
  resume: operatorProcedure.input(Agent).mutation(async ({ ctx, input: { clientId } }) => ({
    changed: await ctx.ports.agentPauses.resume(EVERYBODY, clientId, ctx.audit("agent.resumed")),
  })),
});
