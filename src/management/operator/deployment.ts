import { z } from "zod";
import { senderOf, testMail } from "../../accounts/mails.ts";
import { keyUri } from "../../audit.ts";
import { Refusal } from "../../errors.ts";
import { found } from "../clients.ts";
import { language } from "../inputs.ts";
import { operatorProcedure, provenOperatorProcedure, router } from "../trpc.ts";
import { publishedKeyView } from "../views.ts";

/** How the process that answers is configured and used. Settings come from its environment, so that nothing here changes them. */
export const operatorDeploymentRouter = router({
  get: operatorProcedure.query(({ ctx }) => ctx.ports.deployment()),

  /** Every setting with its origin, without secrets, and the limits on requests. */
  settings: operatorProcedure.query(({ ctx }) => ctx.ports.settings),

  /** Sends a mail to the caller's own address. */
  testMail: operatorProcedure
    .input(z.strictObject({ language }).prefault({}))
    .mutation(async ({ ctx: { ports, caller }, input: { language: of } }) => {
      const { id, email, realmId } = found(await ports.users.byId(caller.userId));
      await ports.notices.send(id, email, testMail(of, senderOf(ports, realmId)));
      return { email };
    }),
});

/** The public keys of all cores. @see docs/keys.md */
export const operatorSigningKeysRouter = router({
  /** All of them: a core has one, and one more for each rotation. */
  list: operatorProcedure.query(async ({ ctx }) => ({ signingKeys: (await ctx.ports.publishedKeys.all()).map(publishedKeyView) })),

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
