import { FetchFailure, type GuardedFetch } from "../clients/guarded-fetch.ts";
import { asPublicKeySet, type RemoteKeys } from "../clients/key-set.ts";
import { cachedKeys, fetchKeySet, issuerDocument } from "../clients/remote-keys.ts";
import type { Clock } from "../clock.ts";

const ISSUERS = 100;

/** The address of an issuer's metadata: the well-known part goes between host and path. @see SD-JWT VC §5 */
export function metadataUrl(issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  return `${origin}/.well-known/jwt-vc-issuer${pathname === "/" ? "" : pathname}`;
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
