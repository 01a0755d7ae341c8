/** Calls for one key that come while one is under way share its outcome, whatever else they bring; nothing is kept beyond that. */
export function singleFlight<T, Brought extends readonly unknown[] = []>(
  work: (key: string, ...brought: Brought) => Promise<T>,
): (key: string, ...brought: Brought) => Promise<T> {
  const inFlight = new Map<string, Promise<T>>();
  return (key, ...brought) => {
    const known = inFlight.get(key);
    if (known !== undefined) return known;
    const started = work(key, ...brought).finally(() => inFlight.delete(key));
    inFlight.set(key, started);
    return started;
  };
}
