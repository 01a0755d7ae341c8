import { type Language, TEXTS } from "../../../texts/languages.ts";
import { accountFrame } from "../views/account-frame.ts";
import { accountName, type FormPage, faultSummary, field, type HostedPage, hidden, html, type Site } from "../views/layout.ts";

interface PasswordPage extends Pick<FormPage, "token" | "faults"> {
  readonly email: string;
}

/** Asks for a new password, or the first one. */
export function passwordView(site: Site, language: Language, { token, email, faults }: PasswordPage): HostedPage {
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
