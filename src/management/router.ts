import { apiKeysRouter } from "./api-keys.ts";
import { clientsRouter } from "./clients.ts";
import { operatorAgentsRouter } from "./operator/agents.ts";
import { operatorAuditRouter } from "./operator/audit.ts";
import { operatorClientsRouter } from "./operator/clients.ts";
import { operatorDelegationsRouter } from "./operator/delegations.ts";
import { operatorExplainRouter } from "./operator/explain.ts";
import { operatorRealmsRouter } from "./operator/realms.ts";
import { operatorScopesRouter } from "./operator/scopes.ts";
import { operatorUsersRouter } from "./operator/users.ts";
import { ProvisionFile } from "./provision.ts";
import { createCallerFactory, operatorProcedure, router } from "./trpc.ts";
import { publishedKeyView } from "./views.ts";

/** The management API of developers and operators. */
export const managementRouter = router({
  clients: clientsRouter,
  apiKeys: apiKeysRouter,
  operator: router({
    clients: operatorClientsRouter,
    users: operatorUsersRouter,
    realms: operatorRealmsRouter,
    scopes: operatorScopesRouter,
    audit: operatorAuditRouter,
    delegations: operatorDelegationsRouter,
    agents: operatorAgentsRouter,
    explain: operatorExplainRouter,
    signingKeys: router({
      list: operatorProcedure.query(async ({ ctx }) => ({ signingKeys: (await ctx.ports.publishedKeys.all()).map(publishedKeyView) })),
    }),
    /** Applies a provisioning file as a whole. */
    provision: operatorProcedure
      .input(ProvisionFile)
      .mutation(({ ctx, input }) => ctx.ports.provisioner.apply(input, { type: "user", id: ctx.caller.userId })),
  }),
});

/** For typed clients; a type only. */
export type ManagementRouter = typeof managementRouter;

/** Calls procedures without tRPC over HTTP, for the REST routes. */
export const managementCaller = createCallerFactory(managementRouter);
