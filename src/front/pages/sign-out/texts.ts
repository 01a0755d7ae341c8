import type { Catalogue } from "../../texts/language.ts";

export interface SignOutTexts {
  readonly title: string;
  readonly question: string;
  /** Before the e-mail address. */
  readonly signedInAs: string;
  readonly accessStays: string;
  readonly submit: string;
  readonly stay: string;
  /** An application's request to sign out cannot be trusted. */
  readonly badRequest: { readonly title: string; readonly text: string; readonly signOut: string };
}

export const signOutTexts: Catalogue<SignOutTexts> = {
  en: {
    title: "Sign out",
    question: "Sign out?",
    signedInAs: "You are signed in as",
    accessStays: "Applications that you allowed keep their access.",
    submit: "Sign out",
    stay: "Stay signed in",
    badRequest: {
      title: "You are not signed out",
      text: "An application asked to sign you out, but its request was not in order. You can do it here.",
      signOut: "Sign out here",
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
      title: "Sie wurden nicht abgemeldet",
      text: "Eine Anwendung wollte Sie abmelden, aber ihre Anfrage war nicht in Ordnung. Sie können es hier selbst tun.",
      signOut: "Hier abmelden",
    },
  },
};
