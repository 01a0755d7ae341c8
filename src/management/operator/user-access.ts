import { z } from "zod";
import { mailOf } from "../../accounts/mails.ts";
import { inMilliseconds, milliseconds } from "../../clock.ts";
import { Refusal } from "../../errors.ts";
import { found } from "../clients.ts";
import { identifier, inParts, language, listing, RecordId, search } from "../inputs.ts";
import type { ManagementPorts } from "../ports.ts";
import { operatorProcedure, provenOperatorProcedure, router } from "../trpc.ts";
import { consentView, ownConsentView, pageView, sessionView } from "../views.ts";

const OfUser = z.strictObject({ userId: RecordId });
const BY_OPERATOR = "by_operator";

/** @throws {Refusal} not_found */
const userOf = async ({ users }: ManagementPorts, userId: string) => found(await users.byId(userId));

/** Ways to sign in besides the password. An operator can take them away, never add one; the user gets a mail. */
export const operatorFactorsRouter = router({
  list: operatorProcedure.input(OfUser).query(async ({ ctx: { ports }, input: { userId } }) => {
    await userOf(ports, userId);
    const [{ appAddedAt, recoveryCodes }, passkeys] = await Promise.all([
      ports.secondFactors.stateOf(userId),
      ports.passkeys.ofUser(userId),
    ]);
    return {
      authenticatorApp: appAddedAt === null ? null : { addedAt: milliseconds(appAddedAt), recoveryCodes },
      passkeys: passkeys.map(({ backedUp: _, ...passkey }) => inMilliseconds(passkey, "createdAt", "lastUsedAt", "copiedAt")),
    };
  }),

  /** Removes the authenticator app with its recovery codes, of a user who has lost both. */
  removeApp: provenOperatorProcedure.input(OfUser.extend({ language })).mutation(async ({ ctx, input: { userId, language: of } }) => {
    const user = await userOf(ctx.ports, userId);
    const audit = ctx.audit("second_factor.removed", { userId, reason: BY_OPERATOR });
    const message = mailOf("secondFactorRemoved", ctx.ports, user, { language: of });
    if (!(await ctx.ports.secondFactors.remove(userId, undefined, message, audit)))
      throw new Refusal("not_found", "second_factor_unknown", { description: "The user has no authenticator app." });
    return { userId };
  }),

  removePasskey: provenOperatorProcedure
    .input(OfUser.extend({ id: RecordId, language }))
    .mutation(async ({ ctx, input: { userId, id, language: of } }) => {
      const user = await userOf(ctx.ports, userId);
      const audit = ctx.audit("passkey.removed", { userId, reason: BY_OPERATOR });
      const message = mailOf("passkeyRemoved", ctx.ports, user, { language: of });
      const outcome = await ctx.ports.passkeys.remove(id, userId, undefined, message, audit);
      if (outcome === "unknown") throw new Refusal("not_found", "passkey_unknown", { description: "The user has no such passkey." });
      if (outcome === "last")
        throw new Refusal("conflict", "last_way_in", { description: "This is the user's only way to sign in. Disable the user instead." });
      return { userId, id };
    }),
});

export const operatorSessionsRouter = router({
  list: operatorProcedure.input(OfUser).query(async ({ ctx: { ports }, input: { userId } }) => {
    await userOf(ports, userId);
    return { sessions: (await ports.sessions.ofUser(userId)).map(sessionView) };
  }),

  /** Ends one session, or without `id` all of them with the user's refresh tokens. */
  end: operatorProcedure.input(OfUser.extend({ id: RecordId.optional() })).mutation(async ({ ctx, input: { userId, id } }) => {
    await userOf(ctx.ports, userId);
    const audit = ctx.audit("session.ended", { userId, reason: BY_OPERATOR });
    if (id === undefined) await ctx.ports.sessions.endAll(userId, audit);
    else if (!(await ctx.ports.sessions.endOne(id, userId, audit)))
      throw new Refusal("not_found", "session_unknown", { description: "The user has no such session." });
    return { userId };
  }),
});

/** What users allowed applications. An operator can revoke it, never give it. */
export const operatorConsentsRouter = router({
  list: operatorProcedure.input(OfUser).query(async ({ ctx: { ports }, input: { userId } }) => {
    await userOf(ports, userId);
    return { consents: (await ports.consents.ofUser(userId)).map(ownConsentView) };
  }),

  /** Who allowed what to one client, which may be one without a record: that of a metadata document. */
  ofClient: operatorProcedure
    .input(z.strictObject({ ...listing(["created"]), clientId: identifier.nonoptional(), search }))
    .query(async ({ ctx, input }) => {
      const [{ clientId, ...filter }, part] = inParts(input);
      return pageView("consents", await ctx.ports.clientConsents.list(clientId, filter, part), consentView);
    }),

  /** Revokes a consent, with every token that the application got by it. */
  revoke: operatorProcedure.input(OfUser.extend({ id: RecordId })).mutation(async ({ ctx, input: { userId, id } }) => {
    const audit = ctx.audit("consent.revoked", { userId, reason: BY_OPERATOR });
    if (!(await ctx.ports.consents.revoke(id, userId, audit)))
      throw new Refusal("not_found", "consent_unknown", { description: "The user has given no such consent." });
    return { userId, id };
  }),
});
