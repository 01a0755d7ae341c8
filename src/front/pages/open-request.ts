import { csrfToken } from "../../accounts/sessions.ts";
import { hashSecret, type SecretHash } from "../../random.ts";
import type { FrontContext } from "../http/routes.ts";
import { type KnownRequest, waitingHash } from "../oauth/pending-request.ts";
import { expired, type PageKit } from "./kit.ts";

/** How an authorization request was answered: the user's decision, or that none was needed. */
export type Answer = "approve" | "deny" | typeof NOTHING_ASKED;
export const NOTHING_ASKED = "nothing_asked";

/** Seconds in which the same answer of the same user counts as sent twice, as by a double click. */
const SENT_TWICE = 30;

/** A request that waits in this browser, or that the user has just answered in the same way. */
export interface OpenRequest extends KnownRequest {
  /** Whether it was just answered so: then the browser gets the same response again, and nothing else happens. */
  readonly again: boolean;
  /** The secret of the browser that began it. */
  readonly browser: string;
}

/** The key of an answered request. It cannot be guessed without the request, and is specific to the answer and the user. */
const answeredHash = ({ requestId, browser }: Pick<OpenRequest, "requestId" | "browser">, answer: Answer, userId: string): SecretHash =>
  hashSecret(`${requestId} ${browser} ${answer} ${userId}`);

/** Stands for the one decision on a request. Only this browser can derive it, and always alike, so every copy of a form gets one code. */
export const decisionSecret = ({ requestId, browser }: OpenRequest, userId: string): string =>
  csrfToken(browser, `decision ${requestId} ${userId}`);

/** The request that may be answered, or answered again. @throws {Refusal} invalid_request */
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
 * Answers the request: of several answers, one counts. @throws {Refusal} invalid_request for a different late answer
 * @returns whether the same user has just given the same answer, so that only the response is left to send
 */
export async function answerRequest({ ports: { pendingRequests } }: PageKit, open: OpenRequest, answer: Answer, userId: string) {
  if (open.again) return true;
  const answered = answeredHash(open, answer, userId);
  if (await pendingRequests.take(waitingHash(open.requestId, open.browser), answered, SENT_TWICE)) return false;
  if (!(await pendingRequests.byId(answered))) throw expired();
  return true;
}
