import type { Mail } from "./ports.ts";

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (character) => `&#${character.codePointAt(0)};`);

/** Where a verification link leads. @param issuer the service's base URL */
export const verificationLink = (issuer: string, token: string): string => `${issuer}/auth/verify?token=${token}`;

/** The mail that proves an address: as text, and as HTML of a kind that every mail program shows. Nothing in it is fetched from anywhere. */
export function verificationMail(to: string, link: string, hours: number): Mail {
  const host = new URL(link).host;
  const text = [
    "Hello,",
    "",
    `someone, hopefully you, signed up at ${host} with this e-mail address.`,
    "Open this link to confirm that the address is yours:",
    "",
    link,
    "",
    `The link works once, within ${hours} hours.`,
    "If it was not you, there is nothing to do: without the link the address stays unconfirmed.",
    "",
  ].join("\n");
  const html = `<!doctype html>
<html lang="en">
<body style="margin:0;padding:32px 16px;background:#f4f5f7;font-family:-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif;color:#1a2230">
<table role="presentation" width="100%" cellpadding="0" cellspacing="0"><tr><td align="center">
<table role="presentation" width="100%" style="max-width:480px;background:#ffffff;border-radius:12px" cellpadding="0" cellspacing="0"><tr><td style="padding:32px">
<h1 style="margin:0 0 16px;font-size:20px;line-height:1.3">Confirm your e-mail address</h1>
<p style="margin:0 0 24px;font-size:16px;line-height:1.5">Someone, hopefully you, signed up at <strong>${escapeHtml(host)}</strong> with this address.</p>
<p style="margin:0 0 24px"><a href="${escapeHtml(link)}" style="display:inline-block;padding:12px 20px;border-radius:8px;background:#1f4fd8;color:#ffffff;font-size:16px;font-weight:600;text-decoration:none">Confirm this address</a></p>
<p style="margin:0 0 8px;font-size:14px;line-height:1.5;color:#4a5568">If the button does nothing, copy this link into your browser:</p>
<p style="margin:0 0 24px;font-size:14px;line-height:1.5;word-break:break-all">${escapeHtml(link)}</p>
<p style="margin:0;font-size:14px;line-height:1.5;color:#4a5568">The link works once, within ${hours} hours. If it was not you, there is nothing to do.</p>
</td></tr></table>
</td></tr></table>
</body>
</html>
`;
  return { to, subject: "Confirm your e-mail address", text, html };
}
