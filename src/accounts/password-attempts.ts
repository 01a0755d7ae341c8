import { LRUCache } from "lru-cache";
import { isRefusal, Refusal } from "../errors.ts";
import { hashSecret, type SecretHash } from "../random.ts";
import { accountName, type Caller, type KnownDevices, knownDeviceOf } from "./caller.ts";
import { type FairQueue, fairQueue } from "./fair-queue.ts";
import type { AttemptVerdict, FailureBudget, ReservedAttempt, SignInFailures } from "./ports.ts";

/** Seconds in which a failure counts. */
const WINDOW = 15 * 60;
/** Failures that one address, or one known device, may cause to one account. */
const PAIR_BUDGET: FailureBudget = { limit: 10, window: WINDOW };
/**
 * Failures at one account from all addresses together, beyond which each address has fewer. None is refused for what others do: a user who
 * types the right password signs in, while guessing from many addresses becomes slow.
 */
const ACCOUNT_BUDGET: FailureBudget = { limit: 50, window: WINDOW };
const STRAINED_PAIR_BUDGET: FailureBudget = { limit: 3, window: WINDOW };
/** Failures that one address may cause to all accounts: more than an office behind one address mistypes, less than guessing needs. */
const ADDRESS_BUDGET: FailureBudget = { limit: 100, window: WINDOW };

/** Attempts in progress. Four keep two hashing threads busy, and take at most half of the database connections. */
const IN_FLIGHT = { width: 4, queue: 128, share: 96, wait: 3000 } as const;
/**
 * Refusals are delayed, so that a client that retries at once does not keep the event loop busy. Together with waiting attempts they are
 * fewer than the 512 requests that a front answers at a time.
 */
const DELAYED_REFUSALS = { width: 0, queue: 320, share: 300, wait: 500 } as const;

const REMEMBERED = 10_000;
/** Seconds for which a pair counts as spent without a query. A new password may have cleared it in the database. */
const PAIR_REMEMBERED = 5;

type Origin = Pick<Caller, "limitKey" | "device">;

/** `account`: undefined for a known device. `lane`: the key by which attempts take turns. */
type Keys = ReservedAttempt & { readonly pair: SecretHash; readonly account: SecretHash | undefined; readonly lane: string };
type Judged = { readonly verdict: AttemptVerdict };
type Attempt<Outcome> = (lane: string) => Promise<Outcome>;

/** One budget for each account and address, so that no stranger can lock an owner out, one for the address and one for the account. */
const keysOf = (email: string, { limitKey }: Origin): Keys => ({
  pair: hashSecret(`sign-in\n${accountName(email)}\n${limitKey}`),
  address: hashSecret(`sign-in address\n${limitKey}`),
  account: hashSecret(`sign-in account\n${accountName(email)}`),
  lane: limitKey,
});

/** A known device has one budget and its own turns, whatever others do at its address or to its account. */
const keysOfDevice = (device: SecretHash): Keys => ({
  pair: device,
  address: device,
  account: undefined,
  lane: `device ${Buffer.from(device).toString("base64url")}`,
});

function assertNoWait(retryAfter: number): void {
  if (retryAfter <= 0) return;
  const description = "Too many failed attempts. Wait a while before you try again.";
  throw new Refusal("too_many_requests", "sign_in_failures", { description, retryAfter });
}

/** Attempts to prove a password, within the failure budgets of account, address and device. */
export type PasswordAttempts = ReturnType<typeof passwordAttempts>;

/** Remembers spent budgets, so that a flood does not reach the database. */
function spentBudgets(now: () => number) {
  const spent = new LRUCache<string, { readonly knownUntil: number; readonly spentUntil: number }>({ max: REMEMBERED });
  const name = (key: SecretHash): string => Buffer.from(key).toString("base64");
  return {
    /** @param wait seconds until the budget has room again  @param remembered seconds without a query */
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

/** @param now seconds of a clock that never steps back  @param refusals the queue in which refusals wait; it runs no jobs */
export function passwordAttempts(
  failures: SignInFailures,
  devices: KnownDevices,
  now: () => number,
  refusals: FairQueue = fairQueue(DELAYED_REFUSALS),
) {
  const queue = fairQueue(IN_FLIGHT);
  const spent = spentBudgets(now);

  async function reserve(key: SecretHash, budget: FailureBudget, remembered: number): Promise<void> {
    const wait = await failures.reserve(key, budget);
    if (wait > 1) spent.add(key, wait, remembered); // one second is the wait for attempts in progress
    assertNoWait(wait);
  }
  function assertNotSpent({ pair, address }: Keys): void {
    spent.assertNot(address);
    spent.assertNot(pair);
  }

  /** Reservations expire if this fails, and the caller gets the error that ended the attempt. */
  const release = (attempt: ReservedAttempt): Promise<void> => failures.settle(attempt, "none", WINDOW).catch(() => undefined);

  const pairBudget = async (account: SecretHash): Promise<FailureBudget> =>
    (await failures.failures(account)) >= ACCOUNT_BUDGET.limit ? STRAINED_PAIR_BUDGET : PAIR_BUDGET;

  async function reserved<Outcome extends Judged>(keys: Keys, attempt: Attempt<Outcome>): Promise<Outcome> {
    assertNotSpent(keys);
    const { pair, address, account, lane } = keys;
    if (account !== undefined) await reserve(address, ADDRESS_BUDGET, WINDOW); // a success does not shorten its wait
    let reservation: ReservedAttempt | undefined = account && { pair: undefined, address };
    let outcome: Outcome;
    try {
      await reserve(pair, account === undefined ? PAIR_BUDGET : await pairBudget(account), PAIR_REMEMBERED);
      reservation = keys;
      outcome = await attempt(lane);
    } catch (error) {
      if (reservation) await release(reservation);
      throw error;
    }
    await failures.settle(reservation, outcome.verdict, WINDOW); // before the response: an uncounted guess must not get one
    if (account !== undefined && outcome.verdict === "wrong") await failures.count(account, ACCOUNT_BUDGET.window);
    return outcome;
  }

  return {
    /**
     * Runs one attempt, which does not count if it throws.
     * @param attempt gets the key by which it takes turns in further queues
     * @throws {Refusal} too_many_requests, temporarily_unavailable
     */
    async run<Outcome extends Judged>(email: string, caller: Origin, attempt: Attempt<Outcome>): Promise<Outcome> {
      const device = await knownDeviceOf(email, caller, devices);
      const keys = device === undefined ? keysOf(email, caller) : keysOfDevice(device);
      try {
        assertNotSpent(keys);
        return await queue(keys.lane, () => reserved(keys, attempt));
      } catch (error) {
        if (isRefusal(error)) await refusals(keys.lane, async () => undefined).catch(() => undefined);
        throw error;
      }
    },
    /** Clears the failures of a caller who has proved in another way who they are. */
    async clear(email: string, caller: Origin): Promise<void> {
      const { pair } = keysOf(email, caller);
      await failures.clear(pair);
      spent.remove(pair);
    },
  };
}
