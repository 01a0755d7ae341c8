/**
 * Does a thing again and again, never twice at once, until it is told to stop. What it throws goes to `failed`; the next turn comes all the
 * same.
 */
export function periodically(seconds: number, work: () => Promise<unknown>, failed: (error: unknown) => void): { stop(): Promise<void> } {
  let underWay: Promise<void> | undefined;
  const turn = (): void => {
    underWay ??= work()
      .then(() => undefined, failed)
      .finally(() => {
        underWay = undefined;
      });
  };
  const timer = setInterval(turn, seconds * 1000);
  timer.unref();
  return {
    async stop() {
      clearInterval(timer);
      await underWay;
    },
  };
}
