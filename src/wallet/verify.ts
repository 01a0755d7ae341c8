import { createHash } from "node:crypto";
import { SDJwt } from "@sd-jwt/core";
import { asPublicKeySet, isObject, type PublishedKey } from "../clients/public-keys.ts";
import type { Clock } from "../clock.ts";
import type { ParsedJwt } from "../protocol/jws.ts";
import type { CredentialPolicy, WalletIdentity } from "./ports.ts";
import { digestOf, type Presentation, readJwt, readPresentation, refuse } from "./presentation.ts";
import { type CredentialQuery, satisfies } from "./query.ts";
import { assertSignedByIssuer, type IssuerTrust, isSignedBy, isWalletAlgorithm } from "./signatures.ts";
import { assertNotRevoked, type StatusLists } from "./status-list.ts";

export interface VerificationPorts {
  readonly policy: CredentialPolicy;
  readonly query: CredentialQuery;
  readonly trust: IssuerTrust;
  readonly lists: StatusLists;
  readonly clock: Clock;
}

const MAX_SUBJECT = 512;

const hasher = (data: string | ArrayBuffer, alg: string): Uint8Array =>
  createHash(alg.replace("-", ""))
    .update(typeof data === "string" ? data : new Uint8Array(data))
    .digest();

function subjectOf(claims: Readonly<Record<string, unknown>>, name: string): string {
  const subject = claims[name];
  const acceptable =
    typeof subject === "string" && subject !== "" && subject.length <= MAX_SUBJECT && subject.isWellFormed() && !subject.includes("\0");
  return acceptable ? subject : refuse("subject_missing");
}

/**
 * Verifies a presentation. Fetches keys only for trusted issuers, and status lists only for credentials that such an issuer signed.
 * @returns the identity that the presentation proves
 * @throws {Refusal} access_denied @see OpenID4VP 1.0 §8.6 and B.3, RFC 9901 §7, SD-JWT VC §3.4
 */
export async function verifyPresentation(
  text: unknown,
  expected: Omit<ExpectedBinding, "now">,
  { policy, query, trust, lists, clock }: VerificationPorts,
): Promise<WalletIdentity> {
  const now = clock();
  const presentation = readPresentation(text);
  const { credential } = presentation;
  const { issuer, holderKey } = checkCredential(credential, policy, now);
  await assertSignedByIssuer(credential, issuer, trust, now);
  assertDisclosuresSound(presentation);
  await assertKeyBinding(presentation, holderKey, { ...expected, now });
  // With the disclosed ones in their places, where they have just been found to belong.
  const claims = await (await SDJwt.fromEncode(presentation.text, hasher)).getClaims<Record<string, unknown>>(hasher);
  if (!satisfies(query, claims)) refuse("claims_missing");
  const subject = subjectOf(claims, policy.subjectClaim);
  await assertNotRevoked(credential.claims.status, issuer, { lists, policy: policy.status, now });
  return { issuer, subject };
}

/** Seconds by which the clock of an issuer, and the time of a key binding, may differ from now. */
const SKEW = 60;
const MAX_BINDING_AGE = 300;

/** Older wallets use the second type (SD-JWT VC §2.1). */
const CREDENTIAL_TYPES = ["dc+sd-jwt", "vc+sd-jwt"];

/** Checks the optional times (RFC 7519 §4.1). @param begins the claims before which it is not valid @throws {Refusal} access_denied */
function assertCurrent({ claims }: ParsedJwt, what: "credential" | "key_binding", begins: readonly string[], now: number): void {
  const timeOf = (name: string, absent: number): number => {
    const { [name]: value = absent } = claims;
    return Number.isFinite(value) ? (value as number) : refuse(`${what}_time_malformed`);
  };
  if (timeOf("exp", now) <= now - SKEW) refuse(`${what}_expired`);
  for (const name of begins) if (timeOf(name, now) > now + SKEW) refuse(`${what}_not_yet_valid`);
}

/**
 * Checks the claims of a credential that are not selectively disclosed, before its signature is verified and anything is fetched for it. Pure.
 * @param now seconds since the epoch
 * @throws {Refusal} access_denied @see SD-JWT VC §2.2 and §3.4
 */
function checkCredential(credential: ParsedJwt, policy: CredentialPolicy, now: number) {
  const { header, claims } = credential;
  if (!CREDENTIAL_TYPES.some((type) => type === header.typ)) refuse("credential_of_another_kind");
  if (!isWalletAlgorithm(header.alg)) return refuse("credential_algorithm_not_accepted");
  if (header.kid !== undefined && typeof header.kid !== "string") return refuse("presentation_malformed");
  const { iss, vct, cnf } = claims;
  if (typeof iss !== "string" || !policy.trustedIssuers.includes(iss)) return refuse("issuer_not_trusted");
  if (typeof vct !== "string" || !policy.types.includes(vct)) return refuse("credential_type_not_asked_for");
  assertCurrent(credential, "credential", ["nbf", "iat"], now);
  const [holderKey] = asPublicKeySet({ keys: isObject(cnf) ? [cnf.jwk] : [] }) ?? [];
  if (holderKey === undefined) return refuse("holder_key_missing");
  return { issuer: iss, holderKey };
}

/** What a key binding must name: the client_id of this server with its prefix, the nonce, and `now` in seconds since the epoch. */
type ExpectedBinding = { readonly clientId: string; readonly nonce: string; readonly now: number };

/**
 * Verifies that the holder of the credential signed this presentation, for this server, this request and now.
 * @throws {Refusal} access_denied @see RFC 9901 §4.3 and §7.3
 */
async function assertKeyBinding(presentation: Presentation, holderKey: PublishedKey, expected: ExpectedBinding): Promise<void> {
  const binding = readJwt(presentation.keyBinding, "key_binding_malformed");
  const { alg, typ } = binding.header;
  if (typ !== "kb+jwt") refuse("key_binding_of_another_kind");
  if (!isWalletAlgorithm(alg)) refuse("key_binding_algorithm_not_accepted");
  if (!(await isSignedBy(binding, holderKey))) refuse("key_binding_signature_wrong");
  assertCurrent(binding, "key_binding", ["nbf"], expected.now);
  const { aud, nonce, iat, sd_hash } = binding.claims;
  if (aud !== expected.clientId) refuse("key_binding_for_another");
  if (nonce !== expected.nonce) refuse("key_binding_nonce_wrong");
  if (typeof iat !== "number" || !(Math.abs(expected.now - iat) <= MAX_BINDING_AGE)) refuse("key_binding_not_fresh");
  if (sd_hash !== digestOf(presentation.credential)(presentation.bound)) refuse("key_binding_hash_wrong");
}

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
    else if (isObject(value)) walkMembers(value, depth + 1);
  };
  const walkElement = (item: Json, depth: number): void => {
    if (!isObject(item) || !("..." in item)) walk(item, depth);
    else {
      if (Object.keys(item).length !== 1) refuse("digest_malformed");
      const found = disclosureOf(item["..."]);
      if (found !== undefined && found.name !== undefined) refuse("disclosure_misplaced");
      walk(found?.value, depth);
    }
  };
  const walkMembers = (members: Readonly<Record<string, unknown>>, depth: number): void => {
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
