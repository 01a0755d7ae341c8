import { createHash } from "node:crypto";
import { type ParsedJwt, parseJws, parseObject } from "../core/signing/jws.ts";
import { refuse } from "./refused.ts";

/** Characters of a presentation: more than any credential with a certificate chain of its own needs. */
const MAX_PRESENTATION = 60_000;
const MAX_DISCLOSURES = 100;

export type Members = Readonly<Record<string, unknown>>;

/** Whether a value of JSON is an object with members. */
export const isMembers = (value: unknown): value is Members => typeof value === "object" && value !== null && !Array.isArray(value);

/** A presentation in its parts (RFC 9901 §4). Nothing of it has been proven. */
export interface Presentation {
  /** The whole, as it was sent. */
  readonly text: string;
  readonly credential: ParsedJwt;
  readonly disclosures: readonly string[];
  /** The text of the key binding JWT; what comes before it is what it vouches for. */
  readonly keyBinding: string;
  readonly bound: string;
}

/** Members by which a header would choose its own key or change what is signed. `x5c` is judged, not believed. @see RFC 8725 §3 */
const FORBIDDEN = ["crit", "jwk", "jku", "x5u", "zip", "b64"];

/** A JWT whose header says nothing forbidden. @throws {Refusal} with the reason given */
export function readJwt(text: string, malformed: string, maxLength = MAX_PRESENTATION): ParsedJwt {
  const parsed = parseJws(text, maxLength);
  const claims = parsed && parseObject(parsed.payload);
  if (parsed === undefined || claims === undefined) return refuse(malformed);
  if (FORBIDDEN.some((name) => name in parsed.header)) refuse(`${malformed}_header`);
  return { ...parsed, claims };
}

/**
 * Takes a presentation apart. Pure. That it ends in a key binding is our demand, whatever arrived (RFC 9901 §7.3).
 * @throws {Refusal} access_denied
 * @see RFC 9901 §4: `<issuer-signed JWT>~<disclosure>~…~<key binding JWT>`
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

/** Hashes that a credential may use, by their IANA names; `sha-256` where it names none (RFC 9901 §4.1.1). */
const HASHES: Readonly<Record<string, string>> = { "sha-256": "sha256", "sha-384": "sha384", "sha-512": "sha512" };

/** The hash function of a credential, to base64url. @throws {Refusal} access_denied for one that we do not take */
export function digestOf({ claims }: ParsedJwt): (text: string) => string {
  const { _sd_alg: name = "sha-256" } = claims;
  const hash = typeof name === "string" && Object.hasOwn(HASHES, name) ? HASHES[name] : undefined;
  if (hash === undefined) return refuse("disclosure_hash_not_accepted");
  return (text) => createHash(hash).update(text).digest("base64url");
}
