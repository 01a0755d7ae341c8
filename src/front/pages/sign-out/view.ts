import { catalogue, type Language } from "../../texts/language.ts";
import { formView, noticeView, wideLink } from "../views/cards.ts";
import { hidden, html, type Markup, type Site } from "../views/layout.ts";

/** Asks before signing out: a link on another site must not sign the user out. */
export function signOutView(site: Site, language: Language, { token, email }: Readonly<Record<"token" | "email", string>>): Markup {
  const texts = signOutTexts[language];
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
export function badLogoutRequestView(site: Site, language: Language): Markup {
  const { title, text, signOut } = signOutTexts[language].badRequest;
  return noticeView(site, language, { tone: "bad", title, text, more: wideLink(site.path("/logout"), signOut) });
}

export function signedOutView(site: Site, language: Language): Markup {
  const { title, text, signIn } = signOutTexts[language].signedOut;
  return noticeView(site, language, { tone: "good", title, text, more: wideLink(site.path("/login"), signIn) });
}

const signOutTexts = catalogue({
  en: {
    title: "Sign out",
    question: "Sign out?",
    /** Before the e-mail address. */
    signedInAs: "You are signed in as",
    accessStays: "Applications that you allowed keep their access.",
    submit: "Sign out",
    stay: "Stay signed in",
    /** For an application's request to sign out that cannot be verified. */
    badRequest: {
      title: "You are still signed in",
      text: "An app asked to sign you out, but we could not verify its request.",
      signOut: "Sign out here",
    },
    signedOut: {
      title: "You are signed out",
      text: "On a device that others use too, close the browser as well.",
      signIn: "Sign in again",
    },
  },
  de: {
    title: "Abmelden",
    question: "Möchten Sie sich abmelden?",
    signedInAs: "Sie sind angemeldet als",
    accessStays: "Anwendungen, denen Sie es erlaubt haben, behalten ihren Zugriff.",
    submit: "Abmelden",
    stay: "Angemeldet bleiben",
    badRequest: {
      title: "Sie sind noch angemeldet",
      text: "Eine App wollte Sie abmelden, aber wir konnten ihre Anfrage nicht prüfen.",
      signOut: "Hier abmelden",
    },
    signedOut: {
      title: "Sie sind abgemeldet",
      text: "Wenn auch andere dieses Gerät benutzen, schließen Sie bitte auch den Browser.",
      signIn: "Wieder anmelden",
    },
  },
});
