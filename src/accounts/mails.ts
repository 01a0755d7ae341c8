import { Refusal } from "../errors.ts";
import type { Catalogue, Language } from "../language.ts";
import { hashSecret, type SecretHash } from "../random.ts";
import type { MailMessage } from "./ports.ts";

const verificationLink = (issuer: string, token: string): string => `${issuer}/auth/verify?token=${token}`;

const resetLink = (issuer: string, token: string): string => `${issuer}/reset?token=${token}`;

/** A link that cannot be used, or not again. */
export const unusableLink = (reason: string): Refusal =>
  new Refusal("invalid_request", reason, { description: "This link is not valid, has been used already or has expired." });

/** The hash of the token in a link. @throws {Refusal} invalid_request with the reason `malformed` */
export function linkTokenHash(token: string, malformed: string): SecretHash {
  if (!/^[0-9a-fA-F]{64}$/.test(token)) throw unusableLink(malformed);
  return hashSecret(token.toLowerCase());
}

const hostOf = (issuer: string): string => new URL(issuer).host;

export const verificationMail = (language: Language, issuer: string, token: string, hours: number): MailMessage =>
  message(language, verificationTexts[language](hostOf(issuer), hours), verificationLink(issuer, token));

export const resetMail = (language: Language, issuer: string, token: string, minutes: number): MailMessage =>
  message(language, resetTexts[language](hostOf(issuer), minutes), resetLink(issuer, token));

/** Notifies the user of a new password. Its link leads to another one, for a user who did not choose it. */
export const passwordChangedMail = (language: Language, issuer: string): MailMessage =>
  message(language, passwordChangedTexts[language](hostOf(issuer)), `${issuer}/forgot`);

/** Notifies the user that the account was deleted. @param byOperator rather than on the account page */
export const accountClosedMail = (language: Language, issuer: string, byOperator = false): MailMessage =>
  message(language, (byOperator ? accountRemovedTexts : accountClosedTexts)[language](hostOf(issuer)));

/** @param hours for which the link works */
export const invitationMail = (language: Language, issuer: string, token: string, hours: number): MailMessage =>
  message(language, invitationTexts[language](hostOf(issuer), hours), `${issuer}/invitation?token=${token}`);

/** A message as text and as HTML that every mail program can show. The HTML loads nothing. */
function message(language: Language, texts: MailTexts, link?: string): MailMessage {
  const { hello, copyLink } = mailFrameTexts[language];
  const { subject, lead, action, close } = texts;
  const text = [hello, ...lead, ...(link === undefined ? [] : [link]), close.join("\n")].join("\n\n");
  const html = `<!doctype html>
<html lang="${language}">
<body style="margin:0;padding:32px 16px;background:#f4f5f7;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:#1a2230">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">
<table role="presentation" width="100%" style="max-width:480px;background:#ffffff;border-radius:12px" cellpadding="0" cellspacing="0"><tr><td style="padding:32px">
<h1 style="margin:0 0 16px;font-size:20px;line-height:1.3">${escapeHtml(subject)}</h1>
${lead.map((words) => paragraph(words, LARGE)).join("\n")}
${link === undefined ? "" : button(link, action ?? subject, copyLink)}
${close.map((words) => paragraph(words, SMALL)).join("\n")}
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
  return { subject, text: `${text}\n`, html };
}

const LARGE = "margin:0 0 24px;font-size:16px;line-height:1.5";
const SMALL = "margin:0 0 8px;font-size:14px;line-height:1.5;color:#4a5568";

const paragraph = (words: string, style: string): string => `<p style="${style}">${escapeHtml(words)}</p>`;

/** A button, and the same link as text to copy. */
const button = (link: string, action: string, copyLink: string): string =>
  `<p style="margin:0 0 24px"><a href="${escapeHtml(link)}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1f4fd8;color:#ffffff;font-size:16px;font-weight:600;text-decoration:none">${escapeHtml(action)}</a></p>
${paragraph(copyLink, SMALL)}
<p style="margin:0 0 24px;font-size:14px;line-height:1.5;word-break:break-all">${escapeHtml(link)}</p>`;

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);

/** The sentences of a message: `lead` before the link, `action` on its button, `close` after it. */
type MailTexts = {
  readonly subject: string;
  readonly lead: readonly string[];
  readonly action?: string;
  readonly close: readonly string[];
};

type MailFrameTexts = { readonly hello: string; readonly copyLink: string };

const mailFrameTexts: Catalogue<MailFrameTexts> = {
  en: { hello: "Hello,", copyLink: "If the button does not work, copy this link into your browser:" },
  de: { hello: "Guten Tag,", copyLink: "Wenn die Schaltfläche nicht funktioniert, kopieren Sie diesen Link in Ihren Browser:" },
};

/** @param host of the service @param hours for which the link works */
const verificationTexts: Catalogue<(host: string, hours: number) => MailTexts> = {
  en: (host, hours) => ({
    subject: "Confirm your e-mail address",
    lead: [`Someone signed up at ${host} with this e-mail address. If it was you, open this link to confirm the address:`],
    action: "Confirm this address",
    close: [
      `The link works once, within ${hours} hours.`,
      "If it was not you, do not open the link: someone else chose the password of this account. Without the link, the address stays unconfirmed.",
    ],
  }),
  de: (host, hours) => ({
    subject: "Bestätigen Sie Ihre E-Mail-Adresse",
    lead: [
      `Jemand hat sich bei ${host} mit dieser E-Mail-Adresse registriert. Wenn Sie es waren, öffnen Sie diesen Link, um die Adresse zu bestätigen:`,
    ],
    action: "Adresse bestätigen",
    close: [
      `Der Link funktioniert einmal, innerhalb von ${hours} Stunden.`,
      "Wenn Sie es nicht waren, öffnen Sie den Link nicht: Das Passwort dieses Kontos hat jemand anderes gewählt. Ohne den Link bleibt die Adresse unbestätigt.",
    ],
  }),
};

/** @param minutes for which the link works */
const resetTexts: Catalogue<(host: string, minutes: number) => MailTexts> = {
  en: (host, minutes) => ({
    subject: "Choose a new password",
    lead: [`Someone asked for a new password for your account at ${host}. If it was you, open this link to choose one:`],
    action: "Choose a new password",
    close: [
      `The link works once, within ${minutes} minutes. Only the newest link works.`,
      "If it was not you, you do not need to do anything: your password stays the same.",
    ],
  }),
  de: (host, minutes) => ({
    subject: "Wählen Sie ein neues Passwort",
    lead: [
      `Jemand hat für Ihr Konto bei ${host} ein neues Passwort angefordert. Wenn Sie es waren, öffnen Sie diesen Link, um eines zu wählen:`,
    ],
    action: "Neues Passwort wählen",
    close: [
      `Der Link funktioniert einmal, innerhalb von ${minutes} Minuten. Nur der neueste Link funktioniert.`,
      "Wenn Sie es nicht waren, müssen Sie nichts tun: Ihr Passwort bleibt gleich.",
    ],
  }),
};

const passwordChangedTexts: Catalogue<(host: string) => MailTexts> = {
  en: (host) => ({
    subject: "Your password was changed",
    lead: [
      `The password of your account at ${host} was just changed. Every browser and application that was signed in with the old password has been signed out.`,
      "If it was you, you do not need to do anything. If it was not, choose a new password now:",
    ],
    action: "I did not change it",
    close: ["Check the security of your mailbox too: anyone who can read your mail can reset your password."],
  }),
  de: (host) => ({
    subject: "Ihr Passwort wurde geändert",
    lead: [
      `Das Passwort Ihres Kontos bei ${host} wurde soeben geändert. Alle Browser und Anwendungen, die mit dem alten Passwort angemeldet waren, sind jetzt abgemeldet.`,
      "Wenn Sie es waren, müssen Sie nichts tun. Wenn nicht, wählen Sie sofort ein neues Passwort:",
    ],
    action: "Das war ich nicht",
    close: ["Prüfen Sie auch die Sicherheit Ihres Postfachs: Wer Ihre Mails lesen kann, kann Ihr Passwort zurücksetzen."],
  }),
};

/** @param hours for which the link works */
const invitationTexts: Catalogue<(host: string, hours: number) => MailTexts> = {
  en: (host, hours) => ({
    subject: `You are invited to ${host}`,
    lead: [`An administrator of ${host} has invited you to open an account with this e-mail address. Open this link to choose a password:`],
    action: "Open the account",
    close: [
      `The link works once, within ${hours} hours. Only the newest link works.`,
      "If you do not expect this invitation, you do not need to do anything: without the link there is no account.",
    ],
  }),
  de: (host, hours) => ({
    subject: `Sie sind zu ${host} eingeladen`,
    lead: [
      `Die Administration von ${host} lädt Sie ein, mit dieser E-Mail-Adresse ein Konto zu eröffnen. Öffnen Sie diesen Link, um ein Passwort zu wählen:`,
    ],
    action: "Konto eröffnen",
    close: [
      `Der Link funktioniert einmal, innerhalb von ${hours} Stunden. Nur der neueste Link funktioniert.`,
      "Wenn Sie diese Einladung nicht erwarten, müssen Sie nichts tun: Ohne den Link entsteht kein Konto.",
    ],
  }),
};

const accountRemovedTexts: Catalogue<(host: string) => MailTexts> = {
  en: (host) => ({
    subject: "Your account was deleted",
    lead: [`An administrator of ${host} has deleted your account there. This is the last message to this address.`],
    close: [`If you think that this is a mistake, ask an administrator of ${host}.`],
  }),
  de: (host) => ({
    subject: "Ihr Konto wurde gelöscht",
    lead: [`Die Administration von ${host} hat Ihr Konto dort gelöscht. Dies ist die letzte Nachricht an diese Adresse.`],
    close: [`Wenn das ein Irrtum ist, wenden Sie sich an die Administration von ${host}.`],
  }),
};

const accountClosedTexts: Catalogue<(host: string) => MailTexts> = {
  en: (host) => ({
    subject: "Your account was deleted",
    lead: [`Your account at ${host} was deleted on its account page, with your password. This is the last message to this address.`],
    close: ["If it was not you, someone knows your password: change it everywhere else you use it."],
  }),
  de: (host) => ({
    subject: "Ihr Konto wurde gelöscht",
    lead: [`Ihr Konto bei ${host} wurde auf der Kontoseite mit Ihrem Passwort gelöscht. Dies ist die letzte Nachricht an diese Adresse.`],
    close: ["Wenn Sie es nicht waren, kennt jemand Ihr Passwort: Ändern Sie es überall, wo Sie es sonst noch verwenden."],
  }),
};
