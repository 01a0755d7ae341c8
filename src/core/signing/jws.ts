import { sign as signBytes } from "node:crypto";
import type { SigningAlgorithm, SigningKey } from "./keys.ts";
import type { MldsaKey } from "./ml-dsa.ts";

export type TokenType = "at+jwt" | "JWT" | "oauth-id-jag+jwt";

/** A JWS in its parts, before anything but its form has been checked. */
export interface ParsedJws {
  readonly header: Readonly<Record<string, unknown>>;
  readonly payload: Buffer;
  readonly headerSegment: string;
  readonly signingInput: string;
  readonly signature: Buffer;
}

/** The same with an object as its payload. */
export interface ParsedJwt extends ParsedJws {
  readonly claims: Readonly<Record<string, unknown>>;
}

/** Signs a signing input; answers the signature. */
export type Sign = (input: string, key: SigningKey) => Promise<Buffer>;

interface Waiting {
  readonly input: string;
  readonly key: SigningKey;
  readonly resolve: (signature: Buffer) => void;
  readonly reject: (error: unknown) => void;
}

const DIGESTS: Record<SigningAlgorithm, string | null> = { EdDSA: null, RS256: "RSA-SHA256" };

/** One signature now, on this thread. Ed25519 is deterministic: the same input always has the same one. */
export const signNow = (input: string, key: SigningKey): Buffer => signBytes(DIGESTS[key.jwk.alg], Buffer.from(input), key.privateKey);

/**
 * A signer that collects what one turn of the event loop asks for and signs it at the turn's end, all together:
 * the HTTP work of the turn then stays in the processor's cache, which costs less than signing in between.
 */
export function createSigner(): Sign {
  let waiting: Waiting[] = [];

  const flush = (): void => {
    const batch = waiting;
    waiting = [];
    for (const { input, key, resolve, reject } of batch) {
      try {
        resolve(signNow(input, key));
      } catch (error) {
        reject(error);
      }
    }
  };

  return (input, key) => {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    if (waiting.push({ input, key, resolve, reject }) === 1) setImmediate(flush);
    return promise;
  };
}

/** Far more than any token of this issuer has; longer texts are refused before they are decoded. */
const MAX_TOKEN_LENGTH = 8192;

/** Members that would let a token choose its own key or change what is signed (RFC 8725 §3). */
const FORBIDDEN_HEADERS = ["crit", "jwk", "jku", "x5u", "x5c", "zip", "b64"];

const segments = new WeakMap<SigningKey, Map<string, string>>();

/**
 * The encoded protected header of a key and kind: it never changes, so it is built once.
 * @param second the key of the second signature, which the header names (docs/protocol.md#hybrid-signing)
 */
export function headerSegment(key: SigningKey, type: TokenType, second?: MldsaKey): string {
  const known = segments.get(key) ?? new Map<string, string>();
  segments.set(key, known);
  const name = second === undefined ? type : `${type} ${second.jwk.kid}`;
  const found = known.get(name);
  if (found !== undefined) return found;
  const header = { alg: key.jwk.alg, typ: type, kid: key.jwk.kid, ...(second && { pqc_alg: second.jwk.alg, pqc_kid: second.jwk.kid }) };
  const segment = Buffer.from(JSON.stringify(header)).toString("base64url");
  known.set(name, segment);
  return segment;
}

/** Signs claims as a compact JWS (RFC 7515 §3.1). */
export async function signJwt(claims: object, type: TokenType, key: SigningKey, sign: Sign): Promise<string> {
  const input = `${headerSegment(key, type)}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  return `${input}.${(await sign(input, key)).toString("base64url")}`;
}

/** A JWS with its second signature, detached. */
export interface HybridJwt {
  readonly token: string;
  readonly detached: Uint8Array;
}

/** Signs claims twice, over one signing input: to a verifier that does not know the second signature the token is an ordinary one (docs/protocol.md#hybrid-signing). */
export async function signHybridJwt(claims: object, type: TokenType, key: SigningKey, sign: Sign, second: MldsaKey): Promise<HybridJwt> {
  const input = `${headerSegment(key, type, second)}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  const [signature, detached] = await Promise.all([sign(input, key), second.sign(input)]);
  return { token: `${input}.${signature.toString("base64url")}`, detached };
}

/** Whether the header of a token that has been verified promises a second signature. @param plain headers of tokens that do not */
export function promisesSecond(token: string, plain: readonly string[]): boolean {
  const [segment = ""] = token.split(".", 1);
  return !plain.includes(segment) && parseObject(Buffer.from(segment, "base64url"))?.pqc_alg !== undefined;
}

/** Only the one spelling of some bytes: a lenient decoder would let one token have several texts. */
function decodeCanonical(segment: string): Buffer | undefined {
  const bytes = Buffer.from(segment, "base64url");
  return bytes.toString("base64url") === segment ? bytes : undefined;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** A JSON object (RFC 7515 §3, RFC 7519 §3), or undefined for all else. */
export function parseObject(bytes: Buffer): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(utf8.decode(bytes));
    return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

/** The parts of a compact JWS, or undefined for anything that is not exactly one. Proves nothing about who signed it. */
export function parseJws(token: string, maxLength = MAX_TOKEN_LENGTH): ParsedJws | undefined {
  if (token.length > maxLength) return undefined;
  const [first, second, third, ...rest] = token.split(".");
  if (first === undefined || second === undefined || third === undefined || rest.length > 0) return undefined;
  const [headerBytes, payload, signature] = [decodeCanonical(first), decodeCanonical(second), decodeCanonical(third)];
  const header = headerBytes && parseObject(headerBytes);
  if (header === undefined || payload === undefined || signature === undefined) return undefined;
  return { header, payload, headerSegment: first, signingInput: `${first}.${second}`, signature };
}

/** Whether a header would let the token choose its own key, or change what is signed. */
export const hasForbiddenMember = ({ header }: ParsedJws): boolean => FORBIDDEN_HEADERS.some((name) => name in header);

/** The parts of a JWT whose header says nothing that is forbidden, or undefined. */
export function parseJwt(token: string): ParsedJwt | undefined {
  const parsed = parseJws(token);
  if (parsed === undefined || hasForbiddenMember(parsed)) return undefined;
  const claims = parseObject(parsed.payload);
  return claims && { ...parsed, claims };
}
