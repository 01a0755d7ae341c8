/** Calls for one key that come while one is under way share its outcome; nothing is kept beyond that. */
export function singleFlight<T>(work: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const underWay = new Map<string, Promise<T>>();
  return (key) => {
    const known = underWay.get(key);
    if (known !== undefined) return known;
    const started = work(key).finally(() => underWay.delete(key));
    underWay.set(key, started);
    return started;
  };
}
