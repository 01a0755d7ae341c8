import { type SecretHash, sameHash } from "../random.ts";
import type { LinkState, WalletLink } from "./ports.ts";

/** The states that the API shows. Every state between start and completion is `pending`. */
export type PublicState = "pending" | "linked" | "conflict" | "expired" | "rejected";

/** `reason` is a fixed word. */
export type LinkStatus = { readonly status: PublicState; readonly reason: string | undefined };

/** The session that polls a link, with the value that a wallet on the same device returned to it. */
export type Poller = { readonly sessionId: string; readonly returnHash: SecretHash | undefined };

export type PollDecision = ({ readonly kind: "status" } & LinkStatus) | { readonly kind: "complete" } | { readonly kind: "expire" };

const OPEN: ReadonlySet<LinkState> = new Set(["pending", "answered", "presented"]);

export const isOpen = (state: LinkState): state is "pending" | "answered" | "presented" => OPEN.has(state);

export const publicState = (state: LinkState): PublicState => (isOpen(state) ? "pending" : state);

/**
 * What a poll of a link does. Pure. Only the session that started a link completes it; with a wallet on the same device, it also needs the
 * value that this wallet was sent. @see docs/protocol.md#wallet-linking
 */
export function decidePoll({ state, reason, expired, sessionId, sameDevice, returnHash }: WalletLink, poller: Poller): PollDecision {
  if (!isOpen(state)) return { kind: "status", status: state, reason };
  if (expired) return { kind: "expire" };
  const isReturned =
    !sameDevice || (returnHash !== undefined && poller.returnHash !== undefined && sameHash(returnHash, poller.returnHash));
  return state === "presented" && sessionId === poller.sessionId && isReturned
    ? { kind: "complete" }
    : { kind: "status", status: "pending", reason: undefined };
}
