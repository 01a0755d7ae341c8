import { Refusal } from "../errors.ts";
import { hashSecret } from "../secret.ts";
import type { RateLimiter } from "./ports.ts";

/** 3 mails in 15 minutes to one e-mail address. */
export const MAILBOX_LIMIT = { points: 3, seconds: 15 * 60 } as const;
/** 10 mails in 15 minutes asked for from one network address. */
export const MAIL_ADDRESS_LIMIT = { points: 10, seconds: 15 * 60 } as const;

/** Limits of mails that anyone may ask for, whether the address is known or not. */
export interface MailLimits {
  readonly mailbox: RateLimiter;
  readonly address: RateLimiter;
}

/** @throws {Refusal} too_many_requests */
export async function assertWithin(limiter: RateLimiter, key: string): Promise<void> {
  const retryAfter = await limiter.hit(key);
  if (retryAfter > 0)
    throw new Refusal("too_many_requests", "rate_limit", { description: "Too many requests. Try again later.", retryAfter });
}

/** Counts a mail that was asked for; the e-mail address reaches no store of rates. @throws {Refusal} too_many_requests */
export async function assertMayMail(email: string, limitKey: string, { mailbox, address }: MailLimits): Promise<void> {
  await assertWithin(address, limitKey);
  await assertWithin(mailbox, Buffer.from(hashSecret(email.normalize("NFC").toLowerCase())).toString("hex"));
}

/** Milliseconds that an answer takes at least which must not tell whether an address is known: more than its work. */
const FLOOR = 250;

/** Does the work, and answers no sooner than others that had less of it. */
export async function evenly(work: Promise<void>): Promise<void> {
  await Promise.all([work, new Promise((resolve) => setTimeout(resolve, FLOOR))]);
}
