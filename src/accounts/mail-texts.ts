import type { Catalogue } from "../language.ts";

/** What a mail says, in plain sentences; addresses and links are put in by whoever renders it. */
export interface MailTexts {
  readonly subject: string;
  /** Before the link. */
  readonly lead: readonly string[];
  /** What the link is for, as its button says it. */
  readonly action?: string;
  /** After the link. */
  readonly close: readonly string[];
}

export interface MailFrameTexts {
  readonly hello: string;
  readonly copyLink: string;
}

export const mailFrameTexts: Catalogue<MailFrameTexts> = {
  en: { hello: "Hello,", copyLink: "If the button does nothing, copy this link into your browser:" },
  de: { hello: "Guten Tag,", copyLink: "Wenn die Schaltfläche nichts bewirkt, kopieren Sie diesen Link in Ihren Browser:" },
};

/** Proves an address. @param host where somebody signed up @param hours how long the link works */
export const verificationTexts: Catalogue<(host: string, hours: number) => MailTexts> = {
  en: (host, hours) => ({
    subject: "Confirm your e-mail address",
    lead: [`Someone, hopefully you, signed up at ${host} with this e-mail address. Open this link to confirm that the address is yours.`],
    action: "Confirm this address",
    close: [
      `The link works once, within ${hours} hours.`,
      "If it was not you, do not open it: someone else chose the password of this account. Without the link the address stays unconfirmed.",
    ],
  }),
  de: (host, hours) => ({
    subject: "Bestätigen Sie Ihre E-Mail-Adresse",
    lead: [
      `Jemand, hoffentlich Sie, hat sich bei ${host} mit dieser E-Mail-Adresse registriert. Öffnen Sie diesen Link, um zu bestätigen, dass die Adresse Ihnen gehört.`,
    ],
    action: "Adresse bestätigen",
    close: [
      `Der Link funktioniert einmal, innerhalb von ${hours} Stunden.`,
      "Wenn Sie es nicht waren, öffnen Sie ihn nicht: Das Passwort dieses Kontos hat jemand anderes gewählt. Ohne den Link bleibt die Adresse unbestätigt.",
    ],
  }),
};

/** Leads to a new password. @param minutes how long the link works */
export const resetTexts: Catalogue<(host: string, minutes: number) => MailTexts> = {
  en: (host, minutes) => ({
    subject: "Choose a new password",
    lead: [`Someone, hopefully you, has forgotten the password of your account at ${host}. Open this link to choose a new one.`],
    action: "Choose a new password",
    close: [
      `The link works once, within ${minutes} minutes, and only the newest one does.`,
      "If it was not you, there is nothing to do: without the link your password stays as it is.",
    ],
  }),
  de: (host, minutes) => ({
    subject: "Wählen Sie ein neues Passwort",
    lead: [`Jemand, hoffentlich Sie, hat das Passwort Ihres Kontos bei ${host} vergessen. Öffnen Sie diesen Link, um ein neues zu wählen.`],
    action: "Neues Passwort wählen",
    close: [
      `Der Link funktioniert einmal, innerhalb von ${minutes} Minuten, und nur der neueste.`,
      "Wenn Sie es nicht waren, müssen Sie nichts tun: Ohne den Link bleibt Ihr Passwort, wie es ist.",
    ],
  }),
};

/** Tells the owner that there is a new password. */
export const passwordChangedTexts: Catalogue<(host: string) => MailTexts> = {
  en: (host) => ({
    subject: "Your password was changed",
    lead: [
      `The password of your account at ${host} has just been changed. Every browser and application that was signed in with the old one has been signed out.`,
      "If it was you, there is nothing to do. If it was not, choose a new password at once:",
    ],
    action: "I did not change it",
    close: ["Look after your mailbox too: whoever reads your mails can choose your password."],
  }),
  de: (host) => ({
    subject: "Ihr Passwort wurde geändert",
    lead: [
      `Das Passwort Ihres Kontos bei ${host} wurde soeben geändert. Alle Browser und Anwendungen, die mit dem alten angemeldet waren, sind jetzt abgemeldet.`,
      "Wenn Sie es waren, müssen Sie nichts tun. Wenn nicht, wählen Sie sofort ein neues Passwort:",
    ],
    action: "Das war ich nicht",
    close: ["Sehen Sie auch nach Ihrem Postfach: Wer Ihre Mails liest, kann Ihr Passwort neu wählen."],
  }),
};

/** Tells the owner that the account is gone. */
export const accountClosedTexts: Catalogue<(host: string) => MailTexts> = {
  en: (host) => ({
    subject: "Your account was deleted",
    lead: [
      `Your account at ${host} has been deleted: this was asked for on its page, with your password. This is the last message to this address.`,
    ],
    close: ["If it was not you, somebody knew your password: change it wherever else you use it."],
  }),
  de: (host) => ({
    subject: "Ihr Konto wurde gelöscht",
    lead: [
      `Ihr Konto bei ${host} wurde gelöscht: Das wurde auf seiner Seite verlangt, mit Ihrem Passwort. Dies ist die letzte Nachricht an diese Adresse.`,
    ],
    close: ["Wenn Sie es nicht waren, kannte jemand Ihr Passwort: Ändern Sie es überall, wo Sie es sonst noch verwenden."],
  }),
};
