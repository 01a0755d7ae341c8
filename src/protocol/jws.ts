/** The parts of a well-formed JWS. Nothing has been verified. */
export interface ParsedJws {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Buffer;
  readonly headerSegment: string;
  readonly signingInput: string;
  readonly signature: Buffer;
}

/** The same with an object as its payload. */
export type ParsedJwt = ParsedJws & { readonly claims: Readonly<Record<string, unknown>> };

/** Longer texts are refused before they are decoded. Guards accept tokens of this length, which fit into a header, so that they must be revocable. */
const MAX_TOKEN_LENGTH = 16_384;

/** Members that would let a token choose its own key or change what is signed (RFC 8725 §3). */
const FORBIDDEN_HEADERS = ["crit", "jwk", "jku", "x5u", "x5c", "zip", "b64"];

/** Accepts only the canonical encoding: a lenient decoder would let one token have several texts. */
function decodeCanonical(segment: string): Buffer | undefined {
  const bytes = Buffer.from(segment, "base64url");
  return bytes.toString("base64url") === segment ? bytes : undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A JSON object (RFC 7515 §3, RFC 7519 §3), or undefined for anything else. */
export function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The parts of a compact JWS, or undefined for anything else. Verifies nothing. */
export function parseJws(token: string, maxLength = MAX_TOKEN_LENGTH): ParsedJws | undefined {
  if (token.length > maxLength) return undefined;
  const [first, second, third, ...rest] = token.split(".");
  if (first === undefined || second === undefined || third === undefined || rest.length > 0) return undefined;
  const [headerBytes, payload, signature] = [decodeCanonical(first), decodeCanonical(second), decodeCanonical(third)];
  const header = headerBytes && parseObject(headerBytes);
  if (header === undefined || payload === undefined || signature === undefined) return undefined;
  return { header, payload, headerSegment: first, signingInput: `${first}.${second}`, signature };
}

/** A time in a JWT of another issuer: seconds, perhaps with a fraction (RFC 7519 §2). */
export const isTime = (value: unknown): value is number => typeof value === "number" && Math.abs(value) <= Number.MAX_SAFE_INTEGER;

/** Whether an optional time of a JWT is at most `latest`. */
export const hasCome = (time: unknown, latest: number): boolean => time === undefined || (isTime(time) && time <= latest);

/** The audience of a JWT, which may be a list of one (RFC 7519 §4.1.3). */
export const soleAudience = (aud: unknown): unknown => (Array.isArray(aud) && aud.length === 1 ? aud[0] : aud);

export const hasForbiddenMember = ({ header }: ParsedJws): boolean => FORBIDDEN_HEADERS.some((name) => name in header);

/** The parts of a JWT without forbidden header members, or undefined. */
export function parseJwt(token: string): ParsedJwt | undefined {
  const parsed = parseJws(token);
  if (parsed === undefined || hasForbiddenMember(parsed)) return undefined;
  const claims = parseObject(parsed.payload);
  return claims && { ...parsed, claims };
}
