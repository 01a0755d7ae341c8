import { type SecretHash, sameHash } from "../secret.ts";
import type { LinkState, WalletLink } from "./ports.ts";

/** The states that are told (specification §2.4). Those that lie between asking and completing are all `pending`. */
export type PublicState = "pending" | "linked" | "conflict" | "expired" | "rejected";

export interface LinkStatus {
  readonly status: PublicState;
  /** A fixed word. */
  readonly reason: string | undefined;
}

/** Who looks at a link: a session, and what it brings back from a wallet on its device. */
export interface Asker {
  readonly sessionId: string;
  readonly returnHash: SecretHash | undefined;
}

export type PollDecision = ({ readonly kind: "told" } & LinkStatus) | { readonly kind: "complete" } | { readonly kind: "expire" };

const OPEN: ReadonlySet<LinkState> = new Set(["pending", "answered", "presented"]);

/** Whether nothing has been decided yet. */
export const isOpen = (state: LinkState): state is "pending" | "answered" | "presented" => OPEN.has(state);

export const publicState = (state: LinkState): PublicState => (isOpen(state) ? "pending" : state);

/**
 * What a look at a link does. Pure. A link that is decided stays so; one whose time is over expires whoever looks; what a wallet presented
 * is completed by the session that began the link, and after a wallet on the same device only by who brings back what that was told.
 * @see specification §3 Wallet link
 */
export function decidePoll({ state, reason, over, sessionId, sameDevice, returnHash }: WalletLink, asker: Asker): PollDecision {
  if (!isOpen(state)) return { kind: "told", status: state, reason };
  if (over) return { kind: "expire" };
  const brought = !sameDevice || (returnHash !== undefined && asker.returnHash !== undefined && sameHash(returnHash, asker.returnHash));
  return state === "presented" && sessionId === asker.sessionId && brought
    ? { kind: "complete" }
    : { kind: "told", status: "pending", reason: undefined };
}
