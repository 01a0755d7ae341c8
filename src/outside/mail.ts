import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createTransport, type SendMailOptions } from "nodemailer";
import type { Mail } from "../accounts/ports.ts";

/** A message with the name by which tries to send it are told apart. */
export interface IdentifiedMail extends Mail {
  readonly id: string;
}

/** Hands messages to whoever delivers them. */
export interface Mailer {
  /**
   * @returns the path of the file, where messages are written to files
   * @throws {UndeliverableError} when the recipient was refused for good; any other error may pass with time
   */
  send(mail: IdentifiedMail): Promise<{ readonly path?: string }>;
  close(): void;
}

/** The mail server refused the recipient with a permanent code: trying again would only annoy it. @see RFC 5321 §4.2.1 */
export class UndeliverableError extends Error {
  override readonly name = "UndeliverableError";
}

export interface MailSettings {
  /** `smtp://` or `smtps://`; without it messages become files. */
  readonly smtpUrl?: string | undefined;
  /** Sender: an address, or `Name <address>`. */
  readonly from: string;
  readonly dataDir: string;
}

/** Where messages become files. */
export const outboxDirectory = (dataDir: string): string => join(dataDir, "outbox");

export const createMailer = (settings: MailSettings): Mailer =>
  settings.smtpUrl === undefined
    ? fileMailer(settings.from, outboxDirectory(settings.dataDir))
    : smtpMailer(settings.from, settings.smtpUrl);

const DEADLINES = { connectionTimeout: 5_000, greetingTimeout: 5_000, socketTimeout: 10_000, dnsTimeout: 5_000 };

/**
 * The recipient goes as one address, so that commas and line ends in it make no further recipient. Nobody is to answer automatically: RFC
 * 3834 §5.
 */
const envelope = (from: string, mail: IdentifiedMail): SendMailOptions => ({
  from,
  to: { name: "", address: mail.to },
  subject: mail.subject,
  messageId: `<${mail.id}@${/@([^\s<>@]+)>?$/.exec(from)?.[1] ?? "localhost"}>`, // the same for every try, so that a receiver can drop the second
  headers: { "Auto-Submitted": "auto-generated" },
  disableFileAccess: true,
  disableUrlAccess: true,
});

function smtpMailer(from: string, url: string): Mailer {
  const transport = createTransport({ url, pool: true, maxConnections: 2, ...DEADLINES });
  return {
    send: async (mail) => {
      try {
        await transport.sendMail({ ...envelope(from, mail), text: mail.text, html: mail.html });
        return {};
      } catch (error) {
        if (isPermanent(error)) throw new UndeliverableError("recipient refused", { cause: error });
        throw error;
      }
    },
    close: () => transport.close(),
  };
}

/** A 5xx answer to the recipient. The same to the greeting or the sign-in is our own fault, which an operator may yet mend. */
const isPermanent = (error: unknown) =>
  error instanceof Error &&
  Reflect.get(error, "code") === "EENVELOPE" &&
  Reflect.get(error, "command") === "RCPT TO" &&
  Number(Reflect.get(error, "responseCode")) >= 500;

/** Writes each message to a file that only its owner may read. Parts stand there unencoded, so that a person can read and copy the link. */
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
      await rename(`${path}.part`, path); // whoever watches the directory sees whole messages only
      return { path };
    },
    close: () => transport.close(),
  };
}
