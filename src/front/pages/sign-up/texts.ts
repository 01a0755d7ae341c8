import type { Catalogue } from "../../texts/language.ts";

export interface SignUpTexts {
  readonly title: string;
  readonly lead: string;
  readonly email: string;
  readonly password: string;
  readonly passwordHint: string;
  readonly firstName: string;
  readonly lastName: string;
  readonly submit: string;
  readonly haveAccount: string;
  readonly signIn: string;
}

export const signUpTexts: Catalogue<SignUpTexts> = {
  en: {
    title: "Create your account",
    lead: "One account for every application and agent that acts for you.",
    email: "E-mail address",
    password: "Password",
    passwordHint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.",
    firstName: "First name",
    lastName: "Last name",
    submit: "Create account",
    haveAccount: "You have an account?",
    signIn: "Sign in",
  },
  de: {
    title: "Konto anlegen",
    lead: "Ein Konto für alle Anwendungen und Agenten, die für Sie handeln.",
    email: "E-Mail-Adresse",
    password: "Passwort",
    passwordHint: "Mindestens 8 Zeichen. Einige Wörter hintereinander sind leicht zu merken und schwer zu erraten.",
    firstName: "Vorname",
    lastName: "Nachname",
    submit: "Konto anlegen",
    haveAccount: "Sie haben schon ein Konto?",
    signIn: "Anmelden",
  },
};
