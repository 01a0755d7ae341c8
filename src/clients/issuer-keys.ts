import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.ts";
import { FetchFailure, type GuardedFetch } from "./guarded-fetch.ts";
import type { RemoteKeys } from "./ports.ts";
import { singleFlight } from "./single-flight.ts";

const MAX_DOCUMENT_BYTES = 65_536;
const REMEMBERED_ISSUERS = 100;
/** Seconds for which an issuer's document is used without asking again. */
const KEPT = 600;
/** Seconds after a failed attempt in which no further one is made. */
const PAUSE = 5;

const keySetAddress = (document: unknown, issuer: string): string => {
  const { issuer: named, jwks_uri } = typeof document === "object" && document !== null ? (document as Record<string, unknown>) : {};
  if (named !== issuer) throw new FetchFailure("document_of_another_issuer");
  if (typeof jwks_uri !== "string") throw new FetchFailure("document_without_keys");
  return jwks_uri;
};

/**
 * Finds the keys of other issuers by OpenID Connect discovery. To be asked for issuers that the operator trusts, and for no others.
 * @param keys of the key sets that the documents name, with their own memory and pauses
 * @see OIDC Discovery §4, specification §4.7
 */
export function issuerKeys(fetch: GuardedFetch, keys: RemoteKeys, clock: Clock) {
  const kept = new LRUCache<string, { readonly uri: string; readonly at: number }>({ max: REMEMBERED_ISSUERS });
  const failed = new LRUCache<string, number>({ max: REMEMBERED_ISSUERS });

  const discover = singleFlight(async (issuer: string) => {
    const last = failed.get(issuer);
    if (last !== undefined && clock() < last + PAUSE) throw new FetchFailure("failed_just_now");
    try {
      const { value } = await fetch.json(`${issuer}/.well-known/openid-configuration`, MAX_DOCUMENT_BYTES);
      const uri = keySetAddress(value, issuer);
      kept.set(issuer, { uri, at: clock() });
      return uri;
    } catch (error) {
      failed.set(issuer, clock());
      throw error;
    }
  });

  const addressOf = async (issuer: string): Promise<string> => {
    const known = kept.get(issuer);
    return known !== undefined && clock() < known.at + KEPT ? known.uri : discover(issuer);
  };

  return {
    at: async (issuer: string) => keys.at(await addressOf(issuer)),
    renewed: async (issuer: string) => keys.renewed(await addressOf(issuer)),
  };
}
