import { base64url } from "jose";
import { GuardRefusal } from "./refusal.ts";
import type { Bytes } from "./signature.ts";

/** Longer than any token fits into the header of a request. */
export const MAX_TOKEN_LENGTH = 16_384;

/** The parts of a compact JWS that has the right form; nothing in it has been verified. */
export interface ParsedToken {
  readonly kid: string | undefined;
  readonly claims: Readonly<Record<string, unknown>>;
  /** The bytes that the signature is over, and the signature. */
  readonly input: Bytes;
  readonly signature: Bytes;
}

const TYPES = new Set(["at+jwt", "application/at+jwt"]);
const SIGNATURE_LENGTH = 86; // 64 bytes of Ed25519, unpadded
/** Members by which a token would name its own key, change how it is read, or be packed. */
const FORBIDDEN_HEADERS = ["crit", "jwk", "jku", "x5u", "x5c", "zip"];

/**
 * Reads the one form of token that is accepted: compact, three canonical base64url parts, `alg` EdDSA, `typ` at+jwt.
 * @throws {GuardRefusal} invalid_token
 * @see RFC 8725 §3.1, §3.11; RFC 9068 §2.1, §4
 */
export function parseToken(text: string): ParsedToken {
  if (text.length > MAX_TOKEN_LENGTH) throw refused("token_too_long");
  const parts = text.split(".", 4);
  const [header, payload, signature] = parts;
  if (parts.length !== 3 || header === undefined || payload === undefined || signature === undefined) throw refused("token_malformed");
  if (!isCanonical(header) || !isCanonical(payload)) throw refused("token_malformed");
  const { alg, typ, kid, ...others } = readObject(header);
  if (alg !== "EdDSA") throw refused("algorithm_unsupported");
  if (typeof typ !== "string" || !TYPES.has(typ.toLowerCase())) throw refused("type_unsupported");
  if (kid !== undefined && typeof kid !== "string") throw refused("token_malformed");
  if (FORBIDDEN_HEADERS.some((name) => Object.hasOwn(others, name))) throw refused("header_forbidden");
  if (signature.length !== SIGNATURE_LENGTH || !isCanonical(signature)) throw refused("signature_invalid");
  const input = new TextEncoder().encode(text.slice(0, -SIGNATURE_LENGTH - 1));
  return { kid, claims: readObject(payload), input, signature: new Uint8Array(base64url.decode(signature)) };
}

const ALPHABET = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
const BASE64URL = /^[A-Za-z0-9_-]+$/;

/** Whether a part is the only spelling of its bytes: no foreign characters, no padding, no stray bits in the last one. */
export function isCanonical(part: string): boolean {
  if (!BASE64URL.test(part)) return false;
  const last = ALPHABET.indexOf(part.slice(-1));
  switch (part.length % 4) {
    case 0:
      return true;
    case 2:
      return (last & 0b1111) === 0;
    case 3:
      return (last & 0b11) === 0;
    default:
      return false;
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function readObject(part: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(utf8.decode(base64url.decode(part)));
  } catch {
    throw refused("token_malformed");
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw refused("token_malformed");
  return value as Record<string, unknown>; // an object by the line above
}

const refused = (reason: string) => new GuardRefusal("invalid_token", reason);
