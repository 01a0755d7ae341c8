import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync, type KeyObject } from "node:crypto";
import type { RefreshTokenGrant } from "../../gen/countersign/token/v1/token_pb.ts";
import { readMldsaPublic } from "../../ml-dsa-key.ts";

export type SigningAlgorithm = "EdDSA" | "RS256";

/** A public key that verifies tokens, as the JWK Set contains it (docs/protocol.md#jwk-set). */
export type ClassicalJwk =
  | { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string; readonly use: "sig"; readonly alg: "EdDSA"; readonly kid: string }
  | { readonly kty: "RSA"; readonly n: string; readonly e: string; readonly use: "sig"; readonly alg: "RS256"; readonly kid: string };

/** An ML-DSA-65 public key (RFC 9964 §3) for the second signature of a token. It alone never makes a token valid. */
export type AkpJwk = { readonly kty: "AKP"; readonly pub: string; readonly use: "sig"; readonly alg: "ML-DSA-65"; readonly kid: string };

export type PublicJwk = ClassicalJwk | AkpJwk;

export type VerificationKey = { readonly jwk: ClassicalJwk; readonly publicKey: KeyObject };
export type SigningKey = VerificationKey & { readonly privateKey: KeyObject };

/** @param members in lexicographic order  @see RFC 7638 §3.2, RFC 8037 §2 */
const thumbprint = (members: Record<string, string>): string => createHash("sha256").update(JSON.stringify(members)).digest("base64url");

/** The public JWK of a key; its `kid` is its thumbprint. @throws {Error} for a key that is neither Ed25519 nor RSA of at least 2048 bits */
export function publicJwk(key: KeyObject): ClassicalJwk {
  const jwk = (key.type === "private" ? createPublicKey(key) : key).export({ format: "jwk" });
  if (jwk.kty === "OKP" && jwk.crv === "Ed25519" && jwk.x !== undefined) {
    return { kty: "OKP", crv: "Ed25519", x: jwk.x, use: "sig", alg: "EdDSA", kid: thumbprint({ crv: "Ed25519", kty: "OKP", x: jwk.x }) };
  }
  if (jwk.kty === "RSA" && jwk.n !== undefined && jwk.e !== undefined && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048) {
    return { kty: "RSA", n: jwk.n, e: jwk.e, use: "sig", alg: "RS256", kid: thumbprint({ e: jwk.e, kty: "RSA", n: jwk.n }) };
  }
  throw new Error("a signing key must be Ed25519, or RSA with at least 2048 bits");
}

/** @param publicKey raw bytes  @see RFC 9964, "AKP Thumbprints" */
export function akpJwk(publicKey: Uint8Array): AkpJwk {
  const pub = Buffer.from(publicKey).toString("base64url");
  return { kty: "AKP", pub, use: "sig", alg: "ML-DSA-65", kid: thumbprint({ alg: "ML-DSA-65", kty: "AKP", pub }) };
}

export const verificationKey = (jwk: ClassicalJwk): VerificationKey => ({
  jwk,
  publicKey: createPublicKey({ key: { ...jwk }, format: "jwk" }),
});

export function signingKey(privateKeyPem: string): SigningKey {
  const privateKey = createPrivateKey(privateKeyPem);
  return { privateKey, publicKey: createPublicKey(privateKey), jwk: publicJwk(privateKey) };
}

export function publicKeysOf(pemBundle: string): readonly PublicJwk[] {
  const blocks = pemBundle.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? [];
  return blocks.map((pem) => {
    const mldsa = readMldsaPublic(pem);
    return mldsa === undefined ? publicJwk(createPublicKey(pem)) : akpJwk(mldsa);
  });
}

export type SuccessorInput = Pick<RefreshTokenGrant, "refreshToken" | "scope" | "resource">;

/**
 * A function from a refresh request to the next token: the same in every core that has the signing key, and unpredictable to anyone else.
 * Requests for another scope or resource have another successor, so that only a repeated request finds its successor current.
 * @returns 64 hexadecimal characters
 */
export const successorOf =
  (key: SigningKey) =>
  ({ refreshToken, scope, resource }: SuccessorInput): string => {
    const sorted = (values: readonly string[]): readonly string[] => [...new Set(values)].sort();
    const request = JSON.stringify([refreshToken, scope === undefined ? null : sorted(scope.split(" ")), sorted(resource)]);
    return createHmac("sha256", derivedSecret(key, "refresh token successor")).update(request).digest("hex");
  };

const derived = new WeakMap<SigningKey, Map<string, Buffer>>();

/** A secret of 32 bytes for one purpose: the same in every core that has the signing key, and unpredictable to anyone else. Derived once. */
export function derivedSecret(key: SigningKey, purpose: string): Buffer {
  const secrets = derived.get(key) ?? new Map<string, Buffer>();
  derived.set(key, secrets);
  const seed = () => key.privateKey.export({ type: "pkcs8", format: "der" });
  const secret = secrets.get(purpose) ?? Buffer.from(hkdfSync("sha256", seed(), "", `countersign ${purpose}`, 32));
  secrets.set(purpose, secret);
  return secret;
}
