import { createHash, createPublicKey, generateKeyPairSync, type JsonWebKey, type KeyObject, randomUUID, sign, verify } from "node:crypto";

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** The key pair of a client that proves its possession (RFC 9449). */
export interface ProvingKey {
  readonly privateKey: KeyObject;
  /** The header of every proof by it. */
  readonly header: string;
  /** Its thumbprint (RFC 7638). */
  readonly jkt: string;
}

export function provingKey(): ProvingKey {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const { crv, kty, x, y } = publicKey.export({ format: "jwk" });
  const jwk = { crv, kty, x, y };
  const jkt = createHash("sha256").update(JSON.stringify(jwk)).digest("base64url");
  return { privateKey, header: part({ typ: "dpop+jwt", alg: "ES256", jwk }), jkt };
}

const hashOf = (text: string): string => createHash("sha256").update(text).digest("base64url");

/** A new proof for a request, by ES256. */
export function newProof({ privateKey, header }: ProvingKey, htm: string, htu: string, accessToken?: string): string {
  const claims = { jti: randomUUID(), htm, htu, iat: Math.floor(Date.now() / 1000), ...(accessToken && { ath: hashOf(accessToken) }) };
  const input = `${header}.${part(claims)}`;
  return `${input}.${sign("sha256", Buffer.from(input), { key: privateKey, dsaEncoding: "ieee-p1363" }).toString("base64url")}`;
}

/** The least that any verification of a proof does: read it, and check the signature by a key that is imported once. */
export function bareProofVerification(): (proof: string) => { readonly jkt: string; readonly claims: Record<string, unknown> } {
  const known = new Map<string, { readonly key: KeyObject; readonly jkt: string }>();
  return (proof) => {
    const [header = "", payload = "", signature = ""] = proof.split(".");
    let found = known.get(header);
    if (found === undefined) {
      const { crv, kty, x, y } = JSON.parse(Buffer.from(header, "base64url").toString()).jwk as JsonWebKey;
      const jwk = { crv, kty, x, y } as JsonWebKey;
      found = { key: createPublicKey({ key: jwk, format: "jwk" }), jkt: hashOf(JSON.stringify(jwk)) };
      known.set(header, found);
    }
    const good = verify(
      "sha256",
      Buffer.from(`${header}.${payload}`),
      { key: found.key, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url"),
    );
    if (!good) throw new Error("not proven");
    return { jkt: found.jkt, claims: JSON.parse(Buffer.from(payload, "base64url").toString()) };
  };
}
