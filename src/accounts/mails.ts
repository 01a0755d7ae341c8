import type { Branding, Brandings } from "../branding/branding.ts";
import { Refusal } from "../errors.ts";
import { hashSecret, type SecretHash } from "../random.ts";
import { directionIn, type Language, shownDuration, TEXTS } from "../texts/languages.ts";
import type { MailMessage } from "./ports.ts";

/** A link that cannot be used, or not again. */
export const unusableLink = (reason: string): Refusal =>
  new Refusal("invalid_request", reason, { description: "This link is not valid, has been used already or has expired." });

/** The hash of the token in a link. @throws {Refusal} invalid_request with the reason `malformed` */
export function linkTokenHash(token: string, malformed: string): SecretHash {
  if (!/^[0-9a-fA-F]{64}$/.test(token)) throw unusableLink(malformed);
  return hashSecret(token.toLowerCase());
}

/** What mails need of the service. */
export interface MailSenderPorts {
  /** Base URL of the service. Links are built from it, never from anything in a request. */
  readonly issuer: string;
  readonly brandings: Brandings;
}

/** Who sends a mail. */
interface Sender {
  readonly issuer: string;
  readonly host: string;
  readonly branding: Branding;
}

/** @param realmId of the user; undefined where it is not known yet */
export const senderOf = ({ issuer, brandings }: MailSenderPorts, realmId: string | undefined): Sender => ({
  issuer,
  host: new URL(issuer).host,
  branding: brandings.of(realmId),
});

export const verificationMail = (language: Language, sender: Sender, token: string, hours: number): MailMessage =>
  message(language, sender, TEXTS[language].mails.verification(sender.host, hours), `/auth/verify?token=${token}`);

export const resetMail = (language: Language, sender: Sender, token: string, minutes: number): MailMessage =>
  message(language, sender, TEXTS[language].mails.reset(sender.host, minutes), `/reset?token=${token}`);

type NoticeKind = "passwordChanged" | "secondFactorAdded" | "secondFactorRemoved" | "recoveryCodeUsed" | "test";

/** A mail that names the host alone. @param path of its link, if it has one */
const noticeMail =
  (kind: NoticeKind | `passkey${"Added" | "Removed" | "Copied"}`, path?: string) =>
  (language: Language, sender: Sender): MailMessage =>
    message(language, sender, TEXTS[language].mails[kind](sender.host), path);

/** Its link leads to another password, for a user who did not choose this one. */
export const passwordChangedMail = noticeMail("passwordChanged", "/forgot");
/** Likewise: who did not set up the app cannot turn it off, which needs its code. */
export const secondFactorAddedMail = noticeMail("secondFactorAdded", "/forgot");
/** Notices about a user's ways to sign in lead to them. */
const SECURITY = "/account/security";
export const secondFactorRemovedMail = noticeMail("secondFactorRemoved", SECURITY);
export const recoveryCodeUsedMail = noticeMail("recoveryCodeUsed", SECURITY);
export const passkeyAddedMail = noticeMail("passkeyAdded", SECURITY);
export const passkeyRemovedMail = noticeMail("passkeyRemoved", SECURITY);
/** A copy of a passkey was used, and refused. */
export const passkeyCopiedMail = noticeMail("passkeyCopied", SECURITY);
/** Shows an operator that mails arrive. */
export const testMail = noticeMail("test");

/** Notifies the user that the account was deleted. @param byOperator rather than on the account page */
export const accountClosedMail = (language: Language, sender: Sender, byOperator = false): MailMessage =>
  message(language, sender, TEXTS[language].mails[byOperator ? "accountRemoved" : "accountClosed"](sender.host));

/** Notifies the user that an identity provider can sign in to the account from now on, or no longer. @param title of the provider */
const identityMail =
  (kind: "identityLinked" | "identityUnlinked") =>
  (language: Language, sender: Sender, title: string): MailMessage =>
    message(language, sender, TEXTS[language].mails[kind](sender.host, title), SECURITY);

export const identityLinkedMail = identityMail("identityLinked");
export const identityUnlinkedMail = identityMail("identityUnlinked");

/** A mail with a link that works for some hours. */
const linkMail =
  (kind: "invitation" | "addressProof", path: string) =>
  (language: Language, sender: Sender, token: string, hours: number): MailMessage => {
    const texts = TEXTS[language].mails[kind](sender.host, shownDuration(language, hours * 3600));
    return message(language, sender, texts, `${path}?token=${token}`);
  };

export const invitationMail = linkMail("invitation", "/invitation");
/** Proves a new address. */
export const addressProofMail = linkMail("addressProof", "/account/security/address/confirm");

/** Notifies the present address, with a link that stops the change. @param hours for which the link works */
export function addressChangeMail(language: Language, sender: Sender, token: string, email: string, hours: number): MailMessage {
  const texts = TEXTS[language].mails.addressChange(sender.host, email, shownDuration(language, hours * 3600));
  return message(language, sender, texts, `/address/stop?token=${token}`);
}

/** Notifies the former address, which has the link of the message before. @param email the new address */
export const addressChangedMail = (language: Language, sender: Sender, email: string): MailMessage =>
  message(language, sender, TEXTS[language].mails.addressChanged(sender.host, email));

/** A message as text and as HTML that every mail program can show. The HTML loads nothing. Lists of mails preview its hidden first line. */
function message(language: Language, { issuer, branding }: Sender, texts: MailTexts, path?: string): MailMessage {
  const link = path && issuer + path;
  const { hello, copyLink } = TEXTS[language].mails.frame;
  const { subject, lead, action, close } = texts;
  const foot = footOf(language, branding);
  const text = [hello, ...lead, link, close.join("\n"), foot.join("\n")].filter(Boolean);
  const direction = directionIn(language) === "rtl" ? ' dir="rtl"' : "";
  const html = `<!doctype html>
<html lang="${language}"${direction}>
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(subject)}</title>
<style>${DARK}</style>
</head>
<body class="back" style="margin:0;padding:24px 12px;background:#f4f5f7;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:#1a2230">
<div style="display:none;max-height:0;overflow:hidden;mso-hide:all">${escapeHtml(lead[0] ?? "")}</div>
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">
<table role="presentation" class="card" width="100%" style="max-width:480px;background:#ffffff;border-radius:12px" cellpadding="0" cellspacing="0"><tr><td style="padding:24px;word-break:break-word">
<h1 style="margin:0 0 16px;font-size:20px;line-height:1.3">${escapeHtml(subject)}</h1>
${lead.map((words) => paragraph(words, LARGE)).join("\n")}
${link === undefined ? "" : button(link, action ?? subject, copyLink, branding.accent ?? ACCENT)}
${[...close, ...foot].map((words) => paragraph(words, SMALL)).join("\n")}
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
  return { subject, text: `${text.join("\n\n")}\n`, html };
}

/** Who sends the mail and where to ask, as far as there is a branding. */
function footOf(language: Language, { name, support, termsUrl, privacyUrl }: Branding): readonly string[] {
  const texts = TEXTS[language].branding;
  const places = [
    [texts.support, support],
    [texts.terms, termsUrl],
    [texts.privacy, privacyUrl],
  ] as const;
  return [
    ...(name === undefined ? [] : [name]),
    ...places.flatMap(([label, place]) => (place === undefined ? [] : [`${label}: ${place}`])),
  ];
}

/** Of the button, where there is no branding. */
const ACCENT = "#1f4fd8";

/** For mail programs that follow the device; the others ignore it or choose dark colours themselves. */
const DARK = `:root{color-scheme:light dark}@media (prefers-color-scheme: dark){.back{background:#0f1218!important;color:#eceef4!important}.card{background:#181c25!important}.small{color:#a7aec0!important}}`;

const LARGE = 'style="margin:0 0 24px;font-size:16px;line-height:1.5"';
const SMALL = 'class="small" style="margin:0 0 8px;font-size:14px;line-height:1.5;color:#4a5568"';

const paragraph = (words: string, look: string): string => `<p ${look}>${escapeHtml(words)}</p>`;

/** A button, and the same link as text to copy. */
const button = (link: string, action: string, copyLink: string, accent: string): string =>
  `<p style="margin:0 0 24px"><a href="${escapeHtml(link)}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:${accent};color:#ffffff;font-size:16px;font-weight:600;text-decoration:none">${escapeHtml(action)}</a></p>
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
