import { hashSecret, type SecretHash } from "../../secret.ts";
import { expired, type KnownRequest, type PageKit } from "./kit.ts";

/** What became of an authorization request: the person's word, or that none was needed. */
export type Answer = "approve" | "deny" | typeof NOTHING_ASKED;
export const NOTHING_ASKED = "nothing_asked";

/** Seconds in which the same answer of the same person is taken for one that was sent twice, as by a double click. */
const SENT_TWICE = 30;

/** A request that waits, or that the person has just answered in the same way. */
export interface OpenRequest extends KnownRequest {
  /** Whether she has answered it so before: the answer is then given to the browser once more, and nothing else is done. */
  readonly again: boolean;
}

/** The id of a request that was answered: known to nobody but who knows the request, and good for that answer of that person alone. */
const answeredHash = (requestId: string, answer: Answer, userId: string): SecretHash => hashSecret(`${requestId} ${answer} ${userId}`);

/** The request for which an answer may be given, or given again. @throws {Refusal} invalid_request */
export async function openRequest(
  { ports: { pendingRequests } }: PageKit,
  requestId: string | undefined,
  answer: Answer,
  userId: string | undefined,
): Promise<OpenRequest> {
  if (requestId === undefined) throw expired();
  const waiting = await pendingRequests.byId(hashSecret(requestId));
  if (waiting) return { ...waiting, requestId, again: false };
  const answered = userId === undefined ? undefined : await pendingRequests.byId(answeredHash(requestId, answer, userId));
  if (!answered) throw expired();
  return { ...answered, requestId, again: true };
}

/**
 * Takes the request out: of several answers to it, one counts.
 * @returns whether the same person has given the same answer just before, so that there is nothing to do but to tell the browser
 * @throws {Refusal} invalid_request for every other answer that comes too late
 */
export async function answerRequest(
  { ports: { pendingRequests } }: PageKit,
  { requestId, again }: OpenRequest,
  answer: Answer,
  userId: string,
): Promise<boolean> {
  if (again) return true;
  const answered = answeredHash(requestId, answer, userId);
  if (await pendingRequests.take(hashSecret(requestId), answered, SENT_TWICE)) return false;
  if (!(await pendingRequests.byId(answered))) throw expired();
  return true;
}
