/** Loads something at the first call and keeps it. The next call repeats a failed load. */
export function loadOnce<Loaded>(load: () => Promise<Loaded>): () => Promise<Loaded> {
  let loading: Promise<Loaded> | undefined;
  return () => {
    loading ??= load().catch((error: unknown) => {
      loading = undefined;
      throw error;
    });
    return loading;
  };
}

/** Runs something at most once at a time. Calls that come while it runs share its result. */
export function shared<Result>(work: () => Promise<Result>): () => Promise<Result> {
  let running: Promise<Result> | undefined;
  return () => {
    running ??= work().finally(() => {
      running = undefined;
    });
    return running;
  };
}

/**
 * Concurrent calls for one key share the outcome of the first, whatever their other arguments are.
 * @param admit called before the work begins; what it throws concerns only the call that would begin it
 */
export function singleFlight<T, Rest extends readonly unknown[] = []>(
  work: (key: string, ...rest: Rest) => Promise<T>,
  admit: (key: string, ...rest: Rest) => void = () => undefined,
): (key: string, ...rest: Rest) => Promise<T> {
  const inFlight = new Map<string, Promise<T>>();
  return async (key, ...rest) => {
    const running = inFlight.get(key);
    if (running !== undefined) return running;
    admit(key, ...rest);
    const started = work(key, ...rest).finally(() => inFlight.delete(key));
    inFlight.set(key, started);
    return started;
  };
}
