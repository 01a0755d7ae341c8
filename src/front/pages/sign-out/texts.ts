import { catalogue } from "../../texts/language.ts";

export const signOutTexts = catalogue({
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
