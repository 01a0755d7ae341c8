import type { X509Certificate } from "node:crypto";
import { FetchFailure } from "../clients/guarded-fetch.ts";
import type { PublishedKey } from "../clients/key-set.ts";
import type { ParsedJwt } from "../core/signing/jws.ts";
import { fittingKeys } from "../core/signing/published-keys.ts";
import { isMadeBy, type WalletAlgorithm } from "./algorithms.ts";
import { certifiedKey } from "./issuer-certificates.ts";
import type { CredentialIssuerKeys } from "./ports.ts";
import { refuse } from "./refused.ts";

/** What an issuer signed: a credential, or a list of which of them still count. */
export interface SignedByIssuer {
  readonly jwt: ParsedJwt;
  readonly issuer: string;
  readonly alg: WalletAlgorithm;
  readonly kid: string | undefined;
}

export interface IssuerTrust {
  readonly keys: CredentialIssuerKeys;
  /** Empty: certificates that a credential brings count for nothing. */
  readonly roots: readonly X509Certificate[];
}

const reached = (keys: Promise<readonly PublishedKey[]>): Promise<readonly PublishedKey[]> =>
  keys.catch((cause: unknown) => {
    if (cause instanceof FetchFailure) return refuse(`issuer_keys_${cause.reason}`, cause);
    throw cause;
  });

async function publishedKey({ issuer, alg, kid }: SignedByIssuer, { keys }: IssuerTrust): Promise<PublishedKey> {
  let candidates = fittingKeys(await reached(keys.at(issuer)), alg, kid);
  // The key may be newer than what we remember of the set.
  if (candidates.length === 0) candidates = fittingKeys(await reached(keys.renewed(issuer)), alg, kid);
  const [key, ...others] = candidates;
  if (key === undefined) return refuse("issuer_key_unknown");
  return others.length > 0 ? refuse("issuer_key_ambiguous") : key;
}

/**
 * Whether a trusted issuer signed it: by a certificate that leads up to a root of ours where it brings one, else by a key that the issuer
 * publishes.
 * @param now seconds since the epoch
 * @throws {Refusal} access_denied
 * @see SD-JWT VC §3.5
 */
export async function assertSignedByIssuer(signed: SignedByIssuer, trust: IssuerTrust, now: number): Promise<void> {
  const { x5c } = signed.jwt.header;
  const certified = x5c !== undefined && trust.roots.length > 0;
  const key = certified ? certifiedKey(x5c, signed.issuer, trust.roots, now) : await publishedKey(signed, trust);
  if (!isMadeBy(signed.jwt, key, signed.alg)) refuse("issuer_signature_wrong");
}
