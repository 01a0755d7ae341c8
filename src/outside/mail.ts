import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport, type SendMailOptions } from "nodemailer";
import type { Mail } from "../accounts/ports.ts";

/** A message with an id, which is the same for every attempt to send it. */
export type IdentifiedMail = Mail & { readonly id: string };

/** Hands messages to a mail server, or writes them to files. */
export interface Mailer {
  /** @returns the path of a message that was written to a file  @throws {UndeliverableError} for a permanent refusal of the recipient */
  send(mail: IdentifiedMail): Promise<{ readonly path?: string }>;
  close(): void;
}

/** The mail server refused the recipient with a permanent code: a further attempt is pointless. @see RFC 5321 §4.2.1 */
export class UndeliverableError extends Error {
  override readonly name = "UndeliverableError";
}

/**
 * Without `smtpUrl`, messages are written to files. `from` is an address, or `Name <address>`. `deadline`: milliseconds for one message to a
 * mail server; default: 30 seconds.
 */
export type MailSettings = {
  readonly smtpUrl?: string | undefined;
  readonly from: string;
  readonly dataDir: string;
  readonly deadline?: number;
};

/** The directory of messages that are written to files. */
export const outboxDirectory = (dataDir: string): string => join(dataDir, "outbox");

export const createMailer = (settings: MailSettings): Mailer =>
  settings.smtpUrl === undefined
    ? fileMailer(settings.from, outboxDirectory(settings.dataDir))
    : smtpMailer(settings.from, settings.smtpUrl, settings.deadline ?? 30_000);

/** Milliseconds of silence. */
const DEADLINES = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000, dnsTimeout: 5_000 };

/** The recipient is one address, even with commas or line ends in it. Automatic replies are suppressed (RFC 3834 §5). */
const envelope = (from: string, mail: IdentifiedMail): SendMailOptions => ({
  from,
  to: { name: "", address: mail.to },
  subject: mail.subject,
  messageId: `<${mail.id}@${/@([^\s<>@]+)>?$/.exec(from)?.[1] ?? "localhost"}>`, // the same for every attempt, so that receivers can drop duplicates
  headers: { "Auto-Submitted": "auto-generated" },
  disableFileAccess: true,
  disableUrlAccess: true,
});

function smtpMailer(from: string, url: string, deadline: number): Mailer {
  const transport = createTransport({ url, pool: true, maxConnections: 2, ...DEADLINES });
  return {
    send: async (mail) => {
      try {
        const signal = AbortSignal.timeout(deadline); // a server that sends a line now and then is never silent
        await transport.sendMail({ ...envelope(from, mail), text: mail.text, html: mail.html, signal });
        return {};
      } catch (error) {
        if (isPermanent(error)) throw new UndeliverableError("recipient refused", { cause: error });
        throw error;
      }
    },
    close: () => transport.close(),
  };
}

/** A 5xx reply to the recipient. The same reply to the greeting or the sign-in is a fault of the configuration, which can be fixed. */
const isPermanent = (error: unknown) =>
  error instanceof Error &&
  Reflect.get(error, "code") === "EENVELOPE" &&
  Reflect.get(error, "command") === "RCPT TO" &&
  Number(Reflect.get(error, "responseCode")) >= 500;

/** Writes each message to a file that only its owner may read, without encoding, so that the link can be copied from it. */
function fileMailer(from: string, directory: string): Mailer {
  const transport = createTransport({ streamTransport: true, buffer: true, newline: "unix" });
  const part = (type: string, body: string) => ({
    raw: `Content-Type: text/${type}; charset=utf-8\nContent-Transfer-Encoding: 8bit\n\n${body}\n`,
  });
  return {
    send: async (mail) => {
      const made = await transport.sendMail({ ...envelope(from, mail), alternatives: [part("plain", mail.text), part("html", mail.html)] });
      await mkdir(directory, { recursive: true, mode: 0o700 });
      const path = join(directory, `${mail.id.replace(/[^\w-]/g, "")}.eml`);
      await writeFile(`${path}.part`, made.message, { mode: 0o600 });
      await rename(`${path}.part`, path); // readers of the directory see whole messages only
      return { path };
    },
    close: () => transport.close(),
  };
}
