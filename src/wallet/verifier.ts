import { createHash, createPrivateKey, type KeyObject, sign, type X509Certificate } from "node:crypto";
import { certificatesOf } from "./issuer-certificates.ts";

/** Who asks wallets: named by the address of the answer alone, or by a certificate, and then each request is signed. */
export interface Verifier {
  /** With its prefix, as requests and key bindings have it. */
  readonly clientId: string;
  readonly responseUri: string;
  readonly signer: RequestSigner | undefined;
}

/** Signs request objects with the key of a certificate, by ES256. */
export interface RequestSigner {
  /** Base64 of DER, the leaf first. */
  readonly x5c: readonly string[];
  sign(input: string): Promise<Buffer>;
}

export interface VerifierSettings {
  /** Base URL. */
  readonly issuer: string;
  readonly verifierCert: string | undefined;
  readonly verifierKey: string | undefined;
  readonly clientIdPrefix: "x509_san_dns" | "x509_hash";
}

/** @see OpenID4VP 1.0 §5.9.3 */
export function verifierOf({ issuer, verifierCert, verifierKey, clientIdPrefix }: VerifierSettings): Verifier {
  const responseUri = `${issuer}/auth/link/wallet/response`;
  if (verifierCert === undefined || verifierKey === undefined) {
    return { clientId: `redirect_uri:${responseUri}`, responseUri, signer: undefined };
  }
  const chain = certificatesOf(verifierCert);
  const named = clientIdPrefix === "x509_san_dns" ? new URL(issuer).hostname : thumbprint(chain[0]);
  return { clientId: `${clientIdPrefix}:${named}`, responseUri, signer: signerOf(createPrivateKey(verifierKey), chain) };
}

const thumbprint = (leaf: X509Certificate | undefined): string =>
  createHash("sha256")
    .update(leaf?.raw ?? "")
    .digest("base64url");

const signerOf = (key: KeyObject, chain: readonly X509Certificate[]): RequestSigner => ({
  x5c: chain.map((certificate) => certificate.raw.toString("base64")),
  sign: async (input) => sign("sha256", Buffer.from(input), { key, dsaEncoding: "ieee-p1363" }),
});
