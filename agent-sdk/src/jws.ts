/** A key and a pair of Web Crypto; projects for Node alone have no types of these names. */
export type Key = Extract<Awaited<ReturnType<typeof crypto.subtle.generateKey>>, { type: string }>;
export type KeyPair = Extract<Awaited<ReturnType<typeof crypto.subtle.generateKey>>, { privateKey: object }>;
type JwkText = "kty" | "crv" | "x" | "y" | "d" | "n" | "e" | "p" | "q" | "dp" | "dq" | "qi" | "alg" | "use" | "kid";
/** A key as RFC 7517 writes it. */
export type Jwk = { readonly [Name in JwkText]?: string } & { readonly key_ops?: readonly string[]; readonly ext?: boolean };

const encoder = new TextEncoder();

/** Bytes, or a value as JSON, in unpadded base64url. */
export function base64url(value: Uint8Array | object): string {
  const bytes = value instanceof Uint8Array ? value : encoder.encode(JSON.stringify(value));
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/, "");
}

export const sha256 = async (text: string): Promise<string> =>
  base64url(new Uint8Array(await crypto.subtle.digest("SHA-256", encoder.encode(text))));

/** Unguessable: 128 bits. */
export const randomId = (): string => base64url(crypto.getRandomValues(new Uint8Array(16)));

export const nowInSeconds = (): number => Math.floor(Date.now() / 1_000);

interface Algorithm {
  readonly importing: { readonly name: string; readonly namedCurve?: string; readonly hash?: string };
  readonly signing: { readonly name: string; readonly hash?: string; readonly saltLength?: number };
}

const ecdsa = (namedCurve: string, hash: string): Algorithm => ({
  importing: { name: "ECDSA", namedCurve },
  signing: { name: "ECDSA", hash },
});
const pss = (hash: string, saltLength: number): Algorithm => ({
  importing: { name: "RSA-PSS", hash },
  signing: { name: "RSA-PSS", saltLength },
});

/** Signatures that Web Crypto makes, by their names in RFC 7518 and RFC 8037. Of those that one key could make, the first is preferred. */
const ALGORITHMS: Readonly<Record<string, Algorithm>> = {
  EdDSA: { importing: { name: "Ed25519" }, signing: { name: "Ed25519" } },
  ES256: ecdsa("P-256", "SHA-256"),
  ES384: ecdsa("P-384", "SHA-384"),
  ES512: ecdsa("P-521", "SHA-512"),
  RS256: { importing: { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" }, signing: { name: "RSASSA-PKCS1-v1_5" } },
  PS256: pss("SHA-256", 32),
  PS384: pss("SHA-384", 48),
  PS512: pss("SHA-512", 64),
};

/** The JWS algorithm of a key. @throws {TypeError} where it has none here */
function algorithmOf({ algorithm }: Key): string {
  const { name, namedCurve, hash } = algorithm as { name: string; namedCurve?: string; hash?: { name: string } };
  const found = Object.entries(ALGORITHMS).find(
    ([, { importing }]) => importing.name === name && importing.namedCurve === namedCurve && importing.hash === hash?.name,
  );
  if (found === undefined) throw new TypeError(`a key for ${name} cannot sign a JWT`);
  return found[0];
}

/** A private key that cannot be exported again. @param alg tried alone where it is given @throws {TypeError} */
export async function importPrivateKey(key: string | Jwk, alg?: string): Promise<Key> {
  const named = alg ?? (typeof key === "string" ? undefined : key.alg);
  for (const [name, { importing }] of Object.entries(ALGORITHMS)) {
    if (named !== undefined && named !== name && !(named === "Ed25519" && name === "EdDSA")) continue;
    const imported = await importAs(key, importing).catch(() => undefined);
    if (imported !== undefined) return imported;
  }
  throw noPrivateKey();
}

export const noPrivateKey = () =>
  new TypeError("the private key must be a CryptoKey, PKCS #8 in PEM, or a private JWK, for a signature by Ed25519, ECDSA or RSA");

async function importAs(key: string | Jwk, algorithm: Algorithm["importing"]): Promise<Key> {
  if (typeof key !== "string") {
    const { alg: _, use: _use, key_ops: _ops, ext: _ext, ...members } = key; // which may be narrower than this use
    return crypto.subtle.importKey("jwk", members, algorithm, false, ["sign"]);
  }
  const [, body = ""] = /-----BEGIN PRIVATE KEY-----([A-Za-z0-9+/=\s]+)-----END PRIVATE KEY-----/.exec(key) ?? [];
  const bytes = Uint8Array.from(atob(body.replaceAll(/\s/g, "")), (character) => character.charCodeAt(0));
  return crypto.subtle.importKey("pkcs8", bytes, algorithm, false, ["sign"]);
}

/** A JWT. @param header without `alg`, which is the key's */
export async function signedJwt(key: Key, header: object, claims: object): Promise<string> {
  const alg = algorithmOf(key);
  const input = `${base64url({ alg, ...header })}.${base64url(claims)}`;
  const signature = await crypto.subtle.sign(ALGORITHMS[alg]?.signing ?? key.algorithm, key, encoder.encode(input));
  return `${input}.${base64url(new Uint8Array(signature))}`;
}

/** The claims of a JWT, unverified: only its issuer and its audience may trust them. Undefined for another text. */
export function claimsIn(token: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const [, payload = ""] = token.split(".");
    const bytes = Uint8Array.from(atob(payload.replaceAll("-", "+").replaceAll("_", "/")), (character) => character.charCodeAt(0));
    const claims: unknown = JSON.parse(new TextDecoder().decode(bytes));
    return typeof claims === "object" && claims !== null ? (claims as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
