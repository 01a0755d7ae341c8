import { createHmac, timingSafeEqual } from "node:crypto";
import type { AuditEntry } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { Language } from "../language.ts";
import type { SecretHash } from "../secret.ts";
import { hashSecret } from "../secret.ts";
import type { Sessions, SignedIn } from "./ports.ts";

/** Who asks: for limits, audit records, and whatever is sent to her. */
export interface Caller {
  /** The client's network address. */
  readonly address: string;
  /** What limits are counted by: the address, or the network that one host has to itself. */
  readonly limitKey: string;
  readonly requestId: string;
  /** What the browser calls itself, empty when it does not say. */
  readonly userAgent: string;
  /** That mails are to be written in. */
  readonly language: Language;
}

/** What an audit record tells of the caller. */
export const whence = ({ address, requestId }: Caller): Pick<AuditEntry, "address" | "requestId"> => ({ address, requestId });

/** A secret of 32 random bytes in base64url: what a cookie of ours holds. */
const COOKIE_SECRET = /^[A-Za-z0-9_-]{43}$/;

export const isCookieSecret = (text: string): boolean => COOKIE_SECRET.test(text);

/**
 * The values of all cookies of one name. A browser sends two when a neighbour on the same domain has planted one;
 * the caller then takes none.
 * @param header the `Cookie` header
 * @see RFC 6265 §5.4
 */
export function cookieValues(header: string | undefined, name: string): readonly string[] {
  if (header === undefined) return [];
  return header
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
    .map((pair) => pair.slice(name.length + 1));
}

/** The secret in the one cookie of that name. @returns undefined for none, several, or a value that cannot be ours */
export function cookieSecret(header: string | undefined, name: string): string | undefined {
  const [value, ...more] = cookieValues(header, name);
  return value !== undefined && more.length === 0 && isCookieSecret(value) ? value : undefined;
}

/**
 * A token that only pages of ours can know: derived from the secret of a cookie, so that nothing more is stored.
 * @param purpose what the token is good for; tokens of one purpose are worth nothing for another
 */
export const csrfToken = (secret: string, purpose: string): string => createHmac("sha256", secret).update(purpose).digest("base64url");

/** The purpose of the per-session token of `GET /consents/` (specification §4.5). */
export const API_PURPOSE = "api";

/** Constant-time comparison of a token that came along with the one that belongs there. */
export function isCsrfToken(presented: unknown, secret: string, purpose: string): boolean {
  if (typeof presented !== "string") return false;
  const [a, b] = [Buffer.from(presented), Buffer.from(csrfToken(secret, purpose))];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The person behind a session cookie. @param secret the cookie's value @returns undefined when nobody is signed in by it */
export async function readSession(secret: string | undefined, sessions: Sessions): Promise<SignedIn | undefined> {
  return secret === undefined ? undefined : sessions.byHash(hashSecret(secret));
}

/** @param clientId of the access token that asked for it */
const ended = (userId: string, caller: Caller, reason: string, clientId?: string): AuditEntry => ({
  event: "session.ended",
  outcome: "success",
  reason,
  actor: { type: "user", id: userId },
  userId,
  ...(clientId !== undefined && { clientId }),
  ...whence(caller),
});

/** Ends the one session of this cookie. */
export async function signOut(hash: SecretHash, userId: string, sessions: Sessions, caller: Caller): Promise<void> {
  await sessions.end(hash, ended(userId, caller, "signed_out"));
}

/**
 * Ends every browser session of the person and every refresh family with them (specification §4.2, logout).
 * @param clientId of the access token that asked for it; undefined for the person's own pages
 */
export async function signOutEverywhere(userId: string, sessions: Sessions, caller: Caller, clientId?: string): Promise<void> {
  await sessions.endAll(userId, ended(userId, caller, "signed_out_everywhere", clientId));
}

/**
 * Ends one session of the person, wherever it is, with the token set that it began with.
 * @throws {Refusal} not_found, alike for an unknown session and for somebody else's
 */
export async function signOutElsewhere(id: string, userId: string, sessions: Sessions, caller: Caller): Promise<void> {
  const done = await sessions.endOne(id, userId, ended(userId, caller, "signed_out_elsewhere"));
  if (!done) throw new Refusal("not_found", "session_unknown", { description: "There is no such session." });
}

/** Ends the session that asks, likewise. Idempotent. @param clientId of the access token that asked for it */
export async function signOutHere(id: string, userId: string, sessions: Sessions, caller: Caller, clientId?: string): Promise<void> {
  await sessions.endOne(id, userId, ended(userId, caller, "signed_out", clientId));
}

/** Ends, likewise, every session of the person but this one. */
export async function signOutOthers(keep: string, userId: string, sessions: Sessions, caller: Caller): Promise<void> {
  await sessions.endOthers(keep, userId, ended(userId, caller, "signed_out_others"));
}
