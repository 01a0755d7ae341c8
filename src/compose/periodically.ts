/**
 * Does a thing again and again, never twice at once, until it is stopped. What it throws goes to `failed`; the next turn comes all the
 * same.
 * @param work its signal is aborted by stop(), which waits for the turn under way
 */
export function periodically(
  seconds: number,
  work: (signal: AbortSignal) => Promise<unknown>,
  failed: (error: unknown) => void,
): { stop(): Promise<void> } {
  const stopping = new AbortController();
  let inFlight: Promise<void> | undefined;
  const turn = (): void => {
    inFlight ??= work(stopping.signal)
      .then(() => undefined, failed)
      .finally(() => {
        inFlight = undefined;
      });
  };
  const timer = setInterval(turn, seconds * 1000);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      stopping.abort();
      await inFlight;
    },
  };
}
