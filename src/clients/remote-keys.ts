import { LRUCache } from "lru-cache";
import type { Clock } from "../clock.ts";
import { FetchFailure, type GuardedFetch } from "./guarded-fetch.ts";
import { asPublicKeySet, type PublishedKey } from "./key-set.ts";
import type { RemoteKeys } from "./ports.ts";
import { singleFlight } from "./single-flight.ts";

const MAX_KEY_SET_BYTES = 65_536;
const REMEMBERED_KEY_SETS = 256;
/** Seconds for which a set is used without asking again. */
const KEPT = 600;
/** Seconds between two questions that an unknown key id causes. */
const COOL_DOWN = 60;
/** Seconds after a failed attempt in which no further one is made: whoever sends assertions must not decide how often a host is asked. */
const PAUSE = 5;

/**
 * Keys at the addresses that clients have registered, or named in their documents. Nothing of a request ever chooses the address.
 * A set that cannot be renewed when its time is over is used no longer.
 * @see specification §4.7 private_key_jwt
 */
export function remoteKeys(fetch: GuardedFetch, clock: Clock): RemoteKeys {
  const kept = new LRUCache<string, { readonly keys: readonly PublishedKey[]; readonly at: number }>({ max: REMEMBERED_KEY_SETS });
  const failed = new LRUCache<string, number>({ max: REMEMBERED_KEY_SETS });

  const ask = singleFlight(async (uri: string) => {
    const last = failed.get(uri);
    if (last !== undefined && clock() < last + PAUSE) throw new FetchFailure("failed_just_now");
    try {
      const keys = asPublicKeySet((await fetch.json(uri, MAX_KEY_SET_BYTES)).value);
      if (keys === undefined) throw new FetchFailure("no_public_key_set");
      kept.set(uri, { keys, at: clock() });
      return keys;
    } catch (error) {
      failed.set(uri, clock());
      throw error;
    }
  });

  const youngerThan = (uri: string, age: number): readonly PublishedKey[] | undefined => {
    const known = kept.get(uri);
    return known !== undefined && clock() < known.at + age ? known.keys : undefined;
  };

  return {
    at: async (uri) => youngerThan(uri, KEPT) ?? ask(uri),
    renewed: async (uri) => youngerThan(uri, COOL_DOWN) ?? ask(uri),
  };
}
