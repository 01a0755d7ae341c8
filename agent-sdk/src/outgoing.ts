import { AgentError } from "./errors.ts";
import { addressOf, type Fetch, unreachable } from "./http.ts";

export type Outgoing = ReturnType<typeof outgoing>;

const REDIRECTS = [301, 302, 303, 307, 308];

/** What the caller of `fetch` has given, as a request that can be sent with different credentials. */
export function outgoing(fetch: Fetch, input: string | URL | Request, init: RequestInit = {}) {
  const given = input instanceof Request ? input : undefined;
  const url = given?.url ?? new URL(input as string | URL).href;
  const redirect = init.redirect ?? given?.redirect ?? "follow";
  const signal = init.signal ?? given?.signal ?? undefined;
  return {
    url,
    method: (init.method ?? given?.method ?? "GET").toUpperCase(),
    signal,
    /** Whether it can be sent more than once: its body is no stream. */
    isReplayable: init.body === undefined ? (given?.body ?? null) === null : isReplayable(init.body),
    /**
     * @param credentials header fields that take the place of those given
     * @throws {AgentError} server_unreachable; redirect_refused, as a token is for one address
     * @throws {TypeError} for what cannot be sent, as the global `fetch` does
     */
    async send(credentials: Readonly<Record<string, string>>): Promise<Response> {
      const headers = new Headers(init.headers ?? given?.headers);
      for (const [name, value] of Object.entries(credentials)) headers.set(name, value);
      const request = { ...init, headers, redirect: "manual" } as const;
      const response = await (given === undefined ? fetch(url, request) : fetch(new Request(given, request))).catch((cause: unknown) => {
        throw signal?.aborted || !isSound(url, request) ? cause : unreachable(url, cause);
      });
      const isRedirect = response.type === "opaqueredirect" || REDIRECTS.includes(response.status);
      if (!isRedirect || redirect === "manual") return response;
      await discard(response);
      throw new AgentError("redirect_refused", `${addressOf(url)} redirects, which no token follows`, { status: response.status });
    },
  };
}

/** Frees the connection of a response that is not read. It may have broken off already. */
export const discard = async (response: Response): Promise<void> => response.body?.cancel().catch(() => undefined);

const isReplayable = (body: RequestInit["body"]): boolean =>
  body === null ||
  typeof body === "string" ||
  body instanceof URLSearchParams ||
  body instanceof FormData ||
  body instanceof Blob ||
  body instanceof ArrayBuffer ||
  ArrayBuffer.isView(body);

/** Whether a request can be sent: no body with GET, and a stream with `duplex`, say. Its body, which may be used up, is represented by another. */
function isSound(url: string, { body, ...init }: RequestInit): boolean {
  try {
    return new Request(url, body ? { ...init, body: isReplayable(body) ? "a body" : new ReadableStream() } : init) !== undefined;
  } catch {
    return false;
  }
}

/** Waits for work that others share, no longer than the caller wants to. @throws the reason of the signal */
export function withSignal<T>(work: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return work;
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", abort));
  });
}
