import { catalogue } from "../../texts/language.ts";

export const signUpTexts = catalogue({
  en: {
    title: "Create your account",
    lead: "One account for every application and agent that acts for you.",
    email: "E-mail address",
    password: "Password",
    passwordHint: "At least 8 characters. A few words in a row are easy to remember and hard to guess.",
    firstName: "First name",
    lastName: "Last name",
    submit: "Create account",
    haveAccount: "Already have an account?",
    signIn: "Sign in",
    /** After a verification link was used. */
    verified: {
      title: "Your address is confirmed",
      text: (email: string) => `${email} belongs to your account. You can close this page or continue.`,
      continue: "Continue",
      toAccount: "Go to your account",
    },
    /** After a verification link that is no longer valid. */
    staleLink: {
      title: "This link no longer works",
      text: "It was already used, replaced by a newer one, or is more than a day old. If your address is confirmed, it stays confirmed.",
      email: "E-mail address",
      sendAgain: "Send a new mail",
    },
    /** After signing up. */
    checkMail: {
      title: "Check your mail",
      text: (email: string) => `A message with a link is on its way to ${email}. Open the link within 24 hours to confirm the address.`,
      toSignIn: "Continue to sign in",
      sentAgain: "A new message is on its way.",
      /** Before the button that asks for another mail. */
      noMessage: "No message after a few minutes? Check your spam folder, or send it again.",
      sendAgain: "Send it again",
    },
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
    haveAccount: "Schon ein Konto?",
    signIn: "Anmelden",
    verified: {
      title: "Ihre Adresse ist bestätigt",
      text: (email: string) => `${email} gehört zu Ihrem Konto. Sie können diese Seite schließen oder weitermachen.`,
      continue: "Weiter",
      toAccount: "Zu Ihrem Konto",
    },
    staleLink: {
      title: "Dieser Link gilt nicht mehr",
      text: "Er wurde schon benutzt, durch einen neueren ersetzt oder ist älter als einen Tag. Eine bestätigte Adresse bleibt bestätigt.",
      email: "E-Mail-Adresse",
      sendAgain: "Neue Nachricht senden",
    },
    checkMail: {
      title: "Sehen Sie in Ihr Postfach",
      text: (email) =>
        `Eine Nachricht mit einem Link ist unterwegs an ${email}. Öffnen Sie den Link innerhalb von 24 Stunden, um die Adresse zu bestätigen.`,
      toSignIn: "Weiter zur Anmeldung",
      sentAgain: "Eine neue Nachricht ist unterwegs.",
      noMessage: "Nach einigen Minuten keine Nachricht? Prüfen Sie den Spam-Ordner, oder senden Sie sie erneut.",
      sendAgain: "Erneut senden",
    },
  },
});
