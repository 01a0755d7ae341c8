import { z } from "zod";
import { BUILT_IN_SCOPES, type ScopeDescription } from "../../accounts/scope-descriptions.ts";
import { Refusal } from "../../errors.ts";
import { RecordId } from "../inputs.ts";
import { ScopeDescriptionInput, ScopeName } from "../scope-inputs.ts";
import { operatorProcedure, realmOf, router } from "../trpc.ts";

/** Default: the default realm. */
const realm = { realmId: RecordId.optional() };

const unknown = () => new Refusal("not_found", "scope_or_realm_unknown", { description: "Not found." });

const scopeView = ({ name, title, detail }: ScopeDescription, builtIn: boolean) => ({ name, title, detail, builtIn });

/** Descriptions of scopes for the consent and account pages. */
export const operatorScopesRouter = router({
  /** The operators' descriptions, and the built-in ones that they have not replaced. */
  list: operatorProcedure.input(z.strictObject(realm).default({})).query(async ({ ctx, input: { realmId } }) => {
    const described = await ctx.ports.managedScopes.all(await realmOf(ctx.ports, realmId));
    const replaced = new Set(described.map(({ name }) => name));
    const builtIn = BUILT_IN_SCOPES.filter(({ name }) => !replaced.has(name));
    return { scopes: [...described.map((scope) => scopeView(scope, false)), ...builtIn.map((scope) => scopeView(scope, true))] };
  }),

  set: operatorProcedure
    .input(z.strictObject({ ...realm, ...ScopeDescriptionInput.shape }))
    .mutation(async ({ ctx, input: { realmId, ...scope } }) => {
      const done = await ctx.ports.managedScopes.set(await realmOf(ctx.ports, realmId), scope, ctx.audit("scope.changed"));
      if (!done) throw unknown();
      return scopeView(scope, false);
    }),

  /** Removes the operators' description; pages then show the built-in one, or the scope's name. */
  remove: operatorProcedure.input(z.strictObject({ ...realm, name: ScopeName })).mutation(async ({ ctx, input: { realmId, name } }) => {
    const done = await ctx.ports.managedScopes.remove(await realmOf(ctx.ports, realmId), name, ctx.audit("scope.removed"));
    if (!done) throw unknown();
    return { name };
  }),
});
