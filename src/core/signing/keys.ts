import { createHash, createPrivateKey, createPublicKey, type KeyObject } from "node:crypto";

export type SigningAlgorithm = "EdDSA" | "RS256";

/** A public key as the JWK Set shows it (specification §2.10). Only public members, by construction. */
export type PublicJwk =
  | { readonly kty: "OKP"; readonly crv: "Ed25519"; readonly x: string; readonly use: "sig"; readonly alg: "EdDSA"; readonly kid: string }
  | { readonly kty: "RSA"; readonly n: string; readonly e: string; readonly use: "sig"; readonly alg: "RS256"; readonly kid: string };

export interface VerificationKey {
  readonly jwk: PublicJwk;
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
export function publicJwk(key: KeyObject): PublicJwk {
  const jwk = (key.type === "private" ? createPublicKey(key) : key).export({ format: "jwk" });
  if (jwk.kty === "OKP" && jwk.crv === "Ed25519" && jwk.x !== undefined) {
    return { kty: "OKP", crv: "Ed25519", x: jwk.x, use: "sig", alg: "EdDSA", kid: thumbprint({ crv: "Ed25519", kty: "OKP", x: jwk.x }) };
  }
  if (jwk.kty === "RSA" && jwk.n !== undefined && jwk.e !== undefined && (key.asymmetricKeyDetails?.modulusLength ?? 0) >= 2048) {
    return { kty: "RSA", n: jwk.n, e: jwk.e, use: "sig", alg: "RS256", kid: thumbprint({ e: jwk.e, kty: "RSA", n: jwk.n }) };
  }
  throw new Error("a signing key must be Ed25519, or RSA with at least 2048 bits");
}

export const verificationKey = (jwk: PublicJwk): VerificationKey => ({
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
  return blocks.map((pem) => publicJwk(createPublicKey(pem)));
}

/**
 * The keys of this core, published together with those of its siblings and predecessors.
 * @param retired earlier public keys that must go on verifying
 */
export async function openKeys(
  accessToken: SigningKey,
  idToken: SigningKey,
  retired: readonly PublicJwk[],
  register: KeyRegister,
): Promise<Keys> {
  const own = [accessToken.jwk, ...(idToken.jwk.kid === accessToken.jwk.kid ? [] : [idToken.jwk])];
  const configured = [...own, ...retired];
  let published = new Map<string, VerificationKey>();
  let document = "";

  const refresh = async (): Promise<void> => {
    const rows = await register.publish(
      configured,
      own.map((jwk) => jwk.kid),
    );
    const all = new Map([...configured, ...rows].map((jwk) => [jwk.kid, jwk]));
    published = new Map([...all].map(([kid, jwk]) => [kid, published.get(kid) ?? verificationKey(jwk)]));
    document = JSON.stringify({ keys: [...all.values()] });
  };
  await refresh();

  return { accessToken, idToken, byId: (kid) => published.get(kid), refresh, jwksJson: () => document };
}
