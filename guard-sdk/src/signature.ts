import { base64url, importJWK } from "jose";

/** A public key of an issuer. */
export interface VerificationKey {
  /** The key itself, base64url; two entries of one kind with the same `x` are the same key. */
  readonly x: string;
  /** Whether the key signed exactly these bytes. A signature of the wrong length is no signature. */
  verifies(input: Bytes, signature: Bytes): boolean | Promise<boolean>;
}

export type Bytes = Uint8Array<ArrayBuffer>;

export type NodeCrypto = typeof import("node:crypto");

/** Node's own crypto where there is one: it takes about two thirds of WebCrypto's time here, and a twentieth for a digest. */
export const native: NodeCrypto | undefined = globalThis.process?.getBuiltinModule?.("node:crypto");

/** An Ed25519 public key from its `x`. @throws when `x` is no such key */
export const importEd25519: (x: string) => Promise<VerificationKey> = native === undefined ? importPortably : importNatively(native);

/** SHA-256 of a text, base64url. */
export const sha256: (text: string) => string | Promise<string> =
  native?.hash === undefined
    ? async (text) => base64url.encode(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text))))
    : (text) => native.hash("sha256", text, "base64url");

/** The same as importEd25519 for every runtime with WebCrypto. */
export async function importPortably(x: string): Promise<VerificationKey> {
  const key = await importJWK({ kty: "OKP", crv: "Ed25519", x }, "EdDSA");
  if (key instanceof Uint8Array) throw new TypeError("an Ed25519 key is no secret");
  return { x, verifies: (input, signature) => crypto.subtle.verify("Ed25519", key, signature, input) };
}

function importNatively({ createPublicKey, verify }: NodeCrypto) {
  return async (x: string): Promise<VerificationKey> => {
    const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
    return { x, verifies: (input, signature) => verify(null, input, key, signature) };
  };
}
