import { csrfToken } from "../../accounts/sessions.ts";
import { hashSecret, type SecretHash } from "../../secret.ts";
import type { FrontContext } from "../http/routes.ts";
import { waitingHash } from "../oauth/pending-request.ts";
import { expired, type KnownRequest, type PageKit } from "./kit.ts";

/** What became of an authorization request: the person's word, or that none was needed. */
export type Answer = "approve" | "deny" | typeof NOTHING_ASKED;
export const NOTHING_ASKED = "nothing_asked";

/** Seconds in which the same answer of the same person is taken for one that was sent twice, as by a double click. */
const SENT_TWICE = 30;

/** A request that waits in this browser, or that the person has just answered in the same way. */
export interface OpenRequest extends KnownRequest {
  /** Whether she has answered it so before: the answer is then given to the browser once more, and nothing else is done. */
  readonly again: boolean;
  /** The secret of the browser that began it. */
  readonly browser: string;
}

/** The id of a request that was answered: known to nobody but who knows the request, and good for that answer of that person alone. */
const answeredHash = ({ requestId, browser }: Pick<OpenRequest, "requestId" | "browser">, answer: Answer, userId: string): SecretHash =>
  hashSecret(`${requestId} ${browser} ${answer} ${userId}`);

/**
 * Stands for the one answer that a request gets. Only this browser can name it, and it names the same one each time, so that every copy of
 * a form gets the same code.
 */
export const decisionSecret = ({ requestId, browser }: OpenRequest, userId: string): string =>
  csrfToken(browser, `decision ${requestId} ${userId}`);

/** The request for which an answer may be given, or given again. @throws {Refusal} invalid_request */
export async function openRequest(
  { ports: { pendingRequests }, cookies }: PageKit,
  ctx: FrontContext,
  requestId: string | undefined,
  answer: Answer,
  userId: string | undefined,
): Promise<OpenRequest> {
  const browser = cookies.visitor(ctx);
  if (requestId === undefined || browser === undefined) throw expired();
  const waiting = await pendingRequests.byId(waitingHash(requestId, browser));
  if (waiting) return { ...waiting, requestId, browser, again: false };
  const answered = userId === undefined ? undefined : await pendingRequests.byId(answeredHash({ requestId, browser }, answer, userId));
  if (!answered) throw expired();
  return { ...answered, requestId, browser, again: true };
}

/**
 * Takes the request out: of several answers to it, one counts.
 * @returns whether the same person has given the same answer just before, so that there is nothing to do but to tell the browser
 * @throws {Refusal} invalid_request for every other answer that comes too late
 */
export async function answerRequest(
  { ports: { pendingRequests } }: PageKit,
  open: OpenRequest,
  answer: Answer,
  userId: string,
): Promise<boolean> {
  if (open.again) return true;
  const answered = answeredHash(open, answer, userId);
  if (await pendingRequests.take(waitingHash(open.requestId, open.browser), answered, SENT_TWICE)) return false;
  if (!(await pendingRequests.byId(answered))) throw expired();
  return true;
}
