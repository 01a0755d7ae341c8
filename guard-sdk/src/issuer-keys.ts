import type { KeySet } from "./issuer-document.ts";
import { GuardRefusal } from "./refusal.ts";
import type { VerificationKey } from "./signature.ts";
import { type Clocks, LONG_AGO, momentOf, secondsSince } from "./time.ts";

const FRESH_SECONDS = 240; // afterwards the set is fetched again in the background
const CURRENT_SECONDS = 300; // afterwards requests wait for that, unless the issuer has just failed to answer
const USABLE_SECONDS = 86_400; // how long an issuer may be unreachable
const RENEWAL_PAUSE_SECONDS = 60; // between attempts to refresh keys that are still usable
const LOOK_PAUSE_SECONDS = 60; // between fetches for unknown key ids
const LOOK_AGAIN_SECONDS = 1; // before one more: a cache may answer the first with an old set, which it only then replaces
const RETRY_PAUSE_SECONDS = 5; // after a failure, for requests that need a fetch

export type IssuerKeys = ReturnType<typeof issuerKeys>;

/**
 * Keeps the signing keys of an issuer, fetched when first needed: one fetch at a time however many requests wait for it, renewed beside the
 * requests, or before them after a pause, good for a day when the issuer is gone.
 * @param load fetches the set, given the last one
 * @param clocks by which keys are renewed in time also where the machine slept
 * @param mayBeEmpty whether an issuer may have no key of this kind; otherwise an empty set withdraws all keys, and no token can be judged
 */
export function issuerKeys(load: (known: KeySet | undefined) => Promise<KeySet>, clocks: Clocks, mayBeEmpty = false) {
  let keys: KeySet | undefined;
  let fetchedAt = LONG_AGO;
  let triedAt = LONG_AGO;
  const looks = pairsOfLooks(clocks);
  let failedAt = LONG_AGO;
  let attempts = 0;
  let failure: unknown;
  let flight: Promise<void> | undefined;

  async function attempt() {
    attempts += 1;
    triedAt = momentOf(clocks);
    try {
      keys = await load(keys);
      fetchedAt = triedAt; // the machine may have slept since
      failure = keys.size > 0 || mayBeEmpty ? undefined : new Error("the key set has no key that can be used");
    } catch (cause) {
      failure = cause ?? new Error("the keys could not be fetched");
      failedAt = momentOf(clocks);
    }
  }

  /** Resolves once a fetch under way, or one that may begin, has ended; at once when there is none. Never rejects. */
  function refresh(mayBegin: boolean): Promise<void> | undefined {
    if (flight === undefined && mayBegin) {
      flight = attempt().finally(() => {
        flight = undefined;
      });
    }
    return flight;
  }

  const rested = (pause: number) => secondsSince(clocks, triedAt) >= pause;
  const mayLook = () => (failure === undefined ? looks.mayBegin() : rested(RETRY_PAUSE_SECONDS));

  /**
   * Looks for a key that is not in the set. Only looks count for the pause between looks: no other fetch uses them up.
   * @param since how many fetches had begun when the token came; what is fetched after that is as new as can be
   */
  async function look(since: number): Promise<void> {
    if (attempts === since) await flight;
    if (attempts === since && mayLook()) {
      looks.begin(failure !== undefined);
      await refresh(true);
    } else await flight;
  }

  const age = () => secondsSince(clocks, fetchedAt);
  /** By the clock that never steps back: one that is ahead must not end what works while the issuer is away. */
  const areUsable = () => clocks.elapsed() - fetchedAt.elapsed <= USABLE_SECONDS;
  const pick = (kid: string | undefined) => (kid === undefined && keys?.size === 1 ? keys.values().next().value : keys?.get(kid ?? ""));
  const unavailable = () => new GuardRefusal("temporarily_unavailable", "keys_unavailable", { cause: failure });

  return {
    /**
     * The key that a token names; a token without `kid` means the only key there is.
     * @throws {GuardRefusal} invalid_token for a key that the issuer does not have; temporarily_unavailable when that cannot be known
     */
    async find(kid: string | undefined): Promise<VerificationKey> {
      const since = attempts;
      if (!areUsable()) {
        await refresh(rested(RETRY_PAUSE_SECONDS));
        if (!areUsable()) throw unavailable();
      } else if (age() > FRESH_SECONDS) {
        const renewal = refresh(rested(RENEWAL_PAUSE_SECONDS));
        // Without requests nothing was renewed: a key that was withdrawn in the meantime must not verify the next one.
        if (age() > CURRENT_SECONDS && secondsSince(clocks, failedAt) > CURRENT_SECONDS) await renewal;
      }
      const key = pick(kid);
      if (key !== undefined) return key;
      await look(since);
      const found = pick(kid);
      if (found !== undefined) return found;
      // A key may have come with the rotation that we could not see: no answer is better than a wrong one.
      throw failure === undefined ? new GuardRefusal("invalid_token", "key_unknown") : unavailable();
    },
  };
}

/** When keys that are not in the set may be looked for: of two looks the second follows soon, and the next pair after a pause. */
function pairsOfLooks(clocks: Clocks) {
  let lastAt = LONG_AGO;
  let wasSecond = true;
  const pause = () => secondsSince(clocks, lastAt);
  return {
    mayBegin: () => pause() >= (wasSecond ? LOOK_PAUSE_SECONDS : LOOK_AGAIN_SECONDS),
    /** @param isFirst of a pair in any case: a look that failed was none */
    begin(isFirst: boolean) {
      wasSecond = !isFirst && pause() < LOOK_PAUSE_SECONDS;
      lastAt = momentOf(clocks);
    },
  };
}
