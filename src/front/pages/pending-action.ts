import type { FrontContext } from "../http/routes.ts";
import { waitingHash } from "../oauth/pending-request.ts";
import { returnToOf } from "./account-page.ts";
import type { PageKit } from "./kit.ts";
import { type ReturnTo, returnToMembers } from "./site.ts";

/** Seconds that a browser remembers a pending action, and that an application's request waits for a user who has to read a mail. */
const PENDING_ACTION_TTL = 3600;

/**
 * Remembers, in this browser, the address of a mail and where the user was going, which the link in the mail does not contain. Another
 * browser that opens the link knows neither.
 */
export async function beginPendingAction({ cookies, ports }: PageKit, ctx: FrontContext, email: string, returnTo: ReturnTo): Promise<void> {
  const action = new URLSearchParams([["email", email], ...returnToMembers(returnTo).map((member) => [...member])]);
  cookies.startPendingAction(ctx, action.toString(), PENDING_ACTION_TTL);
  const browser = cookies.visitor(ctx);
  if (returnTo.requestId !== undefined && browser !== undefined)
    await ports.pendingRequests.extend(waitingHash(returnTo.requestId, browser), PENDING_ACTION_TTL);
}

/** The address of the mail that this browser waits for. */
export const mailedTo = ({ cookies }: PageKit, ctx: FrontContext): string | undefined => cookies.pendingAction(ctx)?.get("email");

/** Where the user was going in this browser before the mail, if the request still waits. */
export async function returnToStarted({ cookies, site, ports }: PageKit, ctx: FrontContext): Promise<ReturnTo> {
  const pendingAction = cookies.pendingAction(ctx);
  const returnTo = pendingAction === undefined ? {} : returnToOf(site, pendingAction);
  if (returnTo.requestId === undefined) return returnTo;
  const browser = cookies.visitor(ctx);
  const waits = browser !== undefined && (await ports.pendingRequests.byId(waitingHash(returnTo.requestId, browser))) !== undefined;
  return waits ? returnTo : {};
}
