import { z } from "zod";
import { IDENTITY_SORTS, type StoredIdentity, WORKLOAD_ISSUER_SORTS } from "../../clients/ports.ts";
import { isOpenIdentity, WORKLOAD_KINDS, type WorkloadIssuer } from "../../clients/workload.ts";
import { inMilliseconds } from "../../clock.ts";
import { Refusal } from "../../errors.ts";
import { changedTrust, newTrust } from "../client-rules.ts";
import { found, ifUnchanged } from "../clients.ts";
import { clientId, inParts, listing, RecordId, search, updatedAt } from "../inputs.ts";
import { Issuer, WorkloadIdentityInput, WorkloadIssuerInput, workloadSettings } from "../record-inputs.ts";
import { operatorProcedure, provenOperatorProcedure, router } from "../trpc.ts";
import { pageView, recordView } from "../views.ts";

const named = z.strictObject({ issuer: Issuer });
const IssuerFilter = z.strictObject({ ...listing(WORKLOAD_ISSUER_SORTS), kind: z.enum(WORKLOAD_KINDS).optional(), search });
const IdentityFilter = z.strictObject({
  ...listing(IDENTITY_SORTS),
  issuer: Issuer.optional(),
  clientId: clientId.optional(),
  search,
});

const unknown = () => new Refusal("not_found", "workload_issuer_unknown", { description: "This issuer of workloads is not trusted." });

const issuerView = ({ id: _, ...issuer }: WorkloadIssuer) => recordView(issuer);
/** `isOpen`: whether more than one branch or environment of a repository could present it. */
const identityView = (identity: StoredIdentity) => inMilliseconds({ ...identity, isOpen: isOpenIdentity(identity) }, "createdAt");

/** Platforms whose tokens authenticate clients. @see docs/protocol.md#workloads */
export const operatorWorkloadIssuersRouter = router({
  list: operatorProcedure.input(IssuerFilter.prefault({})).query(async ({ ctx, input }) => {
    return pageView("issuers", await ctx.ports.workloadIssuers.list(...inParts(input)), issuerView);
  }),

  get: operatorProcedure
    .input(named)
    .query(async ({ ctx, input: { issuer } }) => issuerView(found(await ctx.ports.workloadIssuers.one({ issuer }), unknown))),

  create: provenOperatorProcedure.input(WorkloadIssuerInput).mutation(async ({ ctx, input }) => {
    const added = await ctx.ports.workloadIssuers.add(newTrust(input), ctx.audit("workload_issuer.created"));
    if (added === undefined) throw new Refusal("conflict", "workload_issuer_known", { description: "This issuer is trusted already." });
    return issuerView(added);
  }),

  update: provenOperatorProcedure
    .input(z.strictObject({ issuer: Issuer, ...workloadSettings, updatedAt }))
    .mutation(async ({ ctx, input: { issuer, updatedAt: read, ...change } }) => {
      const decide = ifUnchanged(read, (current: WorkloadIssuer) => changedTrust(current, change));
      return issuerView(found(await ctx.ports.workloadIssuers.change({ issuer }, decide, ctx.audit("workload_issuer.changed")), unknown));
    }),

  /** With all identities on it. */
  remove: provenOperatorProcedure.input(named).mutation(async ({ ctx, input: { issuer } }) => {
    if (!(await ctx.ports.workloadIssuers.remove({ issuer }, ctx.audit("workload_issuer.deleted")))) throw unknown();
    return { issuer };
  }),

  /** Which rule a token fulfils or not, and which client it stands for. A mutation, because a token must not be part of a URL. */
  test: operatorProcedure
    .input(z.strictObject({ token: z.string().min(1).max(20_000), signature: z.boolean().default(false) }))
    .mutation(async ({ ctx, input: { token, signature } }) => {
      const subject = { case: "workloadToken", value: { token, verifySignature: signature } } as const;
      const { rules, clientId: standsFor = null } = await ctx.ports.explainer(subject, ctx.signal);
      return { rules, clientId: standsFor };
    }),
});

/** What platforms call the workloads that are a client. */
export const operatorWorkloadIdentitiesRouter = router({
  list: operatorProcedure.input(IdentityFilter.prefault({})).query(async ({ ctx, input }) => {
    return pageView("identities", await ctx.ports.workloadIdentities.list(...inParts(input)), identityView);
  }),

  add: provenOperatorProcedure
    .input(z.strictObject({ clientId, ...WorkloadIdentityInput.shape }))
    .mutation(async ({ ctx, input: { clientId: of, ...identity } }) =>
      identityView(await ctx.ports.workloadIdentities.assign(of, identity, ctx.audit("workload_identity.added"))),
    ),

  remove: provenOperatorProcedure.input(z.strictObject({ id: RecordId })).mutation(async ({ ctx, input: { id } }) => {
    if (!(await ctx.ports.workloadIdentities.unassign(id, ctx.audit("workload_identity.removed"))))
      throw new Refusal("not_found", "workload_identity_unknown", { description: "There is no identity of this id." });
    return { id };
  }),
});
