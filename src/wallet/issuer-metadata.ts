import { LRUCache } from "lru-cache";
import { FetchFailure, type GuardedFetch } from "../clients/guarded-fetch.ts";
import { asPublicKeySet, type PublishedKey } from "../clients/key-set.ts";
import { singleFlight } from "../clients/single-flight.ts";
import type { Clock } from "../clock.ts";
import type { CredentialIssuerKeys } from "./ports.ts";

const MAX_BYTES = 65_536;
const REMEMBERED = 100;
/** Seconds for which keys are used without asking again. */
const KEPT = 600;
/** Seconds between two questions that an unknown key id causes. */
const COOL_DOWN = 60;
/** Seconds after a failed attempt in which no further one is made. */
const PAUSE = 5;

/** Where an issuer tells its keys: the well-known part stands between host and path. @see SD-JWT VC §5 */
export function metadataUrl(issuer: string): string {
  const { origin, pathname } = new URL(issuer);
  return `${origin}/.well-known/jwt-vc-issuer${pathname === "/" ? "" : pathname}`;
}

/** Keys of credential issuers by their own metadata: the keys themselves (`jwks`), or the one address of them (`jwks_uri`). */
export function issuerMetadata(fetch: GuardedFetch, clock: Clock): CredentialIssuerKeys {
  const kept = new LRUCache<string, { readonly keys: readonly PublishedKey[]; readonly at: number }>({ max: REMEMBERED });
  const failed = new LRUCache<string, number>({ max: REMEMBERED });

  const load = async (issuer: string): Promise<readonly PublishedKey[]> => {
    const { value } = await fetch.json(metadataUrl(issuer), MAX_BYTES);
    const { issuer: named, jwks, jwks_uri } = typeof value === "object" && value !== null ? (value as Record<string, unknown>) : {};
    if (named !== issuer) throw new FetchFailure("document_of_another_issuer");
    if ((jwks === undefined) === (jwks_uri === undefined)) throw new FetchFailure("document_without_keys");
    const set = typeof jwks_uri === "string" ? (await fetch.json(jwks_uri, MAX_BYTES)).value : jwks;
    const keys = asPublicKeySet(set);
    if (keys === undefined) throw new FetchFailure("no_public_key_set");
    return keys;
  };
  const ask = singleFlight(async (issuer: string) => {
    const last = failed.get(issuer);
    if (last !== undefined && clock() < last + PAUSE) throw new FetchFailure("failed_just_now");
    try {
      const keys = await load(issuer);
      kept.set(issuer, { keys, at: clock() });
      return keys;
    } catch (error) {
      failed.set(issuer, clock());
      throw error;
    }
  });
  const youngerThan = (issuer: string, age: number): readonly PublishedKey[] | undefined => {
    const known = kept.get(issuer);
    return known !== undefined && clock() < known.at + age ? known.keys : undefined;
  };
  return {
    at: async (issuer) => youngerThan(issuer, KEPT) ?? ask(issuer),
    renewed: async (issuer) => youngerThan(issuer, COOL_DOWN) ?? ask(issuer),
  };
}
