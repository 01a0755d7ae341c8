import { z } from "zod";
import { mailOf } from "../accounts/mails.ts";
import { keyUri } from "../audit.ts";
import { inMilliseconds } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { actsOf, actsOnClient, actsOnUser } from "./acts.ts";
import { apiKeysRouter, clientsRouter, found } from "./clients.ts";
import { ById, language, RecordId } from "./inputs.ts";
import { liveRouter } from "./live.ts";
import { operatorAuditRouter } from "./operator/audit.ts";
import { operatorClientsRouter } from "./operator/clients.ts";
import { operatorConnectionsRouter } from "./operator/connections.ts";
import { operatorAgentsRouter, operatorDelegationsRouter } from "./operator/delegations.ts";
import { operatorExplainRouter } from "./operator/explain.ts";
import { operatorRealmsRouter, operatorScopesRouter } from "./operator/realms.ts";
import { operatorResourcesRouter } from "./operator/resources.ts";
import { operatorConsentsRouter, operatorFactorsRouter, operatorSessionsRouter } from "./operator/user-access.ts";
import { operatorInvitationsRouter, operatorUsersRouter } from "./operator/users.ts";
import { operatorWorkloadIdentitiesRouter, operatorWorkloadIssuersRouter } from "./operator/workloads.ts";
import { SPANS } from "./ports.ts";
import { ProvisionFile } from "./provision.ts";
import { createCallerFactory, developerProcedure, operatorProcedure, provenOperatorProcedure, router } from "./trpc.ts";
import { figureView, userView } from "./views.ts";

/** How the process that answers is configured and used. Settings come from its environment, so that nothing here changes them. */
const operatorDeploymentRouter = router({
  get: operatorProcedure.query(({ ctx }) => ctx.ports.deployment()),

  /** Every setting with its origin, without secrets, and the limits on requests. */
  settings: operatorProcedure.query(({ ctx }) => ctx.ports.settings),

  /** Sends a mail to the caller's own address. */
  testMail: operatorProcedure
    .input(z.strictObject({ language }).prefault({}))
    .mutation(async ({ ctx: { ports, caller }, input: { language: of } }) => {
      const user = found(await ports.users.byId(caller.userId));
      await ports.notices.send(user.id, user.email, mailOf("test", ports, user, { language: of }));
      return { email: user.email };
    }),
});

/** The public keys of all cores. @see docs/keys.md */
const operatorSigningKeysRouter = router({
  /** All of them: a core has one, and one more for each rotation. */
  list: operatorProcedure.query(async ({ ctx }) => {
    const keys = await ctx.ports.publishedKeys.all();
    return { signingKeys: keys.map((key) => inMilliseconds(key, "publishedAt", "inUseAt")) };
  }),

  /** Withdraws a key for good: within 30 seconds no core publishes or accepts it. @throws {Refusal} not_found, conflict */
  withdraw: provenOperatorProcedure.input(z.strictObject({ kid: z.string().min(1).max(200) })).mutation(async ({ ctx, input: { kid } }) => {
    const audit = ctx.audit("key.withdrawn", { resources: [keyUri(kid)] });
    if (found(await ctx.ports.publishedKeys.withdraw(kid, audit)) === "signs")
      throw new Refusal("conflict", "key_signs", {
        description:
          "A core has signed with this key within the last 90 seconds. Configure another private key on every core first, without this one.",
      });
    return { kid };
  }),
});

/** The caller, and what the caller may do. @see docs/protocol.md#viewer */
const viewerRouter = router({
  get: developerProcedure.query(async ({ ctx: { ports, caller } }) => ({
    ...userView(found(await ports.users.byId(caller.userId))),
    can: actsOf(caller, ports.signUpPolicy),
  })),

  /** What the caller may do with a client: with any as an operator, otherwise with their own. @throws {Refusal} not_found */
  client: developerProcedure.input(ById).query(async ({ ctx: { ports, caller, view }, input: { id } }) => ({
    can: actsOnClient(caller, found(await ports.clients.byId(id, view))),
  })),

  /** What an operator may do with a user. @throws {Refusal} not_found */
  user: operatorProcedure.input(ById).query(async ({ ctx: { ports, caller }, input: { id } }) => ({
    can: actsOnUser(caller, found(await ports.users.byId(id)).id),
  })),
});

/** `hour`: the last 48 hours; `day`: the last 90 days. */
const span = z.enum(SPANS).default("hour");

/** What developers' clients did. @see docs/protocol.md#figures */
const figuresRouter = router({
  /** The sum of the caller's clients. */
  get: developerProcedure
    .input(z.strictObject({ span }).prefault({}))
    .query(async ({ ctx, input }) => ({ figures: (await ctx.ports.figures.ofOwner(input.span, ctx.caller.userId)).map(figureView) })),
});

/** What all clients did, in one realm or in all. */
const operatorFiguresRouter = router({
  get: operatorProcedure
    .input(z.strictObject({ span, realmId: RecordId.optional() }).prefault({}))
    .query(async ({ ctx, input }) => ({ figures: (await ctx.ports.figures.ofRealms(input.span, input.realmId)).map(figureView) })),
});

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
