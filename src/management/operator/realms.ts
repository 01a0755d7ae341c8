import { z } from "zod";
import { BUILT_IN_SCOPES, type ScopeDescription } from "../../accounts/account.ts";
import { brandingOver } from "../../branding/branding.ts";
import type { Realm } from "../../clients/ports.ts";
import { Refusal } from "../../errors.ts";
import { TOTAL_LIMIT } from "../../paging.ts";
import { found } from "../clients.ts";
import { ById, inParts, language, listing, RecordId, RegistrationScopes, realmInput, requiredAcr, search } from "../inputs.ts";
import { type ManagementPorts, REALM_SORTS, type RealmContents } from "../ports.ts";
import { BrandingInput, RealmName, ScopeDescriptionInput, ScopeName } from "../record-inputs.ts";
import { operatorProcedure, provenOperatorProcedure, realmOf, router } from "../trpc.ts";
import { brandingView, pageView } from "../views.ts";

/** The nonce of the document that shows the preview, for its style. */
const nonce = z.string().regex(/^[\w+/=-]{1,100}$/, "is no nonce");

const realmView = ({ id, name, dynamicRegistrationScopes }: Realm) => ({ id, name, dynamicRegistrationScopes });

const nameTaken = () => {
  const issues = [{ path: "name", message: "is the name of another realm" }];
  return new Refusal("conflict", "realm_known", {
    description: "There is a realm of this name. Upper and lower case do not count.",
    issues,
  });
};

const defaultStays = () =>
  new Refusal("conflict", "realm_is_default", { description: "The realm `default` can be neither renamed nor removed." });

const CONTENTS = {
  users: ["user", "users"],
  leaving: ["user whose deletion is not complete yet", "users whose deletion is not complete yet"],
  connections: ["connection", "connections"],
  invitations: ["open invitation", "open invitations"],
  clients: ["client", "clients"],
} as const satisfies Record<keyof RealmContents, readonly [one: string, more: string]>;

function realmInUse(contents: RealmContents): Refusal {
  const parts = Object.entries(CONTENTS).flatMap(([kind, [one, more]]) => {
    const count = contents[kind as keyof RealmContents];
    const shown = count > TOTAL_LIMIT ? `more than ${TOTAL_LIMIT}` : count;
    return count === 0 ? [] : [`${shown} ${count === 1 ? one : more}`];
  });
  const listed = new Intl.ListFormat("en").format(parts);
  return new Refusal("conflict", "realm_in_use", { description: `The realm is not empty: it has ${listed}.` });
}

/** Realms and the scopes that open registration may give in them; null: DEFAULT_DYNAMIC_REGISTRATION_SCOPES. */
export const operatorRealmsRouter = router({
  list: operatorProcedure.input(z.strictObject({ ...listing(REALM_SORTS), search }).prefault({})).query(async ({ ctx, input }) => {
    return pageView("realms", await ctx.ports.managedRealms.list(...inParts(input)), realmView);
  }),

  /** A realm with its branding, and the deployment's, which applies where the realm leaves a member open. `logoData`: base64. */
  get: operatorProcedure.input(z.strictObject({ id: RecordId })).query(async ({ ctx, input: { id } }) => {
    const realm = found(await ctx.ports.managedRealms.one(id));
    const { branding, requiredAcr } = realm;
    const inherited = brandingView(ctx.ports.deploymentBranding);
    return { ...realmView(realm), requiredAcr, branding: { ...brandingView(branding), logoData: branding.logo ?? null }, inherited };
  }),

  create: operatorProcedure.input(z.strictObject({ name: RealmName })).mutation(async ({ ctx, input: { name } }) => {
    const created = await ctx.ports.managedRealms.create(name, ctx.audit("realm.changed", { reason: "created" }));
    if (created === undefined) throw nameTaken();
    return realmView(created);
  }),

  /** What is in the realm, and its id, stay. */
  rename: operatorProcedure.input(z.strictObject({ id: RecordId, name: RealmName })).mutation(async ({ ctx, input: { id, name } }) => {
    const renamed = found(await ctx.ports.managedRealms.rename(id, name, ctx.audit("realm.changed", { reason: "renamed" })));
    if (renamed === "default") throw defaultStays();
    if (renamed === "taken") throw nameTaken();
    return realmView(renamed);
  }),

  /** Removes a realm in which there is no user, connection or open invitation, with its descriptions of scopes and records of resources. */
  remove: provenOperatorProcedure.input(ById).mutation(async ({ ctx, input: { id } }) => {
    const outcome = found(await ctx.ports.managedRealms.remove(id, ctx.audit("realm.changed", { reason: "removed" })));
    if (outcome === "default") throw defaultStays();
    if (outcome !== "removed") throw realmInUse(outcome);
    return { id };
  }),

  update: operatorProcedure
    .input(z.strictObject({ id: RecordId, dynamicRegistrationScopes: RegistrationScopes }))
    .mutation(async ({ ctx, input: { id, dynamicRegistrationScopes: scopes } }) => {
      const audit = ctx.audit("realm.changed", scopes === null ? {} : { scope: scopes.join(" ") });
      return realmView(found(await ctx.ports.managedRealms.change(id, { dynamicRegistrationScopes: scopes }, audit)));
    }),

  /**
   * The weakest sign-in with which users of the realm get tokens; null: any. `lacking`: how many users have set up none such here, who have to
   * at their next sign-in, unless their identity provider proves it; up to 10,000, and one more if there are more; null if it is not known.
   */
  setRequiredAcr: operatorProcedure
    .input(z.strictObject({ id: RecordId, requiredAcr }))
    .mutation(async ({ ctx, input: { id, requiredAcr } }) => {
      const audit = ctx.audit("realm.changed", { reason: "required_acr" });
      const lacking = requiredAcr === null ? 0 : await ctx.ports.managedRealms.lacking(id, requiredAcr);
      found(await ctx.ports.managedRealms.change(id, { requiredAcr }, audit));
      return { id, requiredAcr, lacking };
    }),

  /** Under whose name the realm's users are asked. The answer has the type of the logo, not its bytes. */
  setBranding: operatorProcedure
    .input(z.strictObject({ id: RecordId, branding: BrandingInput }))
    .mutation(async ({ ctx, input: { id, branding } }) => {
      const audit = ctx.audit("realm.changed", { reason: "branding" });
      return brandingView(found(await ctx.ports.managedRealms.change(id, { branding }, audit)).branding);
    }),

  /** The pages and a mail as a branding would make them, each a document for a sandboxed frame. Writes nothing. */
  previewBranding: operatorProcedure
    .input(z.strictObject({ id: RecordId, branding: BrandingInput, language, nonce }))
    .mutation(async ({ ctx, input: { id, branding, ...shown } }) => {
      const { branding: own } = found(await ctx.ports.managedRealms.one(id));
      return { pages: await ctx.ports.brandingPreview(brandingOver({ ...own, ...branding }, ctx.ports.deploymentBranding), shown) };
    }),
});

const unknown = () => new Refusal("not_found", "scope_or_realm_unknown", { description: "Not found." });

const Filter = z.strictObject({ ...realmInput, ...listing(["name"]), search });

const scopeView = ({ name, title, detail }: ScopeDescription, builtIn: boolean) => ({ name, title, detail, builtIn });

/** The built-in descriptions that are replaced neither in a realm nor in the default one, of those that a search finds. */
async function builtInScopes({ managedScopes }: ManagementPorts, realmId: string, sought = "") {
  const found = BUILT_IN_SCOPES.filter(({ name }) => name.includes(sought.toLowerCase()));
  const replaced = await managedScopes.of(
    realmId,
    found.map(({ name }) => name),
  );
  return found.filter(({ name }) => !replaced.has(name)).map((scope) => scopeView(scope, true));
}

export const operatorScopesRouter = router({
  /** The operators' descriptions; at their end, which is on the last page, the built-in ones that they have not replaced. */
  list: operatorProcedure.input(Filter.prefault({})).query(async ({ ctx, input }) => {
    const [{ search: sought }, part] = inParts(input);
    const realmId = await realmOf(ctx.ports, input.realmId);
    const [{ items, next, total }, builtIn] = await Promise.all([
      ctx.ports.managedScopes.list({ realmId, search: sought }, part),
      builtInScopes(ctx.ports, realmId, sought),
    ]);
    const described = items.map((scope) => scopeView(scope, false));
    const all = next === null ? [...described, ...builtIn] : described;
    return pageView("scopes", { items: all, next, total: total === null ? null : total + builtIn.length }, (scope) => scope);
  }),

  set: operatorProcedure
    .input(z.strictObject({ ...realmInput, ...ScopeDescriptionInput.shape }))
    .mutation(async ({ ctx, input: { realmId, ...scope } }) => {
      const done = await ctx.ports.managedScopes.set(await realmOf(ctx.ports, realmId), scope, ctx.audit("scope.changed"));
      if (!done) throw unknown();
      return scopeView(scope, false);
    }),

  /** Removes the operators' description; pages then show that of the default realm, the built-in one, or the scope's name. */
  remove: operatorProcedure
    .input(z.strictObject({ ...realmInput, name: ScopeName }))
    .mutation(async ({ ctx, input: { realmId, name } }) => {
      const done = await ctx.ports.managedScopes.remove(await realmOf(ctx.ports, realmId), name, ctx.audit("scope.removed"));
      if (!done) throw unknown();
      return { name };
    }),
});
