import { revokeConsent } from "../../accounts/consents.ts";
import { resendVerification } from "../../accounts/registration.ts";
import { callerOf } from "../people-ports.ts";
import type { Handler } from "../routes.ts";
import { languageOf } from "../texts/language.ts";
import type { PageKit } from "./kit.ts";
import { ownForm, ownPage } from "./own.ts";
import { sendPage } from "./send.ts";
import { accountView } from "./views/account.ts";

/** GET /account: profile and the applications with access. */
export const accountPage = (kit: PageKit): Handler =>
  ownPage(kit, async (ctx, { signedIn: { user }, token, done }) => {
    const consents = await kit.ports.consents.ofUser(user.id);
    const described = await kit.ports.scopeDescriptions.of(user.realmId, [...new Set(consents.flatMap(({ scopes }) => scopes))]);
    sendPage(ctx, accountView(kit.site, languageOf(ctx), { user, consents, described, token, done }));
  });

/** POST /account/revoke: takes a consent back. */
export const revokePage = (kit: PageKit): Handler =>
  ownForm(kit, async (ctx, form, { user }) => {
    await revokeConsent(form.get("consent") ?? "", user.id, kit.ports.consents, callerOf(ctx));
    return "/account?done=revoked";
  });

/** POST /account/resend: another verification mail to the person's own address. */
export const resendOwnPage = (kit: PageKit): Handler =>
  ownForm(kit, async (ctx, _form, { user }) => {
    await resendVerification(user.email, kit.ports, callerOf(ctx));
    return "/account?done=resent";
  });
