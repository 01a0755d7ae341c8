import { z } from "zod";
import { realmUri } from "../../audit.ts";
import { found } from "../clients.ts";
import { RecordId, RegistrationScopes } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";

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
