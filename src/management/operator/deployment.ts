import { z } from "zod";
import { senderOf, testMail } from "../../accounts/mails.ts";
import { found } from "../clients.ts";
import { language } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";

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
