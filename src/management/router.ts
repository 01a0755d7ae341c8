import { apiKeysRouter } from "./api-keys.ts";
import { clientsRouter } from "./clients.ts";
import { operatorAuditRouter } from "./operator/audit.ts";
import { operatorClientsRouter } from "./operator/clients.ts";
import { operatorAgentsRouter, operatorDelegationsRouter } from "./operator/delegations.ts";
import { operatorExplainRouter } from "./operator/explain.ts";
import { operatorResourcesRouter } from "./operator/resources.ts";
import { operatorScopesRouter } from "./operator/scopes.ts";
import { operatorRealmsRouter, operatorUsersRouter } from "./operator/users.ts";
import { ProvisionFile } from "./provision.ts";
import { createCallerFactory, operatorProcedure, router } from "./trpc.ts";
import { publishedKeyView } from "./views.ts";

export const managementRouter = router({
  clients: clientsRouter,
  apiKeys: apiKeysRouter,
  operator: router({
    clients: operatorClientsRouter,
    users: operatorUsersRouter,
    realms: operatorRealmsRouter,
    scopes: operatorScopesRouter,
    resources: operatorResourcesRouter,
    audit: operatorAuditRouter,
    delegations: operatorDelegationsRouter,
    agents: operatorAgentsRouter,
    explain: operatorExplainRouter,
    signingKeys: router({
      list: operatorProcedure.query(async ({ ctx }) => ({ signingKeys: (await ctx.ports.publishedKeys.all()).map(publishedKeyView) })),
    }),
    deployment: router({ get: operatorProcedure.query(({ ctx }) => ctx.ports.deployment()) }),
    provision: operatorProcedure
      .input(ProvisionFile)
      .mutation(({ ctx, input }) => ctx.ports.provisioner.apply(input, { type: "user", id: ctx.caller.userId })),
  }),
});

/** The type of the API for typed clients. */
export type ManagementRouter = typeof managementRouter;

/** Calls procedures without HTTP, for the REST routes. */
export const managementCaller = createCallerFactory(managementRouter);
