import type { ManagementRouter } from "@countersign/admin";
import { TRPCClientError, type TRPCLink } from "@trpc/client";
import { observable } from "@trpc/server/observable";
import type { Demand } from "../auth/code-flow.ts";
import { failureOf } from "./failure.ts";

/** The refusal of a call that needs a newer or stronger sign-in (RFC 9470). */
const REFUSED = "insufficient_user_authentication";

type Ask = (demand: Demand | undefined) => Promise<boolean>;
let ask: Ask = async () => false;
/** The sign-in under way, for which all calls wait that are refused until then. */
let asking: Promise<boolean> | undefined;

/** @param demand undefined: the session has ended, and any sign-in will do */
export function askOnce(demand?: Demand): Promise<boolean> {
  asking ??= ask(demand).finally(() => {
    asking = undefined;
  });
  return asking;
}

/** Sets how a user is asked to sign in again. */
export function onProofNeeded(by: Ask): void {
  ask = by;
}

/** What the new sign-in has to reach, from the server's refusal. */
const demandOf = (error: TRPCClientError<ManagementRouter>): Demand => {
  const { acrValues, maxAge } = (error.data ?? {}) as { readonly acrValues?: string; readonly maxAge?: number };
  return { ...(acrValues !== undefined && { acr_values: acrValues }), max_age: String(maxAge ?? 0) };
};

/** Sends a call again once its user has signed in again. Screens need not know which calls demand it. */
export const stepUpLink: TRPCLink<ManagementRouter> =
  () =>
  ({ op, next }) =>
    observable((observer) => {
      let subscription = next(op).subscribe({
        next: (value) => observer.next(value),
        complete: () => observer.complete(),
        error(error) {
          if (!(error instanceof TRPCClientError) || failureOf(error).code !== REFUSED) return observer.error(error);
          void askOnce(demandOf(error)).then((hasSignedIn) => {
            if (hasSignedIn) subscription = next(op).subscribe(observer);
            else observer.error(error);
          });
        },
      });
      return () => subscription.unsubscribe();
    });
