import { type Language, TEXTS } from "../../../texts/languages.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { type HostedPage, hidden, html, type Site } from "../views/layout.ts";

/** Asks before signing out: a link on another site must not sign the user out. */
export function signOutView(site: Site, language: Language, { token, email }: Readonly<Record<"token" | "email", string>>): HostedPage {
  const texts = TEXTS[language].signOut;
  return formView(site, language, {
    title: texts.title,
    heading: texts.question,
    lead: html`${texts.signedInAs} <strong>${email}</strong>. ${texts.accessStays}`,
    action: site.path("/logout"),
    members: hidden(token),
    submit: texts.submit,
    below: html`<a href="${site.path("/account")}">${texts.stay}</a>`,
  });
}

/** After a sign-out request of an application that cannot be verified: the user stays signed in and is not redirected. */
export function badLogoutRequestView(site: Site, language: Language): HostedPage {
  const { title, text, signOut } = TEXTS[language].signOut.badRequest;
  return noticeView(site, language, { tone: "bad", title, text, more: wideLink(site.path("/logout"), signOut) });
}

export function signedOutView(site: Site, language: Language): HostedPage {
  const { title, text, signIn } = TEXTS[language].signOut.signedOut;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/login"), signIn) });
}
