import { type Language, TEXTS } from "../../../texts/languages.ts";
import { type FormPage, faultSummary, type HostedPage, hidden, html, layout, type Site } from "../views/layout.ts";
import { passkeyForm, passkeyHead } from "../views/passkey-form.ts";
import { clientLine, type ShownClient } from "../views/words.ts";

interface SetUpPage extends Pick<FormPage, "token" | "returnTo" | "faults"> {
  /** The class of sign-in that is demanded. */
  readonly needed: "mfa" | "phr";
  /** The application that demands it; undefined: this site. */
  readonly client: ShownClient | undefined;
  /** What can be set up here and would do. */
  readonly passkeys: boolean;
  readonly app: boolean;
}

export function setUpView(site: Site, language: Language, page: SetUpPage): HostedPage {
  const { token, returnTo, needed, client, passkeys, app, faults } = page;
  const { setUp: texts, signIn, security, authenticatorApp } = TEXTS[language];
  const members = hidden(token, returnTo);
  return layout(
    site,
    { language, title: texts.title, faults, ...(passkeys && { head: passkeyHead(site) }) },
    html`<section class="card">
<h1>${texts.title}</h1>
${client && html`<p class="lead">${signIn.toContinueTo} ${clientLine(language, client)}</p>`}
<p class="lead">${texts.needed[needed]}</p>
${faultSummary(language, faults)}
${
  passkeys &&
  html`${passkeyForm(site, {
    ...{ kind: "add", path: "/account/security/passkeys", members, quiet: false },
    ...{ submit: security.passkeyAdd, failure: security.passkeyAddFailed, known: security.passkeyKnown },
  })}
<noscript><p class="small">${security.passkeyNeedsScripts}</p></noscript>`
}
${
  app &&
  html`<form method="post" action="${site.path("/account/security/app/begin")}" class="stack">
${members}
<button class="button button-wide${passkeys && html` button-quiet`}" type="submit">${authenticatorApp.setUp}</button>
</form>`
}
<form method="post" action="${site.path("/login/set-up")}" class="stack">
${members}
<button class="button button-quiet button-wide" type="submit" name="later" value="yes">${texts.later}</button>
</form>
</section>`,
  );
}
