import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";
import { readMldsaPublic } from "../../ml-dsa-key.ts";
import type { MldsaKey } from "./ml-dsa.ts";

export type SigningAlgorithm = "EdDSA" | "RS256";

/** A public key that verifies tokens by itself, as the JWK Set shows it (specification §2.10). Only public members, by construction. */
export type ClassicalJwk =
  | { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string; readonly use: "sig"; readonly alg: "EdDSA"; readonly kid: string }
  | { readonly kty: "RSA"; readonly n: string; readonly e: string; readonly use: "sig"; readonly alg: "RS256"; readonly kid: string };

/** An ML-DSA-65 public key (RFC 9964 §3): whoever wants the second signature checks it by this. No token is accepted for its sake. */
export interface AkpJwk {
  readonly kty: "AKP";
  readonly pub: string;
  readonly use: "sig";
  readonly alg: "ML-DSA-65";
  readonly kid: string;
}

export type PublicJwk = ClassicalJwk | AkpJwk;

export interface VerificationKey {
  readonly jwk: ClassicalJwk;
  readonly publicKey: KeyObject;
}

export interface SigningKey extends VerificationKey {
  readonly privateKey: KeyObject;
}

/** The rows of published public keys, shared by all cores, so that every front serves the union during a roll-out. */
export interface KeyRegister {
  /** Publishes keys that are not yet there, marks `inUse` as signing at this moment, and answers every key that is still to be served. */
  publish(keys: readonly PublicJwk[], inUse: readonly string[]): Promise<readonly PublicJwk[]>;
}

/** The keys of a running core. */
export interface Keys {
  readonly accessToken: SigningKey;
  readonly idToken: SigningKey;
  /** Signs access tokens besides; undefined while hybrid signing is off. */
  readonly hybrid: MldsaKey | undefined;
  /** The published key of that id, own, retired or of a sibling core. */
  byId(kid: string): VerificationKey | undefined;
  /** Reads the register anew and marks the own keys as in use. */
  refresh(): Promise<void>;
  /** The JWK Set document as it is served. */
  jwksJson(): string;
}

/** RFC 7638 §3.2, RFC 8037 §2: the members that make a thumbprint, in lexicographic order. */
const thumbprint = (members: Record<string, string>): string => createHash("sha256").update(JSON.stringify(members)).digest("base64url");

/**
 * The public half of a PEM text or key object as a JWK whose `kid` is its thumbprint.
 * @throws {Error} for a key that is neither Ed25519 nor RSA of at least 2048 bits
 */
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

/** Every public key of a PEM bundle. */
export function publicKeysOf(pemBundle: string): readonly PublicJwk[] {
  const blocks = pemBundle.match(/-----BEGIN [^-]+-----[^-]+-----END [^-]+-----/g) ?? [];
  return blocks.map((pem) => {
    const mldsa = readMldsaPublic(pem);
    return mldsa === undefined ? publicJwk(createPublicKey(pem)) : akpJwk(mldsa);
  });
}

/**
 * The keys of this core, published together with those of its siblings and predecessors.
 * @param retired earlier public keys that must go on verifying
 * @param mldsa the ML-DSA-65 key, where there is one, and whether access tokens are signed with it too
 */
export async function openKeys(
  accessToken: SigningKey,
  idToken: SigningKey,
  retired: readonly PublicJwk[],
  register: KeyRegister,
  mldsa?: { readonly key: MldsaKey; readonly hybrid: boolean },
): Promise<Keys> {
  const own: readonly PublicJwk[] = [
    accessToken.jwk,
    ...(idToken.jwk.kid === accessToken.jwk.kid ? [] : [idToken.jwk]),
    ...(mldsa === undefined ? [] : [mldsa.key.jwk]),
  ];
  const configured = [...own, ...retired];
  let published = new Map<string, VerificationKey>();
  let document = "";

  const refresh = async (): Promise<void> => {
    const rows = await register.publish(
      configured,
      own.map((jwk) => jwk.kid),
    );
    const all = new Map([...configured, ...rows].map((jwk) => [jwk.kid, jwk]));
    const verifying = [...all.values()].filter((jwk) => jwk.kty !== "AKP");
    published = new Map(verifying.map((jwk) => [jwk.kid, published.get(jwk.kid) ?? verificationKey(jwk)]));
    document = JSON.stringify({ keys: [...all.values()] });
  };
  await refresh();

  const hybrid = mldsa?.hybrid ? mldsa.key : undefined;
  return { accessToken, idToken, hybrid, byId: (kid) => published.get(kid), refresh, jwksJson: () => document };
}
