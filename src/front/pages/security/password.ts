import { changePassword } from "../../../accounts/password-change.ts";
import type { User } from "../../../accounts/ports.ts";
import { type Language, TEXTS } from "../../../texts/languages.ts";
import { assertShape, PasswordBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { callerOf } from "../../http/address.ts";
import { languageOf } from "../../http/language.ts";
import type { FrontContext, Handler } from "../../http/routes.ts";
import { provedForm, provedPage } from "../fresh-proof.ts";
import { accountToken, failedForm, type PageKit } from "../kit.ts";
import { accountFrame } from "../views/account-frame.ts";
import {
  accountName,
  type FailedForm,
  type FormPage,
  faultSummary,
  field,
  type HostedPage,
  hidden,
  html,
  type Site,
  sendPage,
} from "../views/layout.ts";

/** GET and POST /account/security/password: a new password, and a new session for this browser with it. */
export function passwordPage(kit: PageKit): { readonly GET: Handler; readonly POST: Handler } {
  const { ports, cookies, site } = kit;
  const show = (ctx: FrontContext, user: User, { faults = [], status }: FailedForm = {}): void =>
    sendPage(ctx, passwordView(site, languageOf(ctx), { token: accountToken(kit, ctx, user), email: user.email, faults }), status);
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

interface PasswordPage extends Pick<FormPage, "token" | "faults"> {
  readonly email: string;
}

/** Asks for a new password, or the first one. */
function passwordView(site: Site, language: Language, { token, email, faults }: PasswordPage): HostedPage {
  const texts = TEXTS[language].security;
  return accountFrame(
    site,
    { language, path: "/account/security", title: texts.passwordTitle, faults },
    html`<section class="card">
<p>${texts.passwordText}</p>
${faultSummary(language, faults)}
<form method="post" action="${site.path("/account/security/password")}" class="stack" novalidate>
${hidden(token)}
${accountName(email)}
${field(language, faults, { name: "password", label: texts.newPassword, type: "password", autocomplete: "new-password", autofocus: true, hint: texts.passwordHint })}
<button class="button" type="submit">${texts.passwordSubmit}</button>
</form>
<p class="small after-form"><a href="${site.path("/account/security")}">${texts.passwordKeep}</a></p>
</section>`,
  );
}
