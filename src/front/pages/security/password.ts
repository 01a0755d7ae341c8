import { changePassword } from "../../../accounts/password-change.ts";
import { TEXTS } from "../../../texts/languages.ts";
import { assertShape, PasswordBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { callerOf, languageOf } from "../../http/caller.ts";
import type { Handler } from "../../http/routes.ts";
import { provedFormPage } from "../fresh-proof.ts";
import { accountToken, type PageKit } from "../kit.ts";
import { accountFrame } from "../views/account-frame.ts";
import { accountName, faultSummary, field, hidden, html, sendPage } from "../views/layout.ts";

/** GET and POST /account/security/password: a new password, or the first one, and a new session for this browser with it. */
export const passwordPage = (kit: PageKit): { readonly GET: Handler; readonly POST: Handler } =>
  provedFormPage(
    kit,
    ["password"],
    (ctx, { user }, { faults = [], status }) => {
      const { site } = kit;
      const language = languageOf(ctx);
      const texts = TEXTS[language].security;
      const content = html`<section class="card">
<p>${texts.passwordText}</p>
${faultSummary(language, faults)}
<form method="post" action="${site.path("/account/security/password")}" class="stack" novalidate>
${hidden(accountToken(kit, ctx, user))}
${accountName(user.email)}
${field(language, faults, { name: "password", label: texts.newPassword, type: "password", autocomplete: "new-password", autofocus: true, hint: texts.passwordHint })}
<button class="button" type="submit">${texts.passwordSubmit}</button>
</form>
<p class="small after-form"><a href="${site.path("/account/security")}">${texts.passwordKeep}</a></p>
</section>`;
      sendPage(ctx, accountFrame(site, { language, path: "/account/security", title: texts.passwordTitle, faults }, content), status);
    },
    async (ctx, form, { user }) => {
      const { cookies, ports } = kit;
      const { password } = assertShape(PasswordBody, { password: form.get("password") ?? "" });
      const secret = await changePassword(user, password, cookies.session(ctx) ?? "", ports, callerOf(ctx));
      cookies.startSession(ctx, secret, ports.sessionTtl);
      return donePath(kit, ctx, "/account/security", "password");
    },
  );
