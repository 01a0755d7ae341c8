import { hash, sign as signBytes, timingSafeEqual, verify } from "node:crypto";
import { LRUCache } from "lru-cache";
import { type ParsedJwt, parseJwt, parseObject } from "../../protocol/jws.ts";
import { type AccessTokenClaims, asAccessToken } from "../tokens/access-token.ts";
import type { Keys } from "./key-ring.ts";
import type { SigningAlgorithm, SigningKey } from "./keys.ts";
import type { MldsaKey } from "./ml-dsa.ts";

export type TokenType = "at+jwt" | "JWT" | "oauth-id-jag+jwt" | "logout+jwt" | "token-introspection+jwt";

type Waiting = { readonly input: string; readonly key: SigningKey } & Pick<PromiseWithResolvers<Buffer>, "resolve" | "reject">;

const DIGESTS: Record<SigningAlgorithm, string | null> = { EdDSA: null, RS256: "RSA-SHA256" };

/** Signs on this thread. Ed25519 is deterministic: one input has one signature. */
export const signNow = (input: string, key: SigningKey): Buffer => signBytes(DIGESTS[key.jwk.alg], Buffer.from(input), key.privateKey);

let waiting: Waiting[] = [];

function flush(): void {
  const batch = waiting;
  waiting = [];
  for (const { input, key, resolve, reject } of batch) {
    try {
      resolve(signNow(input, key));
    } catch (error) {
      reject(error);
    }
  }
}

/** Signs all inputs of one turn of the event loop at its end: the turn's HTTP work then stays in the processor's cache. */
function sign(input: string, key: SigningKey): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  if (waiting.push({ input, key, resolve, reject }) === 1) setImmediate(flush);
  return promise;
}

const segments = new WeakMap<SigningKey, Map<string, string>>();

/**
 * The encoded protected header for a key and type, built once.
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
export async function signJwt(claims: object, type: TokenType, key: SigningKey): Promise<string> {
  const input = `${headerSegment(key, type)}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  return `${input}.${(await sign(input, key)).toString("base64url")}`;
}

/** Signs one input twice. The second signature is detached, so that verifiers may ignore it. @see docs/protocol.md#hybrid-signing */
export async function signHybridJwt(claims: object, type: TokenType, key: SigningKey, second: MldsaKey) {
  const input = `${headerSegment(key, type, second)}.${Buffer.from(JSON.stringify(claims)).toString("base64url")}`;
  const [signature, detached] = await Promise.all([sign(input, key), second.sign(input)]);
  return { token: `${input}.${signature.toString("base64url")}`, detached };
}

/** Whether the header of a verified token announces a second signature. @param plain headers of tokens that do not */
export function promisesSecond(token: string, plain: readonly string[]): boolean {
  const [segment = ""] = token.split(".", 1);
  return !plain.includes(segment) && parseObject(Buffer.from(segment, "base64url"))?.pqc_alg !== undefined;
}

export type IssuedTokens = ReturnType<typeof issuedTokens>;

/** Tokens whose claims are remembered, and their characters: for ten long resources users can have tokens of 5 KiB, as many as they refresh. */
const REMEMBERED = { max: 10_000, maxSize: 16 * 1_048_576 };

/**
 * Verifies tokens of this issuer. Callers check their times and state: what is remembered, by the hash of the token, is never that it is valid.
 * @see RFC 8725 §3, RFC 9068 §4
 */
export function issuedTokens(issuer: string, keys: Keys) {
  const known = new LRUCache<string, { readonly claims: AccessTokenClaims; readonly kid: string }>(REMEMBERED);

  const keyOf = (token: string): string => hash("sha256", token, "base64");
  const recall = (key: string): AccessTokenClaims | undefined => {
    const { claims, kid = "" } = known.get(key) ?? {};
    return keys.byId(kid) && claims;
  };
  const verified = (token: string, type: TokenType): ParsedJwt | undefined => {
    const parsed = parseJwt(token);
    return parsed?.claims.iss === issuer && signatureHolds(parsed, type, keys) ? parsed : undefined;
  };
  return {
    /** The same for an access token that was verified before, by a key that is still published. Never verifies a signature. */
    remembered: (token: string): AccessTokenClaims | undefined => recall(keyOf(token)),
    /** The claims of an access token that this issuer signed, expired or not; undefined for everything else. */
    accessToken(token: string): AccessTokenClaims | undefined {
      const key = keyOf(token);
      const remembered = recall(key);
      if (remembered !== undefined) return remembered;
      const parsed = verified(token, "at+jwt");
      const claims = parsed && asAccessToken(parsed.claims);
      if (claims !== undefined) known.set(key, { claims, kid: String(parsed?.header.kid) }, { size: token.length });
      return claims;
    },
    /** The claims of an ID token that this issuer signed, expired or not; none of them has been checked. */
    idToken: (token: string): ParsedJwt["claims"] | undefined => verified(token, "JWT")?.claims,
  };
}

/** Whether the header is exactly what this issuer writes, so that no member has to be checked. */
const isOurHeader = (parsed: ParsedJwt, type: TokenType, own: SigningKey, second: MldsaKey | undefined): boolean =>
  parsed.headerSegment === headerSegment(own, type) || (second !== undefined && parsed.headerSegment === headerSegment(own, type, second));

function signatureHolds(parsed: ParsedJwt, type: TokenType, keys: Keys): boolean {
  const { alg, typ, kid } = parsed.header;
  const key = typeof kid === "string" ? keys.byId(kid) : undefined;
  if (key === undefined) return false;
  const own = keys.own.find(({ jwk }) => jwk.alg === "EdDSA" && jwk.kid === kid);
  const second = type === "at+jwt" ? keys.hybrid : undefined;
  if (own !== undefined && isOurHeader(parsed, type, own, second)) {
    // Ed25519 is deterministic: signing again and comparing costs a third of a verification.
    const expected = signNow(parsed.signingInput, own);
    return expected.length === parsed.signature.length && timingSafeEqual(expected, parsed.signature);
  }
  // Only ID tokens may be RS256.
  if (typ !== type || alg !== key.jwk.alg || (type !== "JWT" && alg !== "EdDSA")) return false;
  return verify(alg === "RS256" ? "RSA-SHA256" : null, Buffer.from(parsed.signingInput), key.publicKey, parsed.signature);
}
