import { assertWithin, auditOfUser, type Caller } from "../accounts/caller.ts";
import type { RateLimiter, SignedIn } from "../accounts/ports.ts";
import type { AuditEntry } from "../audit.ts";
import type { Clock } from "../clock.ts";
import { isRefusal, Refusal } from "../errors.ts";
import { hashSecret, newSecret, type RandomBytes, type SecretHash, sameHash } from "../random.ts";
import type { LinkedWallets, LinkState, WalletIdentity, WalletLink, WalletLinks } from "./ports.ts";
import { presentationOf, type WalletResponse, walletErrorReason } from "./query.ts";
import { nonceOf, stateOf, type WalletRequests } from "./request.ts";

/** Seconds from the start of a link to the last moment at which it can be completed. */
const LINK_TTL = 300;

/** Each start stores a row for an hour and an audit record for good. A user needs only a few. */
export const LINK_USER_LIMIT = { points: 20, seconds: 15 * 60 } as const;
export const LINK_ADDRESS_LIMIT = { points: 60, seconds: 15 * 60 } as const;

export interface LinkingPorts {
  /** How many links a user and a network address may start. */
  readonly limits: { readonly user: RateLimiter; readonly address: RateLimiter };
  readonly links: WalletLinks;
  readonly wallets: LinkedWallets;
  readonly requests: WalletRequests;
  /** Verifies a presentation. @throws {Refusal} access_denied */
  readonly verify: (presentation: unknown, nonce: string) => Promise<WalletIdentity>;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

/** A link as its owner sees it; `expiresAt` in seconds since the epoch. */
export interface SeenLink extends LinkStatus, Pick<WalletLink, "sameDevice" | "expiresAt"> {}

const refusedEntry = (userId: string, caller: Caller, reason: string): AuditEntry =>
  auditOfUser("wallet.refused", userId, caller, { outcome: "failure", reason });

const noLink = () => new Refusal("not_found", "link_unknown", { description: "There is no such link." });

/**
 * Starts a link: one request to a wallet, for the signed-in user and session. `expiresAt` is in seconds since the epoch.
 * @param sameDevice the wallet is on this device: completing the link then requires the value that the wallet was sent
 * @throws {Refusal} too_many_requests @see docs/protocol.md#wallet-linking
 */
export async function startLink(
  { user, session }: SignedIn,
  sameDevice: boolean,
  { links, requests, limits, randomBytes }: LinkingPorts,
  caller: Caller,
) {
  await assertWithin(limits.user, user.id);
  await assertWithin(limits.address, caller.limitKey);
  const handle = newSecret(randomBytes);
  const state = stateOf(handle);
  const expiresAt = await links.start(
    { handleHash: hashSecret(handle), stateHash: hashSecret(state), userId: user.id, sessionId: session.id, sameDevice, ttl: LINK_TTL },
    auditOfUser("wallet.link_started", user.id, caller, { reason: sameDevice ? "same_device" : "cross_device" }),
  );
  return { handle, invocationUri: await requests.invocationUri(state), expiresAt };
}

/** The request that an invocation URI refers to. A wallet may fetch it until it has responded. @throws {Refusal} not_found */
export async function signedRequest(
  state: string,
  walletNonce: string | undefined,
  { links, requests, clock }: LinkingPorts,
): Promise<string> {
  const expiresAt = await links.unanswered(hashSecret(state));
  const request = expiresAt === undefined ? undefined : await requests.requestObject(state, { from: clock(), to: expiresAt }, walletNonce);
  if (request === undefined) throw noLink();
  return request;
}

/**
 * Accepts a wallet's response, once for each `state`. Only the user's session learns the outcome.
 * @returns the value that a wallet on the same device must return to the browser
 * @throws {Refusal} invalid_request for a state that is unknown, used or out of time
 * @see OpenID4VP 1.0 §8.2 and "Session Fixation"
 */
export async function takeResponse(
  state: string,
  response: WalletResponse,
  { links, verify, randomBytes }: LinkingPorts,
  caller: Caller,
): Promise<string | undefined> {
  const stateHash = hashSecret(state);
  const waiting = await links.answer(stateHash);
  if (waiting === undefined)
    throw new Refusal("invalid_request", "state_unknown", { description: "No request is waiting for this response." });
  const { userId, sameDevice } = waiting;
  const returned = sameDevice ? newSecret(randomBytes) : undefined;
  const returnHash = returned === undefined ? undefined : hashSecret(returned);
  try {
    await links.present(stateHash, await verifiedIdentity(response, nonceOf(state), verify), returnHash);
  } catch (error) {
    if (!isRefusal(error) || error.code !== "access_denied") throw error;
    await links.reject(stateHash, error.reason, returnHash, refusedEntry(userId, caller, error.reason));
  }
  return returned;
}

async function verifiedIdentity(response: WalletResponse, nonce: string, verify: LinkingPorts["verify"]): Promise<WalletIdentity> {
  if (response.kind === "error") throw new Refusal("access_denied", walletErrorReason(response.error));
  return verify(presentationOf(response.vpToken), nonce);
}

/** The status of a link, completed if its wallet presented a valid credential. @throws {Refusal} not_found, also for another user's */
export async function pollLink(handle: string, { user, session }: SignedIn, ports: LinkingPorts, caller: Caller): Promise<SeenLink> {
  const link = await ports.links.byHandle(hashSecret(handle));
  if (link === undefined || link.userId !== user.id) throw noLink();
  return seen(link, await advance(link, { sessionId: session.id, returnHash: undefined }, ports, caller));
}

/** The same for a browser that returns with the value that its wallet was sent. @throws {Refusal} not_found, also in another session */
export async function pollReturned(returned: string, { user, session }: SignedIn, ports: LinkingPorts, caller: Caller): Promise<SeenLink> {
  const returnHash = hashSecret(returned);
  const link = await ports.links.byReturn(returnHash);
  if (link === undefined || link.userId !== user.id || link.sessionId !== session.id) throw noLink();
  return seen(link, await advance(link, { sessionId: session.id, returnHash }, ports, caller));
}

/** The request of an open link, to show it again. */
export const invocationOf = (handle: string, { requests }: LinkingPorts): Promise<string> => requests.invocationUri(stateOf(handle));

const seen = ({ sameDevice, expiresAt }: WalletLink, { status, reason }: LinkStatus): SeenLink => ({
  status,
  reason,
  sameDevice,
  expiresAt,
});

async function advance(link: WalletLink, poller: Poller, { links }: LinkingPorts, caller: Caller): Promise<LinkStatus> {
  const { handleHash, userId } = link;
  const decision = decidePoll(link, poller);
  if (decision.kind === "status") return decision;
  if (decision.kind === "expire") {
    await links.expire(handleHash, refusedEntry(userId, caller, "link_expired"));
    return { status: "expired", reason: "link_expired" };
  }
  const done = await links.complete(handleHash, (completion) =>
    completion.state === "linked" ? auditOfUser("wallet.linked", userId, caller) : refusedEntry(userId, caller, completion.reason),
  );
  if (done !== undefined) return { status: done.state, reason: "reason" in done ? done.reason : undefined };
  // Another call completed it, or it expired, since it was read.
  const current = await links.byHandle(handleHash);
  if (current === undefined) throw noLink();
  const { state, expired, reason } = current;
  return { status: isOpen(state) ? (expired ? "expired" : "pending") : state, reason };
}

/** Removes the linked wallet. @throws {Refusal} not_found when there is none */
export async function unlinkWallet({ user, session }: SignedIn, { wallets }: LinkingPorts, caller: Caller): Promise<void> {
  if (!(await wallets.unlink(session, auditOfUser("wallet.unlinked", user.id, caller)))) throw noLink();
}

/** The states that the API shows. Every state between start and completion is `pending`. */
export type PublicState = "pending" | "linked" | "conflict" | "expired" | "rejected";

/** `reason` is a fixed word. */
export type LinkStatus = { readonly status: PublicState; readonly reason: string | undefined };

/** The session that polls a link, with the value that a wallet on the same device returned to it. */
export type Poller = { readonly sessionId: string; readonly returnHash: SecretHash | undefined };

export type PollDecision = ({ readonly kind: "status" } & LinkStatus) | { readonly kind: "complete" } | { readonly kind: "expire" };

const OPEN: ReadonlySet<LinkState> = new Set(["pending", "answered", "presented"]);

const isOpen = (state: LinkState): state is "pending" | "answered" | "presented" => OPEN.has(state);

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
