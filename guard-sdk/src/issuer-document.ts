import { fetchObject } from "./fetch-object.ts";
import { importEd25519, type VerificationKey } from "./signature.ts";

const TIMEOUT_MS = 5_000;
const MAX_KEYS = 100;

/** Keys of one issuer by `kid`; a key that has none is under the empty string. */
export type KeySet = ReadonlyMap<string, VerificationKey>;

/**
 * Checks that keys fetched from this address can be trusted: https, or a host that cannot leave the machine.
 * @throws {TypeError} naming what is wrong
 */
export function trustworthyUrl(text: string, what: string): URL {
  if (!URL.canParse(text)) throw new TypeError(`${what} is not an absolute URL`); // which may hold a password, and is not shown
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") throw new TypeError(`${what} must have no user name and no password`);
  if (url.protocol === "https:" || (url.protocol === "http:" && isLoopback(url.hostname))) return url;
  throw new TypeError(`${what} must be https (http only on loopback): ${JSON.stringify(text)}`);
}

const isLoopback = (host: string) =>
  host === "localhost" || host.endsWith(".localhost") || host === "[::1]" || /^127(\.\d+){3}$/.test(host);

/**
 * Asks an issuer for its signing keys: metadata document first, then the JWK Set that it names; five seconds in all.
 * @param known keys of the last answer, kept as they are where they appear again
 * @param read takes the keys of one kind out of the set
 * @throws for a missing response, one that is too long or of another issuer, and anything but a JWK Set
 * @see RFC 8414 §3, §3.3; RFC 7517 §5
 */
export async function fetchKeys(
  issuer: string,
  known: KeySet | undefined,
  fetch: typeof globalThis.fetch,
  read: typeof readKeySet = readKeySet,
): Promise<KeySet> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const metadata = await fetchMetadata(issuer, fetch, signal);
  if (typeof metadata.jwks_uri !== "string") throw new Error(`the metadata document of ${issuer} has no jwks_uri`);
  const { keys } = await fetchObject(trustworthyUrl(metadata.jwks_uri, "jwks_uri").href, fetch, { signal });
  if (!Array.isArray(keys)) throw new Error(`the key set of ${issuer} has no keys member`);
  return read(keys.slice(0, MAX_KEYS), known);
}

/**
 * The metadata document of an issuer.
 * @throws when it cannot be fetched, or names another issuer
 * @see RFC 8414 §3, §3.3
 */
export async function fetchMetadata(
  issuer: string,
  fetch: typeof globalThis.fetch,
  signal: AbortSignal,
): Promise<Readonly<Record<string, unknown>>> {
  const metadata = await firstOf(metadataUrls(issuer), (url) => fetchObject(url, fetch, { signal }));
  if (metadata.issuer !== issuer) throw new Error(`the metadata document of ${issuer} names another issuer`);
  return metadata;
}

/** RFC 8414 puts the well-known part before the path of the issuer, OpenID Connect Discovery after it. */
function metadataUrls(issuer: string): readonly [string, string] {
  const { origin, pathname } = new URL(issuer);
  const path = pathname.replace(/\/$/, "");
  return [`${origin}/.well-known/oauth-authorization-server${path}`, `${origin}${path}/.well-known/openid-configuration`];
}

async function firstOf<T>([first, second]: readonly [string, string], load: (url: string) => Promise<T>): Promise<T> {
  try {
    return await load(first);
  } catch {
    return await load(second);
  }
}

/**
 * The Ed25519 signing keys of a JWK Set. Entries of other kinds are skipped, including unknown ones; of an
 * entry only the public members are read. Of two keys under one `kid` the first counts.
 */
export async function readKeySet(entries: readonly unknown[], known?: KeySet): Promise<KeySet> {
  const keys = new Map<string, VerificationKey>();
  for (const entry of entries) {
    if (typeof entry !== "object" || entry === null) continue;
    const { kty, crv, x, kid = "", use = "sig", alg = "EdDSA", key_ops = ["verify"] } = entry as Record<string, unknown>;
    if (kty !== "OKP" || crv !== "Ed25519" || typeof x !== "string" || typeof kid !== "string" || keys.has(kid)) continue;
    if (use !== "sig" || (alg !== "EdDSA" && alg !== "Ed25519") || !Array.isArray(key_ops) || !key_ops.includes("verify")) continue;
    const same = known?.get(kid);
    const key = same?.x === x ? same : await importEd25519(x).catch(() => undefined);
    if (key !== undefined) keys.set(kid, key);
  }
  return keys;
}
