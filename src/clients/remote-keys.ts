import { LRUCache } from "lru-cache";
import { type Clock, secondsSince } from "../clock.ts";
import { singleFlight } from "../load-once.ts";
import { FetchFailure, type GuardedFetch, NO_PLACE } from "./guarded-fetch.ts";
import { asPublicKeySet, isObject, type PublishedKey, type RemoteKeys } from "./public-keys.ts";
import type { WorkloadTrust } from "./workload.ts";

/** Seconds between a failed fetch and the next one. */
const PAUSE = 5;

/**
 * Caches what `load` fetches from third parties. What it throws is thrown again for 5 seconds: a host that is silent must not occupy the
 * places of all outgoing requests.
 * @param size keys that are remembered
 * @param failuresCount where a refresh that fails is one of those in a minute, since what is known will do
 */
export function remoteCache<Value extends object | string, Rest extends readonly unknown[] = []>(
  load: (key: string, ...rest: Rest) => Promise<Value>,
  size: number,
  clock: Clock,
  failuresCount = false,
) {
  const loaded = new LRUCache<string, { readonly value: Value; readonly at: number }>({ max: size });
  const failed = new LRUCache<string, { readonly error: unknown; readonly at: number }>({ max: size });

  const reload = singleFlight(async (key: string, ...rest: Rest) => {
    const failure = failed.get(key);
    if (failure !== undefined && secondsSince(clock, failure.at) < PAUSE) throw failure.error;
    try {
      const value = await load(key, ...rest);
      loaded.set(key, { value, at: clock() });
      return value;
    } catch (error) {
      if (!(error instanceof FetchFailure && error.reason === NO_PLACE)) failed.set(key, { error, at: clock() });
      throw error;
    }
  });

  const refreshed = new LRUCache<string, { readonly at: number; readonly again: boolean }>({ max: size });
  /** Whether a value may be fetched again, and whether for the second time. */
  const turnOf = (key: string): { readonly again: boolean } | undefined => {
    const last = refreshed.get(key);
    const age = last === undefined ? COOL_DOWN : secondsSince(clock, last.at);
    if (age >= COOL_DOWN) return { again: false };
    return last?.again === false && age >= AGAIN ? { again: true } : undefined;
  };
  return {
    /** @param maxAge of a value, in seconds; an older one is never used */
    async current(key: string, maxAge: (value: Value) => number, ...rest: Rest): Promise<Value> {
      const entry = loaded.get(key);
      return entry !== undefined && secondsSince(clock, entry.at) < maxAge(entry.value) ? entry.value : reload(key, ...rest);
    },
    /**
     * Fetches although a value is there, at most once a minute, and each time once more two seconds later: a cache of the third party may answer with an
     * old value, which it only then replaces. Other fetches do not count: what changes just after one is found too.
     */
    async refreshed(key: string, ...rest: Rest): Promise<Value> {
      const entry = loaded.get(key);
      const turn = turnOf(key);
      if (entry !== undefined && turn === undefined) return entry.value;
      const spend = () => refreshed.set(key, { at: clock(), again: turn?.again ?? true });
      if (failuresCount) spend();
      const value = await reload(key, ...rest);
      spend();
      return value;
    },
  };
}

const MAX_DOCUMENT_BYTES = 65_536;
const KEY_SETS = 256;
const ISSUERS = 100;
/** Seconds for which a document is used. */
export const MAX_AGE = () => 600;
/** Seconds between two fetches that unknown keys cause. */
const COOL_DOWN = 60;
/** Seconds of a clock of whole ones, thus more than one, after which another fetch follows the first. */
const AGAIN = 2;

/** Keys of a loader that runs at most once in ten minutes for each source, or twice a minute for unknown keys. */
export function cachedKeys(load: (source: string) => Promise<readonly PublishedKey[]>, size: number, clock: Clock): RemoteKeys {
  const cache = remoteCache(load, size, clock);
  return { current: (source) => cache.current(source, MAX_AGE), refreshed: cache.refreshed };
}

/** Fetches a JWK Set. @throws {FetchFailure} */
export async function fetchKeySet(fetch: GuardedFetch, uri: string): Promise<readonly PublishedKey[]> {
  const keys = asPublicKeySet((await fetch.json(uri, MAX_DOCUMENT_BYTES)).value);
  if (keys === undefined) throw new FetchFailure("no_public_key_set");
  return keys;
}

/** Keys at the `jwks_uri` of clients, from their registration or metadata document. */
export const remoteKeys = (fetch: GuardedFetch, clock: Clock): RemoteKeys => cachedKeys((uri) => fetchKeySet(fetch, uri), KEY_SETS, clock);

/** The metadata of an issuer, checked to be its own. @throws {FetchFailure} */
export async function issuerDocument(fetch: GuardedFetch, url: string, issuer: string): Promise<Readonly<Record<string, unknown>>> {
  const { value } = await fetch.json(url, MAX_DOCUMENT_BYTES);
  const document = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
  if (document.issuer !== issuer) throw new FetchFailure("document_of_another_issuer");
  return document;
}

/** Keys of issuers that the operator trusts. @param keySets the keys by the `jwks_uri` in an issuer's metadata @see OIDC Discovery §4 */
export function issuerKeys(fetch: GuardedFetch, keySets: RemoteKeys, clock: Clock): RemoteKeys {
  const keySetUri = remoteCache(
    async (issuer) => {
      const { jwks_uri } = await issuerDocument(fetch, `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`, issuer);
      if (typeof jwks_uri !== "string") throw new FetchFailure("document_without_keys");
      return jwks_uri;
    },
    ISSUERS,
    clock,
    true,
  );
  return {
    current: async (issuer) => keySets.current(await keySetUri.current(issuer, MAX_AGE)),
    // An issuer can publish its next key elsewhere. Where its metadata cannot be had, the key may still be at the known address.
    refreshed: async (issuer) => keySets.refreshed(await keySetUri.refreshed(issuer).catch(() => keySetUri.current(issuer, MAX_AGE))),
  };
}

interface Bundle {
  readonly keys: readonly PublishedKey[];
  /** Seconds between two fetches. */
  readonly refresh: number;
}

/** Seconds for which a bundle without a hint is used, and the bounds of a hint. */
const UNHINTED = 300;
const SHORTEST_REFRESH = 60;
const LONGEST_REFRESH = 3_600;

/** The keys of a SPIFFE bundle that verify JWT-SVIDs. `use` is theirs alone (SPIFFE Trust Domain and Bundle §4.2). */
function bundleOf(document: unknown): Bundle | undefined {
  const keys = asPublicKeySet(document);
  if (keys === undefined) return undefined;
  const hint = isObject(document) ? Number(document.spiffe_refresh_hint ?? UNHINTED) : UNHINTED;
  const refresh = Number.isFinite(hint) ? Math.min(LONGEST_REFRESH, Math.max(SHORTEST_REFRESH, hint)) : UNHINTED;
  return { keys: keys.filter(({ use }) => use === "jwt-svid").map(({ use: _, ...key }) => key), refresh };
}

/** Keys of SPIFFE trust domains, by their bundle endpoint. */
function bundleKeys(fetch: GuardedFetch, clock: Clock): RemoteKeys {
  const cache = remoteCache(
    async (endpoint) => {
      const bundle = bundleOf((await fetch.json(endpoint, MAX_DOCUMENT_BYTES)).value);
      if (bundle === undefined) throw new FetchFailure("no_public_key_set");
      return bundle;
    },
    ISSUERS,
    clock,
  );
  return {
    current: async (endpoint) => (await cache.current(endpoint, ({ refresh }) => refresh)).keys,
    refreshed: async (endpoint) => (await cache.refreshed(endpoint)).keys,
  };
}

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
