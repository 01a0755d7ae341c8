import { notAnswered } from "./failure.ts";

/** Milliseconds for a request and its answer: less than the lock of a refresh lives. The server gives up after 15 seconds. */
const PATIENCE = 20_000;

/**
 * `fetch` that follows no redirect and does not wait forever.
 * @param patience milliseconds for the whole answer
 * @throws {DOMException} TimeoutError when it takes longer
 */
export const request = (url: string | URL, init: RequestInit = {}, patience = PATIENCE): Promise<Response> =>
  fetch(url, { redirect: "error", signal: AbortSignal.timeout(patience), ...init });

/** @throws {CommandFailure} for a server that may answer later: it is overloaded, unavailable or limits its callers */
export function assertAnswers({ status }: Response): void {
  if (status === 429 || status >= 500) throw notAnswered(status);
}
