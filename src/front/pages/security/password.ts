import { changePassword } from "../../../accounts/password-change.ts";
import { assertShape, PasswordBody } from "../../auth/shapes.ts";
import { donePath } from "../../done.ts";
import { provedFormPage } from "../fresh-proof.ts";
import { accountToken } from "../kit.ts";
import { sendAccountPage } from "../views/cards.ts";
import { accountName, faultSummary, field, hidden, html } from "../views/layout.ts";

/** GET and POST /account/security/password: a new password, or the first one, and a new session for this browser with it. */
export const passwordPage = provedFormPage(
  ["password"],
  (visit, { user }, { faults = [], status }) => {
    const { site, language } = visit;
    const { security: texts, words } = visit.texts;
    const content = html`<section class="card">
<p>${texts.passwordText}</p>
${faultSummary(language, faults)}
<form method="post" action="${site.path("/account/security/password")}" class="stack" novalidate>
${hidden(accountToken(visit, user))}
${accountName(user.email)}
${field(language, faults, { name: "password", label: words.newPassword, type: "password", autocomplete: "new-password", autofocus: true, hint: words.passwordHint })}
<button class="button" type="submit">${words.changePassword}</button>
</form>
<p class="small after-form"><a href="${site.path("/account/security")}">${texts.passwordKeep}</a></p>
</section>`;
    sendAccountPage(visit, { path: "/account/security", title: words.choosePassword, faults }, content, status);
  },
  async (visit, form, { user }) => {
    const { cookies, ports } = visit;
    const { password } = assertShape(PasswordBody, { password: form.get("password") ?? "" });
    const secret = await changePassword(user, password, cookies.session(visit.ctx) ?? "", ports, visit.caller);
    cookies.startSession(visit.ctx, secret, ports.sessionTtl);
    return donePath(visit, "/account/security", "password");
  },
);
