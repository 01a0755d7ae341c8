import { LRUCache } from "lru-cache";
import { isRefusal, Refusal } from "../errors.ts";
import { hashSecret, type SecretHash } from "../secret.ts";
import { type FairQueue, fairQueue } from "./fair-queue.ts";
import type { AttemptVerdict, FailureBudget, ReservedAttempt, SignInFailures } from "./ports.ts";
import type { Caller } from "./sessions.ts";

/** Seconds in which a failure counts. */
const WINDOW = 15 * 60;
/** Failures that one address may cause to one account. */
const PAIR_BUDGET: FailureBudget = { limit: 10, window: WINDOW };
/**
 * Failures that one address may cause to all accounts together. A school or an office behind one address mistypes a few dozen passwords in a
 * quarter of an hour; someone who tries common passwords on many accounts needs thousands.
 */
const ADDRESS_BUDGET: FailureBudget = { limit: 100, window: WINDOW };

/**
 * Attempts that are under way in this process. Four keep two hashing threads busy while the others are at the database, and take at most
 * half of its connections. What waits holds nothing but memory.
 */
const IN_FLIGHT = { width: 4, queue: 128, share: 96, wait: 1000 } as const;
/**
 * Refusals wait before they are answered: a client that sends again at once would otherwise keep the event loop from everyone else. With
 * the attempts that wait they are fewer than the 512 requests that a front answers at a time.
 */
const HELD = { width: 0, queue: 320, share: 300, wait: 500 } as const;

const REMEMBERED = 10_000;
/** Seconds for which a pair counts as spent without asking the database, where a new password may have cleared it. */
const PAIR_REMEMBERED = 5;

type Whence = Pick<Caller, "limitKey">;

interface Keys {
  readonly pair: SecretHash;
  readonly address: SecretHash;
}

/** One budget for each account and address, so that no stranger can lock an owner out, and one for the address. */
const keysOf = (email: string, { limitKey }: Whence): Keys => ({
  pair: hashSecret(`sign-in\n${email.trim().toLowerCase()}\n${limitKey}`),
  address: hashSecret(`sign-in address\n${limitKey}`),
});

function assertNoWait(retryAfter: number): void {
  if (retryAfter <= 0) return;
  const description = "Too many failed attempts. Wait a while before you try again.";
  throw new Refusal("too_many_requests", "sign_in_failures", { description, retryAfter });
}

/** Attempts to prove a password, within the budgets of account and address. */
export interface PasswordAttempts {
  /**
   * Runs one attempt. Only a wrong password counts: an attempt that throws has no verdict, and gives its places back.
   * @throws {Refusal} too_many_requests when a budget is spent, temporarily_unavailable when too many attempts wait
   */
  run<Judged extends { readonly verdict: AttemptVerdict }>(email: string, caller: Whence, judge: () => Promise<Judged>): Promise<Judged>;
  /** The caller has proved in another way who they are: their failures are forgotten. */
  clear(email: string, caller: Whence): Promise<void>;
}

/** Budgets that are known to be spent, so that a flood does not reach the database. */
function spentBudgets(now: () => number) {
  const spent = new LRUCache<string, { readonly knownUntil: number; readonly spentUntil: number }>({ max: REMEMBERED });
  const name = (key: SecretHash): string => Buffer.from(key).toString("base64");
  return {
    /** @param wait seconds until the budget has room again  @param remembered seconds for which the database is not asked */
    add: (key: SecretHash, wait: number, remembered: number): void =>
      void spent.set(name(key), { knownUntil: now() + Math.min(wait, remembered), spentUntil: now() + wait }),
    remove: (key: SecretHash): void => void spent.delete(name(key)),
    /** @throws {Refusal} too_many_requests */
    assertNot(key: SecretHash): void {
      const known = spent.get(name(key));
      if (known !== undefined && known.knownUntil > now()) assertNoWait(Math.ceil(known.spentUntil - now()));
    },
  };
}

/**
 * @param now seconds of a clock that never steps back
 * @param held where refusals wait; no job runs there
 */
export function passwordAttempts(failures: SignInFailures, now: () => number, held: FairQueue = fairQueue(HELD)): PasswordAttempts {
  const queue = fairQueue(IN_FLIGHT);
  const spent = spentBudgets(now);

  async function reserve(key: SecretHash, budget: FailureBudget, remembered: number): Promise<void> {
    const wait = await failures.reserve(key, budget);
    if (wait > 1) spent.add(key, wait, remembered); // a second is the wait for attempts that are under way
    assertNoWait(wait);
  }
  function assertNotSpent({ pair, address }: Keys): void {
    spent.assertNot(address);
    spent.assertNot(pair);
  }

  /** Without an answer the places lapse by themselves, and the caller gets the error that ended the attempt. */
  const giveBack = (attempt: ReservedAttempt): Promise<void> => failures.settle(attempt, "none", WINDOW).catch(() => undefined);

  async function attempt<Judged extends { readonly verdict: AttemptVerdict }>(keys: Keys, judge: () => Promise<Judged>): Promise<Judged> {
    assertNotSpent(keys);
    const { pair, address } = keys;
    await reserve(address, ADDRESS_BUDGET, WINDOW); // no success shortens its wait
    let reserved: ReservedAttempt = { pair: undefined, address };
    let judged: Judged;
    try {
      await reserve(pair, PAIR_BUDGET, PAIR_REMEMBERED);
      reserved = keys;
      judged = await judge();
    } catch (error) {
      await giveBack(reserved);
      throw error;
    }
    await failures.settle(reserved, judged.verdict, WINDOW); // before the answer: a guess that is not counted must not be answered
    return judged;
  }

  return {
    async run(email, caller, judge) {
      const keys = keysOf(email, caller);
      try {
        assertNotSpent(keys);
        return await queue(caller.limitKey, () => attempt(keys, judge));
      } catch (error) {
        if (isRefusal(error)) await held(caller.limitKey, async () => undefined).catch(() => undefined);
        throw error;
      }
    },
    async clear(email, caller) {
      const { pair } = keysOf(email, caller);
      await failures.clear(pair);
      spent.remove(pair);
    },
  };
}
