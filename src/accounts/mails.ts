import type { Language } from "../language.ts";
import { accountClosedTexts, type MailTexts, mailFrameTexts, passwordChangedTexts, resetTexts, verificationTexts } from "./mail-texts.ts";
import type { MailMessage } from "./ports.ts";

/** Where a verification link leads. @param issuer the service's base URL */
export const verificationLink = (issuer: string, token: string): string => `${issuer}/auth/verify?token=${token}`;

/** Where the link for a forgotten password leads. @param issuer the service's base URL */
export const resetLink = (issuer: string, token: string): string => `${issuer}/reset?token=${token}`;

const hostOf = (issuer: string): string => new URL(issuer).host;

/** The letter that proves an address. */
export const verificationMail = (language: Language, issuer: string, token: string, hours: number): MailMessage =>
  letter(language, verificationTexts[language](hostOf(issuer), hours), verificationLink(issuer, token));

/** The letter that leads to a new password. */
export const resetMail = (language: Language, issuer: string, token: string, minutes: number): MailMessage =>
  letter(language, resetTexts[language](hostOf(issuer), minutes), resetLink(issuer, token));

/** The letter that tells the owner of a new password; whoever did not choose it can choose another one. */
export const passwordChangedMail = (language: Language, issuer: string): MailMessage =>
  letter(language, passwordChangedTexts[language](hostOf(issuer)), `${issuer}/forgot`);

/** The letter that says good-bye. */
export const accountClosedMail = (language: Language, issuer: string): MailMessage =>
  letter(language, accountClosedTexts[language](hostOf(issuer)));

/** A letter as text, and as HTML of a kind that every mail program shows. Nothing in it is fetched from anywhere. */
function letter(language: Language, texts: MailTexts, link?: string): MailMessage {
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

/** A button for those who see one, and the same link to copy. */
const button = (link: string, action: string, copyLink: string): string =>
  `<p style="margin:0 0 24px"><a href="${escapeHtml(link)}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1f4fd8;color:#ffffff;font-size:16px;font-weight:600;text-decoration:none">${escapeHtml(action)}</a></p>
${paragraph(copyLink, SMALL)}
<p style="margin:0 0 24px;font-size:14px;line-height:1.5;word-break:break-all">${escapeHtml(link)}</p>`;

const escapeHtml = (text: string): string => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);
