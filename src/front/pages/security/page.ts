import { CURRENT_PASSWORD } from "../../../accounts/authenticators/password.ts";
import { changePassword } from "../../../accounts/password-change.ts";
import type { SignedIn } from "../../../accounts/ports.ts";
import { signOutElsewhere, signOutOthers } from "../../../accounts/sessions.ts";
import { assertShape, PasswordBody } from "../../auth/shapes.ts";
import { callerOf } from "../../http/address.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { languageOf } from "../../texts/language.ts";
import { ACCOUNT_PURPOSE, accountForm, accountPageHandler, failedForm, goneAfter, type PageKit } from "../kit.ts";
import { sendPage } from "../views/layout.ts";
import { type SecurityPage, securityView } from "./view.ts";

type Shown = Partial<Pick<SecurityPage, "done" | "faults">> & { readonly status?: number };

async function show({ ports, guard, site }: PageKit, ctx: FrontContext, { user, session }: SignedIn, shown: Shown): Promise<void> {
  const { done, faults = [], status } = shown;
  const sessions = await ports.sessions.ofUser(user.id);
  const token = guard.token(ctx, ACCOUNT_PURPOSE);
  sendPage(ctx, securityView(site, languageOf(ctx), { token, sessions, current: session.id, done, faults }), status);
}

/** GET /account/security: the password, and where the user is signed in. */
export const securityPage = (kit: PageKit): Handler =>
  accountPageHandler(kit, (ctx, { signedIn, done }) => show(kit, ctx, signedIn, { done }));

/** POST /account/password: a new password, and a new session for this browser with it. */
export const passwordPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, signedIn) => {
    const { ports, cookies } = kit;
    try {
      const passwords = assertShape(PasswordBody, {
        currentPassword: form.get(CURRENT_PASSWORD) ?? "",
        password: form.get("password") ?? "",
      });
      cookies.startSession(ctx, await changePassword(signedIn.user, passwords, ports, callerOf(ctx)), ports.sessionTtl);
      return "/account/security?done=password";
    } catch (error) {
      await show(kit, ctx, signedIn, failedForm(ctx, error, [CURRENT_PASSWORD, "password"]));
      return undefined;
    }
  });

/** POST /account/sessions/end: signs out one session elsewhere. */
export const endSessionPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, form, { user }) => {
    await goneAfter(signOutElsewhere(form.get("session") ?? "", user.id, kit.ports.sessions, callerOf(ctx)));
    return "/account/security?done=session";
  });

/** POST /account/sessions/end-others: signs out every session but this one. */
export const endOtherSessionsPage = (kit: PageKit): Handler =>
  accountForm(kit, async (ctx, _form, { user, session }) => {
    await signOutOthers(session.id, user.id, kit.ports.sessions, callerOf(ctx));
    return "/account/security?done=others";
  });
