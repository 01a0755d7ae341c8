import { z } from "zod";
import { ROLES } from "../../accounts/ports.ts";
import { realmUri } from "../../audit.ts";
import { Refusal } from "../../errors.ts";
import { found } from "../clients.ts";
import { paging, RecordId, RegistrationScopes, search } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { pageView, userView } from "../views.ts";

const ById = z.strictObject({ id: RecordId });
const Filter = z.strictObject({ ...paging, role: z.enum(ROLES).optional(), enabled: z.boolean().optional(), search });

/** Operators cannot lock themselves out, for they may be the last. */
function assertNotOneself(callerId: string, id: string): void {
  if (callerId === id) throw new Refusal("conflict", "operator_changes_own_account", { description: "This is your own account." });
}

export const operatorUsersRouter = router({
  list: operatorProcedure
    .input(Filter.prefault({}))
    .query(async ({ ctx, input: { limit, cursor, ...filter } }) =>
      pageView("users", await ctx.ports.users.list(filter, limit, cursor), userView),
    ),

  get: operatorProcedure.input(ById).query(async ({ ctx, input }) => userView(found(await ctx.ports.users.byId(input.id)))),

  disable: operatorProcedure.input(ById).mutation(async ({ ctx, input: { id } }) => {
    assertNotOneself(ctx.caller.userId, id);
    const audit = ctx.audit("user.changed", { userId: id, reason: "disabled" });
    return userView(found(await ctx.ports.users.setEnabled(id, false, audit)));
  }),

  enable: operatorProcedure.input(ById).mutation(async ({ ctx, input: { id } }) => {
    const audit = ctx.audit("user.changed", { userId: id, reason: "enabled" });
    return userView(found(await ctx.ports.users.setEnabled(id, true, audit)));
  }),

  setRole: operatorProcedure.input(z.strictObject({ id: RecordId, role: z.enum(ROLES) })).mutation(async ({ ctx, input: { id, role } }) => {
    assertNotOneself(ctx.caller.userId, id);
    const audit = ctx.audit("user.changed", { userId: id, reason: `role_${role}` });
    return userView(found(await ctx.ports.users.setRole(id, role, audit)));
  }),
});

/** Realms and the scopes that open registration may give in them; null: DEFAULT_DYNAMIC_REGISTRATION_SCOPES. */
export const operatorRealmsRouter = router({
  list: operatorProcedure.query(async ({ ctx }) => ({ realms: await ctx.ports.managedRealms.all() })),

  update: operatorProcedure
    .input(z.strictObject({ id: RecordId, dynamicRegistrationScopes: RegistrationScopes }))
    .mutation(async ({ ctx, input: { id, dynamicRegistrationScopes: scopes } }) => {
      const about = { resources: [realmUri(id)], ...(scopes !== null && { scope: scopes.join(" ") }) };
      return found(await ctx.ports.managedRealms.setRegistrationScopes(id, scopes, ctx.audit("realm.changed", about)));
    }),
});
