import type { X509Certificate } from "node:crypto";
import { FetchFailure, type GuardedFetch } from "../clients/guarded-fetch.ts";
import { asPublicKeySet, type PublishedKey, type RemoteKeys } from "../clients/public-keys.ts";
import { cachedKeys, fetchKeySet, issuerDocument } from "../clients/remote-keys.ts";
import type { Clock } from "../clock.ts";
import type { ParsedJwt } from "../core/signing/jws.ts";
import { verifyByRemoteKeys, verifySignature } from "../core/signing/published-keys.ts";
import { certifiedKey } from "./issuer-certificates.ts";
import { refuse } from "./presentation.ts";

/** Signature algorithms of issuers and holders: what wallets are asked for, and what is accepted. */
export const WALLET_ALGORITHMS = ["ES256", "EdDSA"] as const;

export const isWalletAlgorithm = (alg: unknown): boolean => WALLET_ALGORITHMS.some((name) => name === alg);

/** Whether this one key made the signature. Callers have checked the algorithm. */
export const isSignedBy = async (jwt: ParsedJwt, key: PublishedKey): Promise<boolean> => (await verifySignature(jwt, [key])) === "valid";

/** Without roots, certificates in a credential are ignored. */
export type IssuerTrust = { readonly keys: RemoteKeys; readonly roots: readonly X509Certificate[] };

/**
 * Verifies that an issuer signed a JWT: by a certificate in its header that leads to a root, else by a key that the issuer publishes.
 * Callers have checked the algorithm. @param now seconds since the epoch @throws {Refusal} access_denied @see SD-JWT VC §3.5
 */
export async function assertSignedByIssuer(jwt: ParsedJwt, issuer: string, { keys, roots }: IssuerTrust, now: number): Promise<void> {
  const { x5c } = jwt.header;
  if (x5c !== undefined && roots.length > 0) {
    if (!(await isSignedBy(jwt, certifiedKey(x5c, issuer, roots, now)))) refuse("issuer_signature_wrong");
    return;
  }
  const verdict = await verifyByRemoteKeys(jwt, issuer, keys).catch((cause: unknown) => {
    if (cause instanceof FetchFailure) return refuse(`issuer_keys_${cause.reason}`, cause);
    throw cause;
  });
  if (verdict !== "valid") refuse(`issuer_${verdict}`);
}

const ISSUERS = 100;

/** The address of an issuer's metadata: the well-known part goes between host and path. @see SD-JWT VC §5 */
export function metadataUrl(issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  return `${origin}/.well-known/jwt-vc-issuer${pathname.replace(/\/$/, "")}`;
}

/** Keys of credential issuers, from their own metadata: embedded (`jwks`) or at one address (`jwks_uri`). */
export const issuerMetadata = (fetch: GuardedFetch, clock: Clock): RemoteKeys =>
  cachedKeys(
    async (issuer) => {
      const { jwks, jwks_uri } = await issuerDocument(fetch, metadataUrl(issuer), issuer);
      if ((jwks === undefined) === (jwks_uri === undefined)) throw new FetchFailure("document_without_keys");
      if (typeof jwks_uri === "string") return fetchKeySet(fetch, jwks_uri);
      const keys = asPublicKeySet(jwks);
      if (keys === undefined) throw new FetchFailure("no_public_key_set");
      return keys;
    },
    ISSUERS,
    clock,
  );
