import type { Clock } from "../clock.ts";
import type { GuardedFetch } from "./guarded-fetch.ts";
import type { RemoteKeys } from "./key-set.ts";
import { bundleKeys, issuerKeys, remoteKeys } from "./remote-keys.ts";
import type { WorkloadTrust } from "./workload.ts";

/** Where the keys of a platform are, and how they are fetched. */
export type KeySource = { readonly source: string; readonly keys: RemoteKeys };
export type KeyOrigin = Pick<WorkloadTrust, "issuer" | "jwksUri" | "bundleEndpoint" | "allowPrivate"> & {
  /** Whether a metadata document names the address. */
  readonly ofDocument?: boolean;
};
export type WorkloadKeys = (origin: KeyOrigin) => KeySource;

const sourcesOver = (fetch: GuardedFetch, clock: Clock) => {
  const published = remoteKeys(fetch, clock);
  return { published, discovered: issuerKeys(fetch, published, clock), bundled: bundleKeys(fetch, clock) };
};

/**
 * The keys of platforms, by the address that an operator configured or a metadata document names; nothing in a token selects one. Cached for
 * each address.
 * @param privateFetch for those that an operator allowed to be at a private address
 * @param documentFetch for those of metadata documents
 */
export function workloadKeys(
  publicFetch: GuardedFetch,
  privateFetch: GuardedFetch,
  documentFetch: GuardedFetch,
  clock: Clock,
): WorkloadKeys {
  const [open, own] = [sourcesOver(publicFetch, clock), sourcesOver(privateFetch, clock)];
  const ofDocuments = bundleKeys(documentFetch, clock);
  return ({ issuer, jwksUri, bundleEndpoint, allowPrivate, ofDocument }) => {
    const { published, discovered, bundled } = allowPrivate ? own : open;
    if (bundleEndpoint !== null) return { source: bundleEndpoint, keys: ofDocument ? ofDocuments : bundled };
    return jwksUri === null ? { source: issuer, keys: discovered } : { source: jwksUri, keys: published };
  };
}
