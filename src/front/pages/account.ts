import { revokeConsent } from "../../accounts/consents.ts";
import { resendVerification } from "../../accounts/registration.ts";
import { formBody } from "../middleware/body.ts";
import { callerOf } from "../people-ports.ts";
import type { Handler } from "../routes.ts";
import { languageOf } from "../texts/language.ts";
import { type PageKit, queryMember, signedInTo } from "./kit.ts";
import { sendPage, sendRedirect } from "./send.ts";
import { accountView } from "./views/account.ts";

/** The purpose of the token in every form of a signed-in person's own pages. */
export const ACCOUNT_PURPOSE = "account";

/** GET /account: profile and consents. */
export const accountPage =
  (kit: PageKit): Handler =>
  async (ctx) => {
    const { ports, guard, site } = kit;
    const signedIn = await signedInTo(kit, ctx);
    if (!signedIn) return sendRedirect(ctx, site.path("/login"), 302);
    const consents = await ports.consents.ofUser(signedIn.user.id);
    const done = queryMember(ctx, "done");
    const page = { user: signedIn.user, consents, token: guard.token(ctx, ACCOUNT_PURPOSE) };
    sendPage(ctx, accountView(site, languageOf(ctx), { ...page, done: done === "revoked" || done === "resent" ? done : undefined }));
  };

/** POST /account/revoke: takes a consent back. */
export const revokePage =
  (kit: PageKit): Handler =>
  async (ctx) => {
    const form = await formBody(ctx);
    kit.guard.assert(ctx, form, ACCOUNT_PURPOSE);
    const signedIn = await signedInTo(kit, ctx);
    if (!signedIn) return sendRedirect(ctx, kit.site.path("/login"), 303);
    await revokeConsent(form.get("consent") ?? "", signedIn.user.id, kit.ports.consents, callerOf(ctx));
    sendRedirect(ctx, kit.site.path("/account?done=revoked"), 303);
  };

/** POST /account/resend: another verification mail to the person's own address. */
export const resendOwnPage =
  (kit: PageKit): Handler =>
  async (ctx) => {
    const form = await formBody(ctx);
    kit.guard.assert(ctx, form, ACCOUNT_PURPOSE);
    const signedIn = await signedInTo(kit, ctx);
    if (!signedIn) return sendRedirect(ctx, kit.site.path("/login"), 303);
    await resendVerification(signedIn.user.email, kit.ports, callerOf(ctx));
    sendRedirect(ctx, kit.site.path("/account?done=resent"), 303);
  };
