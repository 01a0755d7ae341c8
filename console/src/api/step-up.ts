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
/** Sign-ins that were completed. */
let count = 0;

/** @param demand undefined: the session has ended, and any sign-in will do */
export function askOnce(demand?: Demand): Promise<boolean> {
  asking ??= ask(demand)
    .then((hasSignedIn) => {
      if (hasSignedIn) count += 1;
      return hasSignedIn;
    })
    .finally(() => {
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

/**
 * Sends a call again once its user has signed in again. Screens need not know which calls demand it. A sign-in since the call was sent, which
 * another call has asked for, may be enough: only one that was sent after it asks for its own.
 */
export const stepUpLink: TRPCLink<ManagementRouter> =
  () =>
  ({ op, next }) =>
    observable((observer) => {
      let hasAsked = false;
      const send = () => {
        const before = count;
        return next(op).subscribe({
          next: (value) => observer.next(value),
          complete: () => observer.complete(),
          error(error) {
            if (hasAsked || !(error instanceof TRPCClientError) || failureOf(error).code !== REFUSED) return observer.error(error);
            const isOfOther = asking !== undefined || count > before;
            hasAsked = !isOfOther;
            void (count > before ? Promise.resolve(true) : askOnce(demandOf(error))).then((hasSignedIn) => {
              if (hasSignedIn) subscription = send();
              else observer.error(error);
            });
          },
        });
      };
      let subscription = send();
      return () => subscription.unsubscribe();
    });
