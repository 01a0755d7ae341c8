import { aBrowser } from "../test/support/browser.ts";
import type { Answer, ServerDriver } from "../test/support/flow.ts";

/** One request with its answer. `status` is undefined when none came; times are milliseconds by a monotonic clock. */
export interface Entry {
  readonly kind: string;
  readonly fault: string;
  readonly began: number;
  readonly took: number;
  readonly status: number | undefined;
  readonly retryAfter: boolean;
  /** Whether it is an answer that the service may give to this request. */
  readonly expected: boolean;
}

/**
 * Asks the service whether something that was acknowledged still holds. Undefined where it could not say: 503, or no answer.
 */
export type Check = (front: ServerDriver) => Promise<boolean | undefined>;

/** An acknowledged effect that has to hold, whatever breaks, until the end of the run. */
export interface Effect {
  readonly kind: string;
  readonly holds: Check;
}

/** One race: many requests for a thing that only one of them may have. */
export interface Raced {
  readonly kind: string;
  /** Requests that were answered otherwise than by 503. */
  readonly answered: number;
  readonly lost: number;
  readonly winners: number;
  /** What the requests were answered, without what it gave. */
  readonly outcomes: readonly string[];
}

/** What the clients know when the load has ended, to be compared with the service. */
export interface Journal {
  readonly entries: Entry[];
  readonly effects: Effect[];
  readonly races: Raced[];
  /** Contradictions that the clients saw themselves. */
  readonly contradictions: string[];
  /** What happens to the service now. */
  fault: string;
  /**
   * Sends one request, to another front where the first refuses the connection. @param refusals statuses that are right besides those of
   * success and 503  @returns undefined when no answer came, so that its effect is unknown
   */
  ask(kind: string, request: (front: ServerDriver) => Promise<Answer>, refusals?: readonly number[]): Promise<Answer | undefined>;
}

/** Milliseconds after which a request counts as forgotten by the service. */
const PATIENCE = 60_000;

/** What work results in. @throws {Error} when it takes too long */
export async function inTime<Result>(work: Promise<Result>): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${PATIENCE / 1_000} seconds`)), PATIENCE);
  });
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

/** A refusal of the connection: the request has had no effect. */
const wasNotSent = (error: unknown): boolean => {
  const cause = error instanceof Error ? error.cause : undefined;
  return JSON.stringify(cause instanceof AggregateError ? cause.errors : cause)?.includes("ECONNREFUSED") === true;
};

export const isSuccess = (answer: Answer | undefined): answer is Answer =>
  answer !== undefined && answer.status >= 200 && answer.status < 400;
/** Whether the effect of a request is unknown to its sender. */
export const isLost = (answer: Answer | undefined): boolean => answer === undefined || answer.status >= 500;

export function newJournal(drivers: readonly ServerDriver[]): Journal {
  let turn = 0;
  const inTurn = (): readonly ServerDriver[] => {
    turn += 1;
    return drivers.map((_, n) => drivers[(turn + n) % drivers.length]).filter((one) => one !== undefined);
  };
  const journal: Journal = {
    entries: [],
    effects: [],
    races: [],
    contradictions: [],
    fault: "none",
    async ask(kind, request, refusals = []) {
      const [began, { fault }] = [performance.now(), journal];
      let answer: Answer | undefined;
      for (const front of inTurn()) {
        try {
          answer = await inTime(request(front));
          break;
        } catch (error) {
          if (!(error instanceof TypeError)) journal.contradictions.push(`${kind} during ${fault}: ${error}`); // fetch fails by a TypeError
          if (!wasNotSent(error)) break;
        }
      }
      const status = answer?.status;
      const expected = status === undefined || isSuccess(answer) || status === 503 || refusals.includes(status);
      const retryAfter = answer?.headers.has("retry-after") === true;
      journal.entries.push({ kind, fault, began, took: performance.now() - began, status, retryAfter, expected });
      return answer;
    },
  };
  return journal;
}

let addresses = 0;
/** Headers of a new address for each caller, because limits count by address. */
export const fromAnywhere = (): Record<string, string> => {
  addresses += 1;
  return { "x-forwarded-for": `10.${(addresses >> 16) & 255}.${(addresses >> 8) & 255}.${addresses & 255}` };
};

/** A JSON request of a stranger without cookies. */
export const api = async (front: ServerDriver, path: string, body: object): Promise<Answer> =>
  aBrowser(front.url, fromAnywhere()).json(path, body);
