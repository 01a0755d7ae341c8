import { apiKeysRouter } from "./api-keys.ts";
import { clientsRouter, found } from "./clients.ts";
import { figuresRouter, operatorFiguresRouter } from "./figures.ts";
import { liveRouter } from "./live.ts";
import { operatorAuditRouter } from "./operator/audit.ts";
import { operatorClientsRouter } from "./operator/clients.ts";
import { operatorConnectionsRouter } from "./operator/connections.ts";
import { operatorConsentsRouter } from "./operator/consents.ts";
import { operatorAgentsRouter, operatorDelegationsRouter } from "./operator/delegations.ts";
import { operatorDeploymentRouter } from "./operator/deployment.ts";
import { operatorExplainRouter } from "./operator/explain.ts";
import { operatorFactorsRouter, operatorSessionsRouter } from "./operator/factors.ts";
import { operatorRealmsRouter } from "./operator/realms.ts";
import { operatorResourcesRouter } from "./operator/resources.ts";
import { operatorScopesRouter } from "./operator/scopes.ts";
import { operatorSigningKeysRouter } from "./operator/signing-keys.ts";
import { operatorInvitationsRouter, operatorUsersRouter } from "./operator/users.ts";
import { operatorWorkloadIdentitiesRouter, operatorWorkloadIssuersRouter } from "./operator/workloads.ts";
import { ProvisionFile } from "./provision.ts";
import { createCallerFactory, developerProcedure, provenOperatorProcedure, router } from "./trpc.ts";
import { viewerRouter } from "./viewer.ts";
import { userView } from "./views.ts";

export const managementRouter = router({
  account: router({
    /** The account of the caller. */
    get: developerProcedure.query(async ({ ctx }) => userView(found(await ctx.ports.users.byId(ctx.caller.userId)))),
  }),
  viewer: viewerRouter,
  figures: figuresRouter,
  clients: clientsRouter,
  apiKeys: apiKeysRouter,
  live: liveRouter,
  operator: router({
    clients: operatorClientsRouter,
    users: operatorUsersRouter,
    factors: operatorFactorsRouter,
    sessions: operatorSessionsRouter,
    consents: operatorConsentsRouter,
    invitations: operatorInvitationsRouter,
    realms: operatorRealmsRouter,
    scopes: operatorScopesRouter,
    resources: operatorResourcesRouter,
    connections: operatorConnectionsRouter,
    workloadIssuers: operatorWorkloadIssuersRouter,
    workloadIdentities: operatorWorkloadIdentitiesRouter,
    audit: operatorAuditRouter,
    figures: operatorFiguresRouter,
    delegations: operatorDelegationsRouter,
    agents: operatorAgentsRouter,
    explain: operatorExplainRouter,
    signingKeys: operatorSigningKeysRouter,
    deployment: operatorDeploymentRouter,
    provision: provenOperatorProcedure
      .input(ProvisionFile)
      .mutation(({ ctx, input }) => ctx.ports.provisioner.apply(input, { type: "user", id: ctx.caller.userId }, ctx.signal)),
    /** What `provision` would change. It compares passwords, so it needs the same proof: without one, a stolen token could guess them. */
    previewProvision: provenOperatorProcedure
      .input(ProvisionFile)
      .mutation(({ ctx, input }) => ctx.ports.provisioner.preview(input, ctx.signal)),
  }),
});

/** The type of the API for typed clients. */
export type ManagementRouter = typeof managementRouter;

/** Calls procedures without HTTP, for the REST routes. */
export const managementCaller = createCallerFactory(managementRouter);
