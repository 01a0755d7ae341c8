import type { FrontContext } from "../http/routes.ts";
import { waitingHash } from "../oauth/pending-request.ts";
import { returnToOf } from "./account-frame.ts";
import type { PageKit } from "./kit.ts";
import { type ReturnTo, returnToMembers } from "./site.ts";

/** Seconds that a browser remembers what it began, and that an application's request waits for a person who has to read her mail. */
const PENDING_ACTION_TTL = 3600;

type PendingActionKit = Pick<PageKit, "cookies" | "site"> & { readonly ports: Pick<PageKit["ports"], "pendingRequests"> };

/**
 * This browser waits for a mail: it keeps to whom, and where the person was going, which the link in the mail does not say. Whoever opens
 * the link in another browser has nothing to be led to there.
 */
export async function beginPendingAction(
  { cookies, ports }: PendingActionKit,
  ctx: FrontContext,
  email: string,
  way: ReturnTo,
): Promise<void> {
  cookies.startPendingAction(
    ctx,
    new URLSearchParams([["email", email], ...returnToMembers(way).map((member) => [...member])]).toString(),
    PENDING_ACTION_TTL,
  );
  const browser = cookies.visitor(ctx);
  if (way.requestId !== undefined && browser !== undefined)
    await ports.pendingRequests.extend(waitingHash(way.requestId, browser), PENDING_ACTION_TTL);
}

/** To whom the mail went that this browser waits for. */
export const mailedTo = ({ cookies }: Pick<PendingActionKit, "cookies">, ctx: FrontContext): string | undefined =>
  cookies.pendingAction(ctx)?.get("email");

/** Where the person was going in this browser before she was sent to her mail, if she still can. */
export async function returnToStarted({ cookies, site, ports }: PendingActionKit, ctx: FrontContext): Promise<ReturnTo> {
  const pendingAction = cookies.pendingAction(ctx);
  const way = pendingAction === undefined ? {} : returnToOf(site, pendingAction);
  if (way.requestId === undefined) return way;
  const browser = cookies.visitor(ctx);
  const waits = browser !== undefined && (await ports.pendingRequests.byId(waitingHash(way.requestId, browser))) !== undefined;
  return waits ? way : {};
}
