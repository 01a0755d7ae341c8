import { LRUCache } from "lru-cache";
import { Refusal } from "../errors.ts";
import { hashSecret, type SecretHash } from "../secret.ts";
import { fairQueue } from "./fair-queue.ts";
import type { AttemptVerdict, FailureBudget, ReservedAttempt, SignInFailures } from "./ports.ts";
import type { Caller } from "./sessions.ts";

/** Seconds in which a failure counts. */
const WINDOW = 15 * 60;
/** Failures that one address may cause to one account. */
const PAIR_BUDGET: FailureBudget = { limit: 10, window: WINDOW };
/**
 * Failures that one address may cause to all accounts together. A school or an office behind one address mistypes a few dozen passwords in a
 * quarter of an hour; whoever tries common passwords on many accounts needs thousands of attempts.
 */
const ADDRESS_BUDGET: FailureBudget = { limit: 100, window: WINDOW };

/**
 * Attempts that are under way in this process. Four keep two hashing threads busy while the others are at the database, and take at most
 * half of its connections. What waits holds nothing but memory, and at most half of the requests that a front answers at a time.
 */
const UNDER_WAY = { width: 4, queue: 256, share: 128, wait: 1000 } as const;

const REMEMBERED_ADDRESSES = 10_000;

type Whence = Pick<Caller, "limitKey">;

/** One budget for each account and address, so that no stranger can lock an owner out. */
const pairKey = (email: string, { limitKey }: Whence): SecretHash => hashSecret(`sign-in\n${email.trim().toLowerCase()}\n${limitKey}`);
const addressKey = ({ limitKey }: Whence): SecretHash => hashSecret(`sign-in address\n${limitKey}`);

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

/** @param now seconds of a clock that never steps back */
export function passwordAttempts(failures: SignInFailures, now: () => number): PasswordAttempts {
  const queue = fairQueue(UNDER_WAY);
  /** When an address that has spent its budget may try again. No success shortens that time, so the database need not be asked. */
  const spent = new LRUCache<string, number>({ max: REMEMBERED_ADDRESSES });
  const assertNotSpent = ({ limitKey }: Whence): void => assertNoWait(Math.ceil((spent.get(limitKey) ?? 0) - now()));

  async function reserveAddress(key: SecretHash, { limitKey }: Whence): Promise<void> {
    const wait = await failures.reserve(key, ADDRESS_BUDGET);
    if (wait > 1) spent.set(limitKey, now() + wait); // a second is the wait for attempts that are under way
    assertNoWait(wait);
  }

  /** Without an answer the places lapse by themselves, and the caller gets the error that ended the attempt. */
  const giveBack = (attempt: ReservedAttempt): Promise<void> => failures.settle(attempt, "none", WINDOW).catch(() => undefined);

  async function attempt<Judged extends { readonly verdict: AttemptVerdict }>(
    email: string,
    caller: Whence,
    judge: () => Promise<Judged>,
  ): Promise<Judged> {
    assertNotSpent(caller);
    const [pair, address] = [pairKey(email, caller), addressKey(caller)];
    await reserveAddress(address, caller);
    let reserved: ReservedAttempt = { pair: undefined, address };
    let judged: Judged;
    try {
      assertNoWait(await failures.reserve(pair, PAIR_BUDGET));
      reserved = { pair, address };
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
      assertNotSpent(caller);
      return queue(caller.limitKey, () => attempt(email, caller, judge));
    },
    clear: (email, caller) => failures.clear(pairKey(email, caller)),
  };
}
