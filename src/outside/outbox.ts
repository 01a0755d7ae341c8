import { setTimeout } from "node:timers/promises";
import type { Outbox, QueuedMail } from "../accounts/ports.ts";
import type { Log } from "../telemetry/log.ts";
import { type Mailer, UndeliverableError } from "./mail.ts";

export type OutboxWorker = ReturnType<typeof startOutbox>;

/** Seconds: twice the mailer's deadline for the one message of a claim. After that another process sends it. */
const LEASE = 60;

/** Seconds until the next attempt after `attempts` failures: half a minute, doubled each time, at most two hours. */
export const pauseAfter = (attempts: number) => Math.min(30 * 2 ** (attempts - 1), 7_200);

/** What to do with a message after a failed attempt. Pure. */
export function afterFailure(mail: Pick<QueuedMail, "attempts" | "left">, error: unknown): { readonly again: number } | "give_up" {
  const again = pauseAfter(mail.attempts + 1);
  return error instanceof UndeliverableError || again >= mail.left ? "give_up" : { again };
}

/** The part of an error that may be logged: reply code (RFC 5321 §4.2) and error code, but no text, which may name the recipient. */
function failureOf(error: unknown): { readonly status?: number; readonly code?: string } {
  const cause = error instanceof UndeliverableError ? error.cause : error;
  if (!(cause instanceof Error)) return {};
  const status: unknown = Reflect.get(cause, "responseCode");
  const code: unknown = Reflect.get(cause, "code");
  return {
    ...(typeof status === "number" && { status }),
    ...(typeof code === "string" && /^[A-Z][A-Z0-9_]{0,31}$/.test(code) && { code }),
  };
}

/** The first link of a message. */
const linkIn = (text: string): string | undefined => /^https?:\/\/\S+$/m.exec(text)?.[0];

/** Sends the messages in the outbox until it is closed. @param options.idle milliseconds between queries of an empty outbox */
export function startOutbox(options: {
  readonly outbox: Outbox;
  readonly mailer: Mailer;
  readonly log: Log;
  readonly idle?: number;
  /** Called when a message could not be sent; `log` says why. */
  readonly onFailure?: () => void;
  /** In development: logs the link in a message that was written to a file, which would otherwise be opened for it. */
  readonly logLinks?: boolean;
}) {
  const { outbox, mailer, log, idle = 1_000, onFailure = () => {}, logLinks = false } = options;
  let closing = false;
  let roused = new AbortController();

  const deliver = async (mail: QueuedMail) => {
    if (mail.left <= 0) {
      log.warn("mail_abandoned", { mailId: mail.id, attempt: mail.attempts });
      return outbox.abandoned(mail.id);
    }
    try {
      const { path } = await mailer.send(mail);
      await outbox.delivered(mail.id);
      if (path !== undefined) {
        const link = logLinks ? linkIn(mail.text) : undefined;
        log.info("mail_written", { path, ...(link !== undefined && { link }) });
      }
    } catch (error) {
      const next = afterFailure(mail, error);
      log.warn(next === "give_up" ? "mail_abandoned" : "mail_postponed", {
        mailId: mail.id,
        attempt: mail.attempts + 1,
        ...failureOf(error),
      });
      onFailure();
      if (next === "give_up") await outbox.abandoned(mail.id);
      else await outbox.postponed(mail.id, next.again);
    }
  };

  const work = async () => {
    let reachable = true;
    while (!closing) {
      roused = new AbortController();
      let found = false;
      try {
        const [mail] = await outbox.claim(1, LEASE);
        if (mail !== undefined && !closing) await deliver(mail);
        found = mail !== undefined;
        reachable = true;
      } catch (error) {
        if (reachable) log.warn("outbox_unreachable", { error }); // once for each outage
        reachable = false;
      }
      if (!found) await setTimeout(idle, undefined, { ref: false, signal: roused.signal }).catch(() => undefined);
    }
  };
  const done = work();

  return {
    /** Looks for new messages now. */
    wake: (): void => roused.abort(),
    /** Claims no further messages, and waits for the one in progress. */
    async close(): Promise<void> {
      closing = true;
      roused.abort();
      await done;
      mailer.close();
    },
  };
}
