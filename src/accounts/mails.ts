import type { Branding, Brandings } from "../branding/branding.ts";
import { Refusal } from "../errors.ts";
import { hashSecret, newHexSecret, type RandomBytes, type SecretHash } from "../random.ts";
import { directionIn, type Language, TEXTS, type Texts } from "../texts/languages.ts";
import type { MailMessage } from "./ports.ts";

export const unusableLink = (reason: string): Refusal =>
  new Refusal("invalid_request", reason, { description: "This link is not valid, has been used already or has expired." });

/** The hash of the token in a link. @throws {Refusal} invalid_request with the reason `malformed` */
export function linkTokenHash(token: string, malformed: string): SecretHash {
  if (!/^[0-9a-fA-F]{64}$/.test(token)) throw unusableLink(malformed);
  return hashSecret(token.toLowerCase());
}

export interface MailSenderPorts {
  /** Base URL of the service. Links are built from it, never from anything in a request. */
  readonly issuer: string;
  readonly brandings: Brandings;
}

type MailKind = Exclude<keyof Texts["mails"], "frame">;

/** What the sentences of a mail contain besides the host. */
type Words<Kind extends MailKind> = Parameters<Texts["mails"][Kind]> extends [string, ...infer Rest] ? Rest : never;

type Mails = { readonly [Kind in MailKind]: (host: string, ...words: Words<Kind>) => MailTexts };

/** Where a user finds their ways to sign in, about which most notices are. */
const SECURITY = "/account/security";

/** The paths of links. That of a link which works once ends where its token follows. */
const LINKS: { readonly [Kind in MailKind]?: string } = {
  verification: "/auth/verify?token=",
  reset: "/reset?token=",
  invitation: "/invitation?token=",
  addressProof: "/account/security/address/confirm?token=",
  addressChange: "/address/stop?token=",
  // To another password, for a user who did not choose this one.
  passwordChanged: "/forgot",
  // Likewise: who did not set up the app cannot turn it off, which needs its code.
  secondFactorAdded: "/forgot",
  secondFactorRemoved: SECURITY,
  recoveryCodeUsed: SECURITY,
  passkeyAdded: SECURITY,
  passkeyRemoved: SECURITY,
  passkeyCopied: SECURITY,
  identityLinked: SECURITY,
  identityUnlinked: SECURITY,
};

/**
 * A mail of one kind, as its texts describe it.
 * @param user whose realm has a branding; `realmId` is undefined where it is not known yet  @param token of a link that works once
 * @param words of its texts, after the host
 */
export function mailOf<Kind extends MailKind>(
  kind: Kind,
  { issuer, brandings }: MailSenderPorts,
  { realmId }: { readonly realmId: string | undefined },
  { language, token = "" }: { readonly language: Language; readonly token?: string },
  ...words: Words<Kind>
): MailMessage {
  const mails: Mails = TEXTS[language].mails;
  const path = LINKS[kind];
  return message(language, brandings.of(realmId), mails[kind](new URL(issuer).host, ...words), path && issuer + path + token);
}

/** A link that works once, for `ttl` seconds: the hash of its token, and the mail that has it. */
export function mailedLink<Kind extends MailKind>(
  kind: Kind,
  ttl: number,
  ports: MailSenderPorts & { readonly randomBytes: RandomBytes },
  user: { readonly realmId: string | undefined },
  language: Language,
  ...words: Words<Kind>
) {
  const token = newHexSecret(ports.randomBytes);
  return { tokenHash: hashSecret(token), ttl, mail: mailOf(kind, ports, user, { language, token }, ...words) };
}

/** A message as text and as HTML that every mail program can show. The HTML loads nothing. Lists of mails preview its hidden first line. */
function message(language: Language, branding: Branding, texts: MailTexts, link: string | undefined): MailMessage {
  const { hello, copyLink, openSecurity } = TEXTS[language].mails.frame;
  const { subject, lead, action = openSecurity, close = [] } = texts;
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
${link === undefined ? "" : button(link, action, copyLink, branding.accent ?? ACCENT)}
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
  readonly close?: readonly string[];
};
