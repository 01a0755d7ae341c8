import { z } from "zod";
import { BUILT_IN_SCOPES, type ScopeDescription } from "../../accounts/scope-descriptions.ts";
import { Refusal } from "../../errors.ts";
import { inParts, listing, realmInput, search } from "../inputs.ts";
import type { ManagementPorts } from "../ports.ts";
import { ScopeDescriptionInput, ScopeName } from "../scope-inputs.ts";
import { operatorProcedure, realmOf, router } from "../trpc.ts";
import { pageView } from "../views.ts";

const unknown = () => new Refusal("not_found", "scope_or_realm_unknown", { description: "Not found." });

const Filter = z.strictObject({ ...realmInput, ...listing(["name"]), search });

const scopeView = ({ name, title, detail }: ScopeDescription, builtIn: boolean) => ({ name, title, detail, builtIn });

/** The built-in descriptions that a realm has not replaced, of those that a search finds. */
async function builtInScopes({ managedScopes }: ManagementPorts, realmId: string, sought = "") {
  const found = BUILT_IN_SCOPES.filter(({ name }) => name.includes(sought.toLowerCase()));
  const replaced = await managedScopes.of(
    realmId,
    found.map(({ name }) => name),
  );
  return found.filter(({ name }) => !replaced.has(name)).map((scope) => scopeView(scope, true));
}

/** Descriptions of scopes for the consent and account pages. */
export const operatorScopesRouter = router({
  /** The operators' descriptions; at their end, which is on the last page, the built-in ones that they have not replaced. */
  list: operatorProcedure.input(Filter.prefault({})).query(async ({ ctx, input }) => {
    const [{ search: sought }, part] = inParts<"name", typeof input>(input);
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

  /** Removes the operators' description; pages then show the built-in one, or the scope's name. */
  remove: operatorProcedure
    .input(z.strictObject({ ...realmInput, name: ScopeName }))
    .mutation(async ({ ctx, input: { realmId, name } }) => {
      const done = await ctx.ports.managedScopes.remove(await realmOf(ctx.ports, realmId), name, ctx.audit("scope.removed"));
      if (!done) throw unknown();
      return { name };
    }),
});
