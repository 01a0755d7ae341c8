import type { Catalogue } from "./language.ts";

export interface SignOutTexts {
  readonly title: string;
  readonly question: string;
  /** Before the e-mail address. */
  readonly signedInAs: string;
  readonly accessStays: string;
  readonly submit: string;
  readonly stay: string;
}

export const signOutTexts: Catalogue<SignOutTexts> = {
  en: {
    title: "Sign out",
    question: "Sign out?",
    signedInAs: "You are signed in as",
    accessStays: "Applications that you allowed keep their access.",
    submit: "Sign out",
    stay: "Stay signed in",
  },
  de: {
    title: "Abmelden",
    question: "Möchten Sie sich abmelden?",
    signedInAs: "Sie sind angemeldet als",
    accessStays: "Anwendungen, denen Sie es erlaubt haben, behalten ihren Zugriff.",
    submit: "Abmelden",
    stay: "Angemeldet bleiben",
  },
};
