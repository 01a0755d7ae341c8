import { digestOf, isMembers, type Members, type Presentation, refuse } from "./presentation.ts";

type Json = unknown;

/** An element of an array has no name. */
type Disclosure = { readonly name: string | undefined; readonly value: Json };

/** Nesting of objects and lists, disclosed ones included. */
const MAX_DEPTH = 32;

/** Claims that decide whether the credential is valid: the issuer must not make them selectively disclosable. @see SD-JWT VC §2.2.2.2 */
const NEVER_DISCLOSED: ReadonlySet<string> = new Set(["iss", "nbf", "exp", "cnf", "vct", "vct#integrity", "status", "_sd_alg"]);

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Decodes JSON from canonical base64url. */
function decode(text: string): Json {
  const bytes = Buffer.from(text, "base64url");
  try {
    if (bytes.toString("base64url") === text) return JSON.parse(utf8.decode(bytes));
  } catch {
    // the parser's message may quote the text
  }
  return refuse("disclosure_malformed");
}

/** One disclosure: base64url of `[salt, name, value]`, or of `[salt, value]` for an element of an array (RFC 9901 §4.2). */
function readDisclosure(text: string): Disclosure {
  const parts = decode(text);
  if (!Array.isArray(parts) || typeof parts[0] !== "string") return refuse("disclosure_malformed");
  if (parts.length === 2) return { name: undefined, value: parts[1] };
  const [, name, value] = parts as readonly Json[];
  if (parts.length !== 3 || typeof name !== "string") return refuse("disclosure_malformed");
  if (name === "_sd" || name === "..." || name === "__proto__") return refuse("disclosure_reserved");
  return { name, value };
}

/**
 * Checks that each disclosure is the issuer's and has exactly one place in the credential, before a library inserts it there. Pure.
 * @throws {Refusal} access_denied @see RFC 9901 §7.1 step 3
 */
export function assertDisclosuresSound(presentation: Presentation): void {
  const digest = digestOf(presentation.credential);
  const sent = new Map(presentation.disclosures.map((text) => [digest(text), readDisclosure(text)]));
  if (sent.size !== presentation.disclosures.length) refuse("disclosure_repeated");
  const seen = new Set<string>();

  /** The disclosure of a digest. A digest may occur once. */
  const disclosureOf = (hash: Json): Disclosure | undefined => {
    if (typeof hash !== "string") return refuse("digest_malformed");
    if (seen.has(hash)) return refuse("digest_repeated");
    seen.add(hash);
    return sent.get(hash);
  };
  const walk = (value: Json, depth: number): void => {
    if (depth > MAX_DEPTH) refuse("presentation_too_deep");
    if (Array.isArray(value)) for (const item of value) walkElement(item, depth + 1);
    else if (isMembers(value)) walkMembers(value, depth + 1);
  };
  const walkElement = (item: Json, depth: number): void => {
    if (!isMembers(item) || !("..." in item)) walk(item, depth);
    else {
      if (Object.keys(item).length !== 1) refuse("digest_malformed");
      const found = disclosureOf(item["..."]);
      if (found !== undefined && found.name !== undefined) refuse("disclosure_misplaced");
      walk(found?.value, depth);
    }
  };
  const walkMembers = (members: Members, depth: number): void => {
    const { _sd = [], ...open } = members;
    if ("..." in open) refuse("digest_malformed");
    const names = new Set(Object.keys(open));
    for (const hash of Array.isArray(_sd) ? _sd : refuse("digest_malformed")) {
      const found = disclosureOf(hash);
      if (found === undefined) continue;
      const name = found.name ?? refuse("disclosure_misplaced");
      if (names.has(name)) refuse("disclosure_overwrites");
      if (depth === 1 && NEVER_DISCLOSED.has(name)) refuse("disclosure_reserved");
      names.add(name);
      walk(found.value, depth);
    }
    for (const value of Object.values(open)) walk(value, depth);
  };

  walk(presentation.credential.claims, 0);
  for (const hash of sent.keys()) if (!seen.has(hash)) refuse("disclosure_unreferenced");
}
