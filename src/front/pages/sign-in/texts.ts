import { catalogue } from "../../texts/language.ts";

export const signInTexts = catalogue({
  en: {
    title: "Sign in",
    /** For a user who is already signed in. */
    titleAgain: "Confirm that it is you",
    /** Before the name of the application that waits. */
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
});
