import type { AuditEntry, AuditEvent } from "../audit.ts";
import { Refusal } from "../errors.ts";
import { hashSecret, type SecretHash } from "../random.ts";
import type { Language } from "../texts/languages.ts";
import type { RateLimiter } from "./ports.ts";

/** The sender of a request, by network address, for limits, audit records and messages. */
export interface Caller {
  readonly address: string;
  /** The key of limits: the address, or the network that one host has to itself. */
  readonly limitKey: string;
  readonly requestId: string;
  /** The secret of the browser's cookie, by which it may be known (KnownDevices). */
  readonly device?: string | undefined;
  /** The secret of the session cookie, if a sign-in of this request ends that session. */
  readonly session?: string | undefined;
  /** The User-Agent header; empty if absent. */
  readonly userAgent: string;
  readonly language: Language;
}

/** The part of an audit record that identifies the request. */
export const auditOrigin = ({ address, requestId }: Caller): Pick<AuditEntry, "address" | "requestId"> => ({ address, requestId });

export const auditOfUser = (event: AuditEvent, userId: string, caller: Caller, about?: Partial<AuditEntry>): AuditEntry => ({
  event,
  outcome: "success",
  actor: { type: "user", id: userId },
  userId,
  ...auditOrigin(caller),
  ...about,
});

/** Seconds that a browser stays known after its last sign-in. */
export const DEVICE_TTL = 90 * 86_400;

/** Browsers in which users have signed in to an account. They have limits of their own, which no one else can use up. */
export interface KnownDevices {
  isKnown(key: SecretHash): Promise<boolean>;
  /** @param ttl in seconds */
  remember(key: SecretHash, userId: string, ttl: number): Promise<void>;
}

/** Makes typed addresses comparable. */
export const accountName = (email: string): string => email.trim().normalize("NFC").toLowerCase();

/** The key of an account in a browser. @param device the secret of the browser's cookie */
export const deviceKey = (email: string, device: string): SecretHash => hashSecret(`device\n${accountName(email)}\n${device}`);

/** The key of the caller's browser, if the user of the address has signed in with it before. */
export async function knownDeviceOf(
  email: string,
  { device }: { readonly device?: string | undefined },
  devices: KnownDevices,
): Promise<SecretHash | undefined> {
  const key = device === undefined ? undefined : deviceKey(email, device);
  return key !== undefined && (await devices.isKnown(key)) ? key : undefined;
}

/** 3 mails in 15 minutes to one e-mail address, and as many that a known device requests. */
export const MAILBOX_LIMIT = { points: 3, seconds: 15 * 60 } as const;
/** 10 mails in 15 minutes requested from one network address. */
export const MAIL_ADDRESS_LIMIT = { points: 10, seconds: 15 * 60 } as const;

/** Limits of mails that anyone may request, for known and unknown addresses alike. */
export interface MailLimits {
  readonly mailbox: RateLimiter;
  readonly address: RateLimiter;
  readonly device: RateLimiter;
}

/** @throws {Refusal} too_many_requests */
export async function assertWithin(limiter: RateLimiter, key: string): Promise<void> {
  const retryAfter = await limiter.hit(key);
  if (retryAfter > 0)
    throw new Refusal("too_many_requests", "rate_limit", { description: "Too many requests. Try again later.", retryAfter });
}

/**
 * Counts a requested mail. The rate limiters get only hashes of the e-mail address. A browser in which its user has signed in before has a
 * limit of its own, so that strangers' requests do not keep the user from getting a mail.
 * @throws {Refusal} too_many_requests
 */
export async function assertMayMail(
  email: string,
  caller: Pick<Caller, "limitKey" | "device">,
  limits: MailLimits,
  devices: KnownDevices,
): Promise<void> {
  const device = await knownDeviceOf(email, caller, devices);
  if (device !== undefined) return assertWithin(limits.device, Buffer.from(device).toString("hex"));
  await assertWithin(limits.address, caller.limitKey);
  await assertWithin(limits.mailbox, Buffer.from(hashSecret(accountName(email))).toString("hex"));
}

/** Milliseconds, more than the work takes. */
const MIN_DURATION = 250;

/** Waits for the work and a minimum duration, so that the response time does not show whether an address is known. */
export async function evenly(work: Promise<void>): Promise<void> {
  await Promise.all([work, new Promise((resolve) => setTimeout(resolve, MIN_DURATION))]);
}
