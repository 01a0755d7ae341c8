import { createHash } from "node:crypto";
import { Refusal } from "../errors.ts";
import { type ParsedJwt, parseJws, parseObject } from "../protocol/jws.ts";

/** Refuses a presentation. @param reason a fixed word for the audit record only @throws {Refusal} access_denied, always */
export function refuse(reason: string, cause?: unknown): never {
  throw new Refusal("access_denied", reason, cause === undefined ? {} : { cause });
}

/** Characters of a presentation: more than any credential with a certificate chain needs. */
const MAX_PRESENTATION = 60_000;
const MAX_DISCLOSURES = 100;

/** The parts of a presentation (RFC 9901 §4). Nothing has been verified. */
export interface Presentation {
  /** The whole text as it was sent. */
  readonly text: string;
  readonly credential: ParsedJwt;
  readonly disclosures: readonly string[];
  /** The text of the key binding JWT, whose signature covers the rest of the presentation (`bound`). */
  readonly keyBinding: string;
  readonly bound: string;
}

/** Members by which a header would choose its own key or change what is signed. The chain of `x5c` is verified. @see RFC 8725 §3 */
const FORBIDDEN = ["crit", "jwk", "jku", "x5u", "zip", "b64"];

/** Parses a JWT without forbidden header members. @throws {Refusal} with the reason `malformed` */
export function readJwt(text: string, malformed: string, maxLength = MAX_PRESENTATION): ParsedJwt {
  const parsed = parseJws(text, maxLength);
  const claims = parsed && parseObject(parsed.payload);
  if (parsed === undefined || claims === undefined) return refuse(malformed);
  if (FORBIDDEN.some((name) => name in parsed.header)) refuse(`${malformed}_header`);
  return { ...parsed, claims };
}

/**
 * Splits a presentation: `<issuer-signed JWT>~<disclosure>~…~<key binding JWT>`. Pure. The key binding is always required.
 * @throws {Refusal} access_denied @see RFC 9901 §4 and §7.3
 */
export function readPresentation(text: unknown): Presentation {
  if (typeof text !== "string" || text.length > MAX_PRESENTATION) return refuse("presentation_malformed");
  const [first = "", ...rest] = text.split("~");
  const keyBinding = rest.pop();
  if (keyBinding === undefined || rest.length > MAX_DISCLOSURES) return refuse("presentation_malformed");
  if (keyBinding === "") return refuse("key_binding_missing");
  const credential = readJwt(first, "presentation_malformed");
  return { text, credential, disclosures: rest, keyBinding, bound: text.slice(0, text.length - keyBinding.length) };
}

/** Hashes that a credential may use, by their IANA names; `sha-256` is the default (RFC 9901 §4.1.1). */
const HASHES: Readonly<Record<string, string>> = { "sha-256": "sha256", "sha-384": "sha384", "sha-512": "sha512" };

/** The hash function of a credential, which returns base64url. @throws {Refusal} access_denied for any other hash */
export function digestOf({ claims }: ParsedJwt): (text: string) => string {
  const { _sd_alg: name = "sha-256" } = claims;
  const hash = typeof name === "string" && Object.hasOwn(HASHES, name) ? HASHES[name] : undefined;
  if (hash === undefined) return refuse("disclosure_hash_not_accepted");
  return (text) => createHash(hash).update(text).digest("base64url");
}
