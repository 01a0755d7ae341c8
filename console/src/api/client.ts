import type { ManagementInputs, ManagementOutputs, ManagementRouter } from "@countersign/admin";
import { notifications } from "@mantine/notifications";
import { MutationCache, notifyManager, QueryCache, QueryClient, type QueryFilters } from "@tanstack/react-query";
import { createTRPCClient, httpBatchLink } from "@trpc/client";
import { createTRPCOptionsProxy } from "@trpc/tanstack-react-query";
import { accessToken, forgetForm, forgetToken } from "../auth/session.ts";
import { BASE, patience } from "../environment.ts";
import { T } from "../texts/texts.ts";
import { noteTime } from "./clock.ts";
import { failureOf } from "./failure.ts";
import { stepUpLink } from "./step-up.ts";

export type { ManagementInputs, ManagementOutputs };

/** Calls that travel together at most; the server takes no more. */
const BATCH = 20;

/** A token can end before it expires: the call is sent once more with a new one. */
async function fetchSignedIn(input: RequestInfo, init: RequestInit): Promise<Response> {
  const response = await patientFetch(input, init);
  const isOfToken = response.headers.get("www-authenticate")?.includes("invalid_token") ?? false;
  if (response.status !== 401 || !isOfToken) return response;
  forgetToken();
  return patientFetch(input, { ...init, headers: { ...(init.headers as Record<string, string>), ...(await authorized()) } });
}

async function patientFetch(input: RequestInfo, init: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, signal: AbortSignal.any([patience(), ...(init.signal ? [init.signal] : [])]) });
  noteTime(response);
  return response;
}

const authorized = async () => ({ authorization: `Bearer ${await accessToken()}` });

export const api = createTRPCClient<ManagementRouter>({
  links: [
    stepUpLink,
    httpBatchLink({
      url: `${BASE}/trpc`,
      maxItems: BATCH,
      maxURLLength: 8_000,
      headers: authorized,
      fetch: (input, init) => fetchSignedIn(input as RequestInfo, init as RequestInit),
    }),
  ],
});

/** What the server refused stays refused; what it could not answer is asked again. */
const isWorthRetrying = (failures: number, error: unknown): boolean => {
  const status = failureOf(error).status ?? 0;
  return failures < 2 && (status === 0 || status >= 500);
};

/** A screen stays when it cannot be read again: what was typed there must not be lost. */
const queryCache = new QueryCache({
  onError(error, { state, queryKey }) {
    const ofViewer = trpc.viewer.get.queryKey();
    // What the viewer may do has changed since it was read.
    if (failureOf(error).status === 403 && String(queryKey) !== String(ofViewer))
      void queryClient.invalidateQueries({ queryKey: ofViewer }, { cancelRefetch: false }); // once for all calls of a batch
    if (state.data === undefined || failureOf(error).status === 404) return;
    notifications.show({ id: "stale", message: T.failure.stale, color: "red" });
  },
});

/** A change that failed may have been made, and its answer lost; or somebody else has changed the record before. */
const mutationCache = new MutationCache({ onError: (error) => readAgain(error), onSuccess: forgetForm });

/**
 * Reads again what the screen shows. What was being read for the first time may be from before a change, and the library would be
 * content with that answer, so it is asked for once more. A screen that is opened after the change needs `invalidateQueries` alone.
 */
export function refresh(filters: Pick<QueryFilters, "queryKey"> = {}): Promise<void> {
  void queryClient.cancelQueries({ ...filters, predicate: ({ state }) => state.data === undefined });
  return queryClient.invalidateQueries(filters);
}

let reading: Promise<void> = Promise.resolve();

/** Reads again what the screen shows, after an act. @param error why it failed; without a session, reading would only ask for one again */
export function readAgain(error?: unknown): void {
  if (failureOf(error).status !== 401) reading = refresh();
}

/** Resolves once the screen shows what was read after the last act, or why it cannot be read. */
export const wasReadAgain = (): Promise<void> => reading;

/** What was read again is on the screen when code that waited for it goes on: a task of its own would come later, and something could be typed before it. */
notifyManager.setScheduler(queueMicrotask);

export const queryClient: QueryClient = new QueryClient({
  queryCache,
  mutationCache,
  defaultOptions: {
    // Also while the browser takes itself for offline: calls would wait without a message, and a change would be made later, unasked.
    queries: { networkMode: "always", retry: isWorthRetrying, staleTime: 10_000, refetchOnWindowFocus: true, refetchOnReconnect: true },
    mutations: { networkMode: "always" },
  },
});

/** The API as options for TanStack Query: `useQuery(trpc.account.get.queryOptions())`. */
export const trpc = createTRPCOptionsProxy<ManagementRouter>({ client: api, queryClient });
