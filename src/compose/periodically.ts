import { shared } from "../load-once.ts";

/** Logs an error of background work, and counts it where the work has a name. @param work as log and metrics name it */
export type Failed = (error: unknown, work?: string) => void;

/**
 * Repeats work, never twice at once, until it is stopped. Errors go to `failed`, and the next turn follows.
 * @param work its signal is aborted at the end  @param name of the work
 * @returns a function that stops it, and waits for the running turn
 */
export function periodically(
  seconds: number,
  work: (signal: AbortSignal) => Promise<unknown>,
  failed: Failed,
  name?: string,
): () => Promise<void> {
  const stopping = new AbortController();
  let latest: Promise<unknown> | undefined;
  const turn = shared(() => work(stopping.signal).catch((error: unknown) => failed(error, name)));
  const timer = setInterval(() => {
    latest = turn();
  }, seconds * 1000);
  timer.unref();
  return async () => {
    clearInterval(timer);
    stopping.abort();
    await latest;
  };
}
