import { z } from "zod";
import type { Consent } from "../../accounts/ports.ts";
import { milliseconds } from "../../clock.ts";
import { Refusal } from "../../errors.ts";
import { found } from "../clients.ts";
import { identifier, inParts, listing, RecordId, search } from "../inputs.ts";
import { operatorProcedure, router } from "../trpc.ts";
import { millisecondsOrNull, pageView } from "../views.ts";

const OfUser = z.strictObject({ userId: RecordId });

const consentView = <Shown extends Omit<Consent, "userId">>({ createdAt, updatedAt, lastUsedAt, ...consent }: Shown) => ({
  ...consent,
  createdAt: milliseconds(createdAt),
  updatedAt: millisecondsOrNull(updatedAt),
  lastUsedAt: millisecondsOrNull(lastUsedAt),
});

/** What users allowed applications. An operator can revoke it, never give it. */
export const operatorConsentsRouter = router({
  list: operatorProcedure.input(OfUser).query(async ({ ctx: { ports }, input: { userId } }) => {
    found(await ports.users.byId(userId));
    const consents = await ports.consents.ofUser(userId);
    return { consents: consents.map(({ userId: _, ...consent }) => consentView(consent)) };
  }),

  /** Who allowed what to one client, which may be one without a record: that of a metadata document. */
  ofClient: operatorProcedure
    .input(z.strictObject({ ...listing(["created"]), clientId: identifier.nonoptional(), search }))
    .query(async ({ ctx, input }) => {
      const [{ clientId, ...filter }, part] = inParts<"created", typeof input>(input);
      return pageView("consents", await ctx.ports.clientConsents.list(clientId, filter, part), consentView);
    }),

  /** Revokes a consent, with every token that the application got by it. */
  revoke: operatorProcedure.input(OfUser.extend({ id: RecordId })).mutation(async ({ ctx, input: { userId, id } }) => {
    const audit = ctx.audit("consent.revoked", { userId, reason: "by_operator" });
    if (!(await ctx.ports.consents.revoke(id, userId, audit)))
      throw new Refusal("not_found", "consent_unknown", { description: "The user has given no such consent." });
    return { userId, id };
  }),
});
