import { z } from "zod";
import { isOperator } from "./acts.ts";
import { found } from "./clients.ts";
import { RecordId } from "./inputs.ts";
import { SPANS } from "./ports.ts";
import { developerProcedure, operatorProcedure, router } from "./trpc.ts";
import { figureView } from "./views.ts";

/** `hour`: the last 48 hours; `day`: the last 90 days. */
const span = z.enum(SPANS).default("hour");

/** What developers' clients did. @see docs/protocol.md#figures */
export const figuresRouter = router({
  /** The sum of the caller's clients. */
  get: developerProcedure
    .input(z.strictObject({ span }).prefault({}))
    .query(async ({ ctx, input }) => ({ figures: (await ctx.ports.figures.ofOwner(input.span, ctx.caller.userId)).map(figureView) })),

  /** One client: of the caller, or any for an operator. @throws {Refusal} not_found */
  ofClient: developerProcedure.input(z.strictObject({ span, id: RecordId })).query(async ({ ctx, input }) => {
    const reach = isOperator(ctx.caller) ? ({ kind: "all" } as const) : ctx.reach;
    const { clientId } = found(await ctx.ports.clients.byId(input.id, reach));
    return { figures: (await ctx.ports.figures.ofClient(input.span, clientId)).map(figureView) };
  }),
});

/** What all clients did, in one realm or in all. */
export const operatorFiguresRouter = router({
  get: operatorProcedure
    .input(z.strictObject({ span, realmId: RecordId.optional() }).prefault({}))
    .query(async ({ ctx, input }) => ({ figures: (await ctx.ports.figures.ofRealms(input.span, input.realmId)).map(figureView) })),
});
