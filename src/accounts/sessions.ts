import { createHmac, timingSafeEqual } from "node:crypto";
import type { AuditEntry, AuditEvent } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { Language } from "../language.ts";
import { hashSecret, type SecretHash } from "../random.ts";
import type { Sessions, SignedIn } from "./ports.ts";

/** The sender of a request, by network address, for limits, audit records and messages. */
export interface Caller {
  readonly address: string;
  /** The key of limits: the address, or the network that one host has to itself. */
  readonly limitKey: string;
  readonly requestId: string;
  /** The User-Agent header; empty if absent. */
  readonly userAgent: string;
  readonly language: Language;
}

/** The part of an audit record that identifies the request. */
export const auditOrigin = ({ address, requestId }: Caller): Pick<AuditEntry, "address" | "requestId"> => ({ address, requestId });

/** The audit record of what a user did in a request. */
export const auditOfUser = (event: AuditEvent, userId: string, caller: Caller, about?: Partial<AuditEntry>): AuditEntry => ({
  event,
  outcome: "success",
  actor: { type: "user", id: userId },
  userId,
  ...auditOrigin(caller),
  ...about,
});

/** A cookie secret: 32 random bytes in base64url. */
const COOKIE_SECRET = /^[A-Za-z0-9_-]{43}$/;

/** The values of all cookies with a name: several when another host of the domain has planted one. @see RFC 6265 §5.4 */
export function cookieValues(header: string | undefined, name: string): readonly string[] {
  return (header ?? "").split(";").flatMap((text) => {
    const pair = text.trim();
    return pair.startsWith(`${name}=`) ? [pair.slice(name.length + 1)] : [];
  });
}

/** The secret in a cookie. @returns undefined without the cookie, for several of the name, and for any other value */
export function cookieSecret(header: string | undefined, name: string): string | undefined {
  const [value, ...more] = cookieValues(header, name);
  return value !== undefined && more.length === 0 && COOKIE_SECRET.test(value) ? value : undefined;
}

/** A CSRF token, valid for one purpose. It is derived from a cookie's secret, so nothing is stored. */
export const csrfToken = (secret: string, purpose: string): string => createHmac("sha256", secret).update(purpose).digest("base64url");

/** The purpose of the token that `GET /consents/` returns (docs/protocol.md#consent). */
export const API_PURPOSE = "api";

/** Whether a request has the right CSRF token. Compares in constant time. */
export function isCsrfToken(presented: unknown, secret: string, purpose: string): boolean {
  if (typeof presented !== "string") return false;
  const [a, b] = [Buffer.from(presented), Buffer.from(csrfToken(secret, purpose))];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** The session of a cookie, with its user. @param secret the cookie's value @returns undefined without a live session */
export async function readSession(secret: string | undefined, sessions: Sessions): Promise<SignedIn | undefined> {
  return secret === undefined ? undefined : sessions.byHash(hashSecret(secret));
}

/** @param clientId of the access token in the request */
const sessionEnded = (userId: string, caller: Caller, reason: string, clientId?: string): AuditEntry =>
  auditOfUser("session.ended", userId, caller, { reason, ...(clientId !== undefined && { clientId }) });

export async function signOut(hash: SecretHash, userId: string, sessions: Sessions, caller: Caller): Promise<void> {
  await sessions.end(hash, sessionEnded(userId, caller, "signed_out"));
}

/** Ends every session and refresh family of a user. @param clientId of the access token in the request @see docs/protocol.md#sessions */
export async function signOutEverywhere(userId: string, sessions: Sessions, caller: Caller, clientId?: string): Promise<void> {
  await sessions.endAll(userId, sessionEnded(userId, caller, "signed_out_everywhere", clientId));
}

/** Ends one session of a user, with the token set that it started with. @throws {Refusal} not_found, also for another user's */
export async function signOutElsewhere(id: string, userId: string, sessions: Sessions, caller: Caller): Promise<void> {
  const ended = await sessions.endOne(id, userId, sessionEnded(userId, caller, "signed_out_elsewhere"));
  if (!ended) throw new Refusal("not_found", "session_unknown", { description: "There is no such session." });
}

/** Ends the session of the request in the same way. Idempotent. @param clientId of the access token in the request */
export async function signOutHere(id: string, userId: string, sessions: Sessions, caller: Caller, clientId?: string): Promise<void> {
  await sessions.endOne(id, userId, sessionEnded(userId, caller, "signed_out", clientId));
}

/** Ends every session of a user but one in the same way. */
export async function signOutOthers(keep: string, userId: string, sessions: Sessions, caller: Caller): Promise<void> {
  await sessions.endOthers(keep, userId, sessionEnded(userId, caller, "signed_out_others"));
}
