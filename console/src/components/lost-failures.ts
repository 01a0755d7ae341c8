import { queryClient } from "../api/client.ts";
import { showFailure } from "./act.tsx";

/** From now on, reports the failure of a change whose screen the user has left, where nothing else would show it. */
export function reportLostFailures(): void {
  const shown = new WeakSet<object>();
  queryClient.getMutationCache().subscribe((event) => {
    if (event.type === "observerAdded") shown.add(event.mutation);
    if (event.type === "observerRemoved") shown.delete(event.mutation);
    if (event.type === "updated" && event.action.type === "error" && !shown.has(event.mutation)) showFailure(event.action.error);
  });
}
