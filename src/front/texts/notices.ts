import type { Catalogue } from "./language.ts";

interface NoticeTexts {
  readonly title: string;
  readonly text: string;
}

export interface NoticesTexts {
  readonly verified: {
    readonly title: string;
    readonly text: (email: string) => string;
    readonly goOn: string;
    readonly toAccount: string;
  };
  readonly staleLink: NoticeTexts & { readonly signIn: string; readonly email: string; readonly again: string };
  readonly checkMail: {
    readonly title: string;
    readonly text: (email: string) => string;
    readonly toSignIn: string;
    readonly sentAgain: string;
    /** Before and in the button that asks for another mail. */
    readonly nothingThere: string;
    readonly sendAgain: string;
  };
  readonly signedOut: NoticeTexts & { readonly signIn: string };
  /** Before the code of what went wrong. */
  readonly forSupport: string;
}

export const noticesTexts: Catalogue<NoticesTexts> = {
  en: {
    verified: {
      title: "Your address is confirmed",
      text: (email) => `${email} belongs to your account. You can close this page, or go on.`,
      goOn: "Go on with what you began",
      toAccount: "Go to your account",
    },
    staleLink: {
      title: "This link no longer works",
      text: "It was used already, a newer one has taken its place, or it is more than a day old. An address that is confirmed stays so.",
      signIn: "Sign in",
      email: "E-mail address",
      again: "Send a new mail",
    },
    checkMail: {
      title: "Check your mail",
      text: (email) => `A message with a link is on its way to ${email}. Open the link within 24 hours to confirm the address.`,
      toSignIn: "Continue to sign in",
      sentAgain: "A new message is on its way.",
      nothingThere: "Nothing there after a few minutes? Look among the spam, or ask for another one.",
      sendAgain: "Send it again",
    },
    signedOut: {
      title: "You are signed out",
      text: "On a device that others use too, close the browser as well.",
      signIn: "Sign in again",
    },
    forSupport: "For support:",
  },
  de: {
    verified: {
      title: "Ihre Adresse ist bestätigt",
      text: (email) => `${email} gehört zu Ihrem Konto. Sie können diese Seite schließen oder weitermachen.`,
      goOn: "Weiter mit dem, was Sie begonnen haben",
      toAccount: "Zu Ihrem Konto",
    },
    staleLink: {
      title: "Dieser Link gilt nicht mehr",
      text: "Er wurde schon benutzt, durch einen neueren ersetzt oder ist älter als einen Tag. Eine Adresse, die bestätigt ist, bleibt es.",
      signIn: "Anmelden",
      email: "E-Mail-Adresse",
      again: "Neue Nachricht senden",
    },
    checkMail: {
      title: "Sehen Sie in Ihr Postfach",
      text: (email) =>
        `Eine Nachricht mit einem Link ist unterwegs an ${email}. Öffnen Sie den Link innerhalb von 24 Stunden, um die Adresse zu bestätigen.`,
      toSignIn: "Weiter zur Anmeldung",
      sentAgain: "Eine neue Nachricht ist unterwegs.",
      nothingThere: "Nach einigen Minuten noch nichts da? Sehen Sie im Spam-Ordner nach, oder fordern Sie eine neue Nachricht an.",
      sendAgain: "Erneut senden",
    },
    signedOut: {
      title: "Sie sind abgemeldet",
      text: "Wenn auch andere dieses Gerät benutzen, schließen Sie bitte auch den Browser.",
      signIn: "Wieder anmelden",
    },
    forSupport: "Für den Support:",
  },
};
