import { isUuid } from "../../identifier.ts";

// The shapes that claims must have before they are used: a signature proves that this issuer wrote a token, not that this release did.

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Text that a column can hold: not empty, without NUL or lone surrogates. */
export const isText = (value: unknown): value is string =>
  typeof value === "string" && value !== "" && !value.includes("\0") && value.isWellFormed();

/** Scope tokens separated by spaces; empty for a token without any scope (RFC 6749 §3.3). */
export const isScope = (value: unknown): value is string => typeof value === "string" && /^[\x20\x21\x23-\x5B\x5D-\x7E]*$/.test(value);

/** The end of the year 9999, the last date that every database can write. */
const LAST_SECOND = 253_402_300_799;

export const isTime = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) >= 0 && Number(value) <= LAST_SECOND;

export const isAudience = (value: unknown): value is string | readonly string[] =>
  isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText));

/** A confirmation by a method that this release knows (RFC 9449 §6.1, RFC 8705 §3.1). */
export const isConfirmation = (value: unknown): boolean => isObject(value) && [value.jkt, value["x5t#S256"]].filter(isText).length === 1;

export function isActor(value: unknown): boolean {
  for (let actor: unknown = value; actor !== undefined; actor = actor.act) {
    if (!isObject(actor) || !isText(actor.sub)) return false;
  }
  return value !== undefined;
}

/** 16 bytes in base64url: a packed UUID, or random ones. */
const PACKED = /^[A-Za-z0-9_-]{21}[AQgw]$/;
const RANDOM = /^[A-Za-z0-9_-]{16}$/;

/**
 * Whether jti and sub are those of a client's own token, a user's token with its grant, or a delegated token.
 * @param delegated the first part of a delegated token's jti
 */
export function isReference(jti: unknown, sub: unknown, delegated: string): boolean {
  if (!isText(jti) || !isText(sub)) return false;
  const [first = "", second, ...more] = jti.split(".");
  if (second === undefined) return true;
  const wellFormed = first === delegated ? PACKED.test(second) : PACKED.test(first) && RANDOM.test(second);
  return wellFormed && more.length === 0 && isUuid(sub);
}

export const isAncestry = (value: unknown): boolean =>
  Array.isArray(value) && value.every((entry) => isObject(entry) && isText(entry.jti) && isText(entry.client_id));
