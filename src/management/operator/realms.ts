import { z } from "zod";
import { realmUri } from "../../audit.ts";
import { brandingOver } from "../../branding/branding.ts";
import { Refusal } from "../../errors.ts";
import { DisplayName } from "../../protocol/display-name.ts";
import { BrandingInput } from "../branding-inputs.ts";
import { found } from "../clients.ts";
import { inParts, language, listing, RecordId, RegistrationScopes, requiredAcr, search } from "../inputs.ts";
import { REALM_SORTS, type RealmSort } from "../ports.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { brandingView, pageView } from "../views.ts";

/** The nonce of the document that shows the preview, for its style. */
const nonce = z.string().regex(/^[\w+/=-]{1,100}$/, "is no nonce");

/** Realms and the scopes that open registration may give in them; null: DEFAULT_DYNAMIC_REGISTRATION_SCOPES. */
export const operatorRealmsRouter = router({
  list: operatorProcedure.input(z.strictObject({ ...listing(REALM_SORTS), search }).prefault({})).query(async ({ ctx, input }) => {
    const [filter, part] = inParts<RealmSort, typeof input>(input);
    return pageView("realms", await ctx.ports.managedRealms.list(filter, part), (realm) => realm);
  }),

  /** A realm with its branding, and the deployment's, which applies where the realm leaves a member open. `logoData`: base64. */
  get: operatorProcedure.input(z.strictObject({ id: RecordId })).query(async ({ ctx, input: { id } }) => {
    const { branding, ...realm } = found(await ctx.ports.managedRealms.one(id));
    const base = ctx.ports.deploymentBranding;
    return { ...realm, branding: { ...brandingView(branding), logoData: branding.logo ?? null }, inherited: brandingView(base) };
  }),

  create: operatorProcedure.input(z.strictObject({ name: DisplayName })).mutation(async ({ ctx, input: { name } }) => {
    const created = await ctx.ports.managedRealms.create(name, ctx.audit("realm.changed", { reason: "created" }));
    if (created !== undefined) return created;
    const issues = [{ path: "name", message: "is the name of another realm" }];
    throw new Refusal("conflict", "realm_known", { description: "There is a realm of this name.", issues });
  }),

  update: operatorProcedure
    .input(z.strictObject({ id: RecordId, dynamicRegistrationScopes: RegistrationScopes }))
    .mutation(async ({ ctx, input: { id, dynamicRegistrationScopes: scopes } }) => {
      const about = { resources: [realmUri(id)], ...(scopes !== null && { scope: scopes.join(" ") }) };
      return found(await ctx.ports.managedRealms.setRegistrationScopes(id, scopes, ctx.audit("realm.changed", about)));
    }),

  /** The weakest sign-in with which users of the realm get tokens; null: any. */
  setRequiredAcr: operatorProcedure
    .input(z.strictObject({ id: RecordId, requiredAcr }))
    .mutation(async ({ ctx, input: { id, requiredAcr } }) => {
      const audit = ctx.audit("realm.changed", { resources: [realmUri(id)], reason: "required_acr" });
      return found(await ctx.ports.managedRealms.setRequiredAcr(id, requiredAcr, audit));
    }),

  /** Under whose name the realm's users are asked. The answer has the type of the logo, not its bytes. */
  setBranding: operatorProcedure
    .input(z.strictObject({ id: RecordId, branding: BrandingInput }))
    .mutation(async ({ ctx, input: { id, branding } }) => {
      const audit = ctx.audit("realm.changed", { resources: [realmUri(id)], reason: "branding" });
      return brandingView(found(await ctx.ports.managedRealms.setBranding(id, branding, audit)));
    }),

  /** The pages and a mail as a branding would make them, each a document for a sandboxed frame. Writes nothing. */
  previewBranding: operatorProcedure
    .input(z.strictObject({ id: RecordId, branding: BrandingInput, language, nonce }))
    .mutation(async ({ ctx, input: { id, branding, ...shown } }) => {
      const { branding: own } = found(await ctx.ports.managedRealms.one(id));
      return { pages: await ctx.ports.brandingPreview(brandingOver({ ...own, ...branding }, ctx.ports.deploymentBranding), shown) };
    }),
});
