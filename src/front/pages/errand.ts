import { waitingHash } from "../request-id.ts";
import type { FrontContext } from "../routes.ts";
import type { PageKit } from "./kit.ts";
import { wayOf } from "./own-places.ts";
import { type Way, wayMembers } from "./way.ts";

/** Seconds that a browser remembers what it began, and that an application's request waits for a person who has to read her mail. */
const ERRAND_TTL = 3600;

type ErrandKit = Pick<PageKit, "cookies" | "site"> & { readonly ports: Pick<PageKit["ports"], "pendingRequests"> };

/**
 * This browser waits for a mail: it keeps to whom, and where the person was going, which the link in the mail does not say. Whoever opens
 * the link in another browser has nothing to be led to there.
 */
export async function beginErrand({ cookies, ports }: ErrandKit, ctx: FrontContext, email: string, way: Way): Promise<void> {
  cookies.startErrand(ctx, new URLSearchParams([["email", email], ...wayMembers(way).map((member) => [...member])]).toString(), ERRAND_TTL);
  const browser = cookies.visitor(ctx);
  if (way.requestId !== undefined && browser !== undefined)
    await ports.pendingRequests.extend(waitingHash(way.requestId, browser), ERRAND_TTL);
}

/** To whom the mail went that this browser waits for. */
export const mailedTo = ({ cookies }: Pick<ErrandKit, "cookies">, ctx: FrontContext): string | undefined =>
  cookies.errand(ctx)?.get("email");

/** Where the person was going in this browser before she was sent to her mail, if she still can. */
export async function wayBegun({ cookies, site, ports }: ErrandKit, ctx: FrontContext): Promise<Way> {
  const errand = cookies.errand(ctx);
  const way = errand === undefined ? {} : wayOf(site, errand);
  if (way.requestId === undefined) return way;
  const browser = cookies.visitor(ctx);
  const waits = browser !== undefined && (await ports.pendingRequests.byId(waitingHash(way.requestId, browser))) !== undefined;
  return waits ? way : {};
}
