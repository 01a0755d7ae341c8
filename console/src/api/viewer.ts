import { useQuery } from "@tanstack/react-query";
import { trpc } from "./client.ts";

const MAY_NOTHING = { operate: false, createClients: false, inviteUsers: false };

/** Who uses the console, and what the server lets them do. Screens show what it allows; each call is decided by the server again. */
export function useViewer() {
  // Not again for each part of a screen that needs it, such as the note of its own failure.
  const { data, error, refetch } = useQuery({ ...trpc.viewer.get.queryOptions(), staleTime: 300_000, retryOnMount: false });
  const can = data?.can ?? MAY_NOTHING;
  return { isKnown: data !== undefined, email: data?.email ?? "", isOperator: can.operate, can, error, refetch };
}
