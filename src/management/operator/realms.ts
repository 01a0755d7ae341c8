import { z } from "zod";
import { realmUri } from "../../audit.ts";
import { found } from "../clients.ts";
import { RecordId, RegistrationScopes } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { realmView } from "../views.ts";

/** Realms and the scopes that open registration may give in them; null: DEFAULT_DYNAMIC_REGISTRATION_SCOPES. */
export const operatorRealmsRouter = router({
  list: operatorProcedure.query(async ({ ctx }) => ({ realms: (await ctx.ports.managedRealms.all()).map(realmView) })),

  update: operatorProcedure
    .input(z.strictObject({ id: RecordId, dynamicRegistrationScopes: RegistrationScopes }))
    .mutation(async ({ ctx, input: { id, dynamicRegistrationScopes } }) =>
      realmView(
        found(
          await ctx.ports.managedRealms.setRegistrationScopes(
            id,
            dynamicRegistrationScopes,
            ctx.audit("realm.changed", {
              resources: [realmUri(id)],
              ...(dynamicRegistrationScopes !== null && { scope: dynamicRegistrationScopes.join(" ") }),
            }),
          ),
        ),
      ),
    ),
});
