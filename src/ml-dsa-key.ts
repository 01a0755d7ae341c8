// Reads ML-DSA-65 keys without Node's crypto: not every OpenSSL under Node supports the algorithm.

/** Bytes of the seed, which is the whole private key (RFC 9964 §4, RFC 9881 §6). */
export const SEED_BYTES = 32;
const PUBLIC_KEY_BYTES = 1952;

/** PKCS#8 up to the seed, without the expanded key (RFC 9881 §6). */
const SEED_ALONE = Buffer.from("3034020100300b06096086480165030403120422" + "8020", "hex");
/** The same, with the expanded key behind the seed. */
const SEED_WITH_EXPANDED = Buffer.from("30820ffe020100300b060960864801650304031204820fea30820fe60420", "hex");
const EXPANDED_HEADER = Buffer.from("04820fc0", "hex");
const EXPANDED_BYTES = 4032;
/** SubjectPublicKeyInfo up to the key (RFC 9881 §4). */
const SPKI = Buffer.from("308207b2300b0609608648016503040312038207a100", "hex");

/** The public key that `keys generate` prints behind the private key. */
const PUBLIC_HALF = /\s-----BEGIN PUBLIC KEY-----[A-Za-z0-9+/=\s]+-----END PUBLIC KEY-----\s*$/;

/** The bytes of a text with a single PEM block. */
function pemBody(text: string, label: string): Buffer | undefined {
  const [, name, body] = /^-----BEGIN ([A-Z ]+)-----\s([A-Za-z0-9+/=\s]+)-----END \1-----$/.exec(text.trim()) ?? [];
  return name === label && body !== undefined ? Buffer.from(body, "base64") : undefined;
}

function seedOfPkcs8(der: Buffer): Buffer | undefined {
  const rest = (prefix: Buffer): Buffer | undefined =>
    der.subarray(0, prefix.length).equals(prefix) ? der.subarray(prefix.length) : undefined;
  const alone = rest(SEED_ALONE);
  if (alone?.length === SEED_BYTES) return alone;
  const both = rest(SEED_WITH_EXPANDED);
  if (both?.length !== SEED_BYTES + EXPANDED_HEADER.length + EXPANDED_BYTES) return undefined;
  return both.subarray(SEED_BYTES, SEED_BYTES + EXPANDED_HEADER.length).equals(EXPANDED_HEADER) ? both.subarray(0, SEED_BYTES) : undefined;
}

/** Decodes canonical base64url of a given length. */
function decodeExactly(text: unknown, length: number): Buffer | undefined {
  if (typeof text !== "string") return undefined;
  const bytes = Buffer.from(text, "base64url");
  return bytes.length === length && bytes.toString("base64url") === text ? bytes : undefined;
}

/** A private key: its seed, and the public key if the text contains it. */
export type MldsaPrivateText = { readonly seed: Buffer; readonly publicKey: Buffer | undefined };

/** Reads an ML-DSA-65 private key from PKCS#8 PEM or a JWK (RFC 9964 §3). @returns undefined for anything else, also without a seed */
export function readMldsaPrivate(text: string): MldsaPrivateText | undefined {
  if (!text.trimStart().startsWith("{")) {
    const der = pemBody(text.replace(PUBLIC_HALF, ""), "PRIVATE KEY");
    const seed = der && seedOfPkcs8(der);
    return seed && { seed, publicKey: undefined };
  }
  let jwk: Readonly<Record<string, unknown>>;
  try {
    jwk = JSON.parse(text);
  } catch {
    return undefined; // the parser's message quotes the text
  }
  const seed = decodeExactly(jwk.priv, SEED_BYTES);
  const publicKey = jwk.pub === undefined ? undefined : decodeExactly(jwk.pub, PUBLIC_KEY_BYTES);
  if (jwk.kty !== "AKP" || jwk.alg !== "ML-DSA-65" || seed === undefined) return undefined;
  return jwk.pub !== undefined && publicKey === undefined ? undefined : { seed, publicKey };
}

/** The raw public key of an SPKI PEM block, or undefined for any other key. */
export function readMldsaPublic(pem: string): Buffer | undefined {
  const der = pemBody(pem, "PUBLIC KEY");
  return der?.length === SPKI.length + PUBLIC_KEY_BYTES && der.subarray(0, SPKI.length).equals(SPKI)
    ? der.subarray(SPKI.length)
    : undefined;
}

export const mldsaPkcs8 = (seed: Uint8Array): Buffer => Buffer.concat([SEED_ALONE, seed]);

const pem = (label: string, der: Buffer): string =>
  `-----BEGIN ${label}-----\n${(der.toString("base64").match(/.{1,64}/g) ?? []).join("\n")}\n-----END ${label}-----\n`;

/** A seed as PKCS#8 PEM, without the expanded key. */
export const mldsaPrivatePem = (seed: Uint8Array): string => pem("PRIVATE KEY", mldsaPkcs8(seed));

/** @param publicKey raw bytes */
export const mldsaPublicPem = (publicKey: Uint8Array): string => pem("PUBLIC KEY", Buffer.concat([SPKI, publicKey]));
