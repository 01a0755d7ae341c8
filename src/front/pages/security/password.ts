import { changePassword } from "../../../accounts/password-change.ts";
import { assertShape, PasswordBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { provedForm, provedPage } from "../fresh-proof.ts";
import { ACCOUNT_PURPOSE, failedForm, type PageKit } from "../kit.ts";
import { type FailedForm, sendPage } from "../views/layout.ts";
import { passwordView } from "./password-view.ts";

/** GET and POST /account/security/password: a new password, and a new session for this browser with it. */
export function passwordPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, cookies, guard, site } = kit;
  const show = (ctx: FrontContext, { email }: { readonly email: string }, { faults = [], status }: FailedForm = {}): void =>
    sendPage(ctx, passwordView(site, languageOf(ctx), { token: guard.token(ctx, ACCOUNT_PURPOSE), email, faults }), status);
  return {
    GET: provedPage(kit, (ctx, { signedIn }) => show(ctx, signedIn.user)),
    POST: provedForm(kit, async (ctx, form, { user }) => {
      try {
        const { password } = assertShape(PasswordBody, { password: form.get("password") ?? "" });
        const secret = await changePassword(user, password, cookies.session(ctx) ?? "", ports, callerOf(ctx));
        cookies.startSession(ctx, secret, ports.sessionTtl);
        return donePath(kit, ctx, "/account/security", "password");
      } catch (error) {
        show(ctx, user, failedForm(ctx, error, ["password"]));
      }
    }),
  };
}
