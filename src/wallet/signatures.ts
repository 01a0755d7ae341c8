import { X509Certificate } from "node:crypto";
import { FetchFailure, type GuardedFetch } from "../clients/guarded-fetch.ts";
import { asPublicKeySet, type PublishedKey, type RemoteKeys } from "../clients/public-keys.ts";
import { verifyByRemoteKeys, verifySignature } from "../clients/published-keys.ts";
import { cachedKeys, fetchKeySet, issuerDocument } from "../clients/remote-keys.ts";
import type { Clock } from "../clock.ts";
import { isRefusal } from "../errors.ts";
import type { ParsedJwt } from "../protocol/jws.ts";
import { refuse } from "./presentation.ts";

const MAX_CHAIN = 5;
const BLOCK = /-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g;

export const certificatesOf = (pem: string): readonly X509Certificate[] =>
  (pem.match(BLOCK) ?? []).map((block) => new X509Certificate(block));

/** The header member `x5c`: base64 of DER, the leaf first (RFC 7515 §4.1.6). */
function readChain(x5c: unknown): readonly X509Certificate[] {
  if (!Array.isArray(x5c) || x5c.length === 0 || x5c.length > MAX_CHAIN) return refuse("issuer_certificate_malformed");
  return x5c.map((text: unknown) => new X509Certificate(Buffer.from(String(text), "base64")));
}

/**
 * Whether a certificate names the issuer's URL or host. Node prints its subject names so: `DNS:a.example, URI:https://a.example`. A quoted name
 * with a comma matches nothing. @see SD-JWT VC §3.5
 */
const namesIssuer = ({ subjectAltName = "" }: X509Certificate, issuer: string): boolean =>
  subjectAltName.split(", ").some((name) => name === `URI:${issuer}` || name === `DNS:${new URL(issuer).hostname}`);

const isCurrent = (certificate: X509Certificate, now: number): boolean =>
  certificate.validFromDate.getTime() <= now * 1000 && now * 1000 <= certificate.validToDate.getTime();

const isIssuedBy = (certificate: X509Certificate, authority: X509Certificate): boolean =>
  certificate.checkIssued(authority) && certificate.verify(authority.publicKey);

/** The key of the leaf of a valid chain. @throws {Refusal} access_denied; errors of the certificate parser */
function leafKey(x5c: unknown, issuer: string, roots: readonly X509Certificate[], now: number): PublishedKey {
  const chain = readChain(x5c);
  const [leaf] = chain;
  const last = chain.at(-1);
  if (leaf === undefined || last === undefined) return refuse("issuer_certificate_malformed");
  const linked = chain.slice(1).every((authority, below) => authority.ca && isIssuedBy(chain[below] ?? leaf, authority));
  const root = roots.find((each) => isIssuedBy(last, each));
  if (!linked || root === undefined) return refuse("issuer_certificate_not_trusted");
  if (![...chain, root].every((certificate) => isCurrent(certificate, now))) refuse("issuer_certificate_out_of_time");
  if (!namesIssuer(leaf, issuer)) refuse("issuer_certificate_of_another");
  return leaf.publicKey.export({ format: "jwk" }) as PublishedKey; // an object with public members only
}

/**
 * The key of a certificate chain that leads to a trusted root and names the issuer. Checks signatures, validity, names and the CA flag, but
 * no name constraints, path lengths or revocation lists. Pure. @param now seconds since the epoch @throws {Refusal} access_denied
 */
export function certifiedKey(x5c: unknown, issuer: string, roots: readonly X509Certificate[], now: number): PublishedKey {
  try {
    return leafKey(x5c, issuer, roots, now);
  } catch (error) {
    return isRefusal(error) ? refuse(error.reason) : refuse("issuer_certificate_malformed", error);
  }
}

/** Signature algorithms of issuers and holders: what wallets are asked for, and what is accepted. */
export const WALLET_ALGORITHMS = ["ES256", "EdDSA"] as const;

export const isWalletAlgorithm = (alg: unknown): boolean => WALLET_ALGORITHMS.some((name) => name === alg);

/** Whether this one key made the signature, whatever `kid` says. Callers have checked the algorithm. */
export const isSignedBy = async (jwt: ParsedJwt, key: PublishedKey): Promise<boolean> =>
  (await verifySignature({ ...jwt, header: { alg: jwt.header.alg } }, [key])) === "valid";

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
