import type { Catalogue } from "../../texts/language.ts";

export interface ForgottenPasswordTexts {
  readonly title: string;
  readonly lead: string;
  readonly email: string;
  readonly submit: string;
  readonly toSignIn: string;
  readonly sent: { readonly title: string; readonly text: string; readonly nothingThere: string };
  readonly choose: {
    readonly title: string;
    readonly lead: (email: string) => string;
    readonly password: string;
    readonly passwordHint: string;
    readonly submit: string;
  };
  readonly stale: { readonly title: string; readonly text: string; readonly again: string };
  readonly changed: { readonly title: string; readonly text: string; readonly signIn: string };
}

export const forgottenPasswordTexts: Catalogue<ForgottenPasswordTexts> = {
  en: {
    title: "Forgotten your password?",
    lead: "Tell us the e-mail address of your account. A message with a link will let you choose a new password.",
    email: "E-mail address",
    submit: "Send me the link",
    toSignIn: "Back to sign in",
    sent: {
      title: "Check your mail",
      text: "If there is an account with this address, a message with a link is on its way to it. The link works once, within 30 minutes.",
      nothingThere: "Nothing there after a few minutes? Look among the spam, and whether the address is the one that you signed up with.",
    },
    choose: {
      title: "Choose a new password",
      lead: (email) => `For the account of ${email}. Everything that is signed in to it now will be signed out.`,
      password: "New password",
      passwordHint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.",
      submit: "Change password",
    },
    stale: {
      title: "This link no longer works",
      text: "It was used already, a newer one has taken its place, or it is more than 30 minutes old. It changed nothing now.",
      again: "Ask for a new link",
    },
    changed: {
      title: "Your password has been changed",
      text: "Everything that was signed in has been signed out. Sign in with the new password.",
      signIn: "Sign in",
    },
  },
  de: {
    title: "Passwort vergessen?",
    lead: "Nennen Sie uns die E-Mail-Adresse Ihres Kontos. Mit dem Link in unserer Nachricht können Sie ein neues Passwort wählen.",
    email: "E-Mail-Adresse",
    submit: "Link senden",
    toSignIn: "Zurück zur Anmeldung",
    sent: {
      title: "Sehen Sie in Ihr Postfach",
      text: "Wenn es ein Konto mit dieser Adresse gibt, ist eine Nachricht mit einem Link dorthin unterwegs. Der Link funktioniert einmal, innerhalb von 30 Minuten.",
      nothingThere:
        "Nach einigen Minuten noch nichts da? Sehen Sie im Spam-Ordner nach, und ob die Adresse die ist, mit der Sie sich registriert haben.",
    },
    choose: {
      title: "Wählen Sie ein neues Passwort",
      lead: (email) => `Für das Konto von ${email}. Alles, was dort jetzt angemeldet ist, wird abgemeldet.`,
      password: "Neues Passwort",
      passwordHint: "Mindestens 8 Zeichen. Einige Wörter hintereinander sind leicht zu merken und schwer zu erraten.",
      submit: "Passwort ändern",
    },
    stale: {
      title: "Dieser Link gilt nicht mehr",
      text: "Er wurde schon benutzt, durch einen neueren ersetzt oder ist älter als 30 Minuten. Geändert hat er jetzt nichts.",
      again: "Neuen Link anfordern",
    },
    changed: {
      title: "Ihr Passwort wurde geändert",
      text: "Alles, was angemeldet war, ist jetzt abgemeldet. Melden Sie sich mit dem neuen Passwort an.",
      signIn: "Anmelden",
    },
  },
};
