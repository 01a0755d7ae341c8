import type { Catalogue } from "../../texts/language.ts";

export interface SignInTexts {
  readonly title: string;
  /** For a user who is already signed in. */
  readonly titleAgain: string;
  /** Before the name of the application that waits. */
  readonly toContinueTo: string;
  readonly email: string;
  readonly password: string;
  readonly submit: string;
  readonly forgotten: string;
  readonly newHere: string;
  readonly createAccount: string;
}

export const signInTexts: Catalogue<SignInTexts> = {
  en: {
    title: "Sign in",
    titleAgain: "Confirm that it is you",
    toContinueTo: "to continue to",
    email: "E-mail address",
    password: "Password",
    submit: "Sign in",
    forgotten: "Forgot your password?",
    newHere: "New here?",
    createAccount: "Create an account",
  },
  de: {
    title: "Anmelden",
    titleAgain: "Bestätigen Sie, dass Sie es sind",
    toContinueTo: "und weiter zu",
    email: "E-Mail-Adresse",
    password: "Passwort",
    submit: "Anmelden",
    forgotten: "Passwort vergessen?",
    newHere: "Neu hier?",
    createAccount: "Konto anlegen",
  },
};
