import { constants, generateKeyPairSync, type KeyObject, randomUUID, sign } from "node:crypto";

export const ASSERTION_TYPE = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/** A key pair, with its public key as the owner would publish it. */
export interface TestKey {
  readonly alg: string;
  readonly privateKey: KeyObject;
  readonly jwk: Readonly<Record<string, unknown>>;
}

/** A key for an algorithm (RFC 7518 §3.1, RFC 8037, RFC 9864). */
export function keyFor(alg: string, kid?: string, members: object = {}): TestKey {
  const { privateKey, publicKey } = pairFor(alg);
  return { alg, privateKey, jwk: { ...publicKey.export({ format: "jwk" }), ...(kid !== undefined && { kid }), ...members } };
}

function pairFor(alg: string) {
  if (alg.startsWith("Ed")) return generateKeyPairSync("ed25519");
  const curve = { ES256: "P-256", ES384: "P-384", ES512: "P-521" }[alg];
  return curve === undefined ? generateKeyPairSync("rsa", { modulusLength: 2048 }) : generateKeyPairSync("ec", { namedCurve: curve });
}

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");

function signatureOf(input: string, { alg, privateKey }: TestKey): Buffer {
  const hash = alg.startsWith("Ed") ? null : `sha${alg.slice(2)}`;
  return sign(hash, Buffer.from(input), {
    key: privateKey,
    dsaEncoding: "ieee-p1363",
    ...(alg.startsWith("PS") && { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: constants.RSA_PSS_SALTLEN_DIGEST }),
  });
}

/** A compact JWS. Undefined header members and claims are omitted. */
export function jws(claims: object, key: TestKey, header: object = {}): string {
  const input = `${encoded({ alg: key.alg, ...header })}.${encoded(claims)}`;
  return `${input}.${signatureOf(input, key).toString("base64url")}`;
}

export interface AssertionRequest {
  readonly clientId: string;
  readonly audience: unknown;
  /** Seconds since the epoch. */
  readonly now: number;
  readonly claims?: object;
  readonly header?: object;
}

/** A valid client assertion, except for the changes in `claims` and `header`. */
export const anAssertion = (key: TestKey, { clientId, audience, now, claims = {}, header = {} }: AssertionRequest): string =>
  jws({ iss: clientId, sub: clientId, aud: audience, iat: now, exp: now + 300, jti: randomUUID(), ...claims }, key, {
    kid: key.jwk.kid,
    ...header,
  });
