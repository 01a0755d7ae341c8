import { catalogue } from "../../texts/language.ts";

export const forgottenPasswordTexts = catalogue({
  en: {
    title: "Forgot your password?",
    lead: "Enter the e-mail address of your account. We will send you a link to choose a new password.",
    email: "E-mail address",
    submit: "Send me the link",
    toSignIn: "Back to sign in",
    sent: {
      title: "Check your mail",
      text: "If there is an account with this address, we have sent it a link. The link works once, within 30 minutes.",
      nothingThere: "No message after a few minutes? Check your spam folder, and that this is the address you signed up with.",
    },
    choose: {
      title: "Choose a new password",
      lead: (email: string) => `For the account of ${email}. You will be signed out everywhere.`,
      password: "New password",
      passwordHint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.",
      submit: "Change password",
    },
    stale: {
      title: "This link no longer works",
      text: "It was already used, replaced by a newer one, or is more than 30 minutes old. Nothing was changed.",
      again: "Send a new link",
    },
    changed: {
      title: "Your password has been changed",
      text: "You have been signed out everywhere. Sign in with the new password.",
      signIn: "Sign in",
    },
  },
  de: {
    title: "Passwort vergessen?",
    lead: "Geben Sie die E-Mail-Adresse Ihres Kontos ein. Wir senden Ihnen einen Link, mit dem Sie ein neues Passwort wählen.",
    email: "E-Mail-Adresse",
    submit: "Link senden",
    toSignIn: "Zurück zur Anmeldung",
    sent: {
      title: "Sehen Sie in Ihr Postfach",
      text: "Wenn es ein Konto mit dieser Adresse gibt, haben wir ihr einen Link gesendet. Der Link funktioniert einmal, innerhalb von 30 Minuten.",
      nothingThere:
        "Nach einigen Minuten keine Nachricht? Prüfen Sie den Spam-Ordner und ob Sie sich mit dieser Adresse registriert haben.",
    },
    choose: {
      title: "Wählen Sie ein neues Passwort",
      lead: (email) => `Für das Konto von ${email}. Sie werden überall abgemeldet.`,
      password: "Neues Passwort",
      passwordHint: "Mindestens 8 Zeichen. Einige Wörter hintereinander sind leicht zu merken und schwer zu erraten.",
      submit: "Passwort ändern",
    },
    stale: {
      title: "Dieser Link gilt nicht mehr",
      text: "Er wurde schon benutzt, durch einen neueren ersetzt oder ist älter als 30 Minuten. Es wurde nichts geändert.",
      again: "Neuen Link senden",
    },
    changed: {
      title: "Ihr Passwort wurde geändert",
      text: "Sie wurden überall abgemeldet. Melden Sie sich mit dem neuen Passwort an.",
      signIn: "Anmelden",
    },
  },
});
