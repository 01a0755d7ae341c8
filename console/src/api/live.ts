import type { ManagementRouter } from "@countersign/admin";
import { createTRPCClient, httpSubscriptionLink } from "@trpc/client";
import { EventSource } from "eventsource";
import { accessToken } from "../auth/session.ts";
import { BASE } from "../environment.ts";

/** Streams of the API. Each connection is made with a token that is valid then; the browser's own EventSource could send none. */
export const live = createTRPCClient<ManagementRouter>({
  links: [
    httpSubscriptionLink({
      url: `${BASE}/trpc`,
      EventSource,
      eventSourceOptions: {
        fetch: async (input, init) =>
          fetch(input, { ...init, headers: { ...init.headers, authorization: `Bearer ${await accessToken()}` } }),
      },
    }),
  ],
});
