import type { RateLimiter, SignedIn } from "../accounts/ports.ts";
import { assertWithin } from "../accounts/rates.ts";
import { type Caller, whence } from "../accounts/sessions.ts";
import type { AuditEntry } from "../audit.ts";
import type { Clock, RandomBytes } from "../clock.ts";
import { isRefusal, Refusal } from "../errors.ts";
import { hashSecret, newSecret } from "../secret.ts";
import { presentationOf, type WalletAnswer, walletErrorReason } from "./answer.ts";
import { type Asker, decidePoll, isOpen, type LinkStatus, publicState } from "./link-state.ts";
import type { LinkedWallets, WalletIdentity, WalletLink, WalletLinks } from "./ports.ts";
import { nonceOf, stateOf, type WalletRequests } from "./request.ts";

/** Seconds from the start of a link to the last moment at which it can be completed. */
export const LINK_TTL = 300;

/** Each start keeps a row for an hour and an audit record for good; a person needs a few. */
export const LINK_USER_LIMIT = { points: 20, seconds: 15 * 60 } as const;
export const LINK_ADDRESS_LIMIT = { points: 60, seconds: 15 * 60 } as const;

export interface LinkingPorts {
  /** How many links a user, and a network address, may begin. */
  readonly limits: { readonly user: RateLimiter; readonly address: RateLimiter };
  readonly links: WalletLinks;
  readonly wallets: LinkedWallets;
  readonly requests: WalletRequests;
  /** Whom a presentation proves. @throws {Refusal} access_denied */
  readonly verify: (presentation: unknown, nonce: string) => Promise<WalletIdentity>;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
}

/** A link as its owner sees it; `expiresAt` in seconds since the epoch. */
export interface SeenLink extends LinkStatus {
  readonly sameDevice: boolean;
  readonly expiresAt: number;
}

/** A link that has begun; `expiresAt` in seconds since the epoch. */
export interface BegunLink {
  readonly handle: string;
  readonly invocationUri: string;
  readonly expiresAt: number;
}

const about = (event: AuditEntry["event"], userId: string, caller: Caller, reason?: string): AuditEntry => ({
  event,
  outcome: event === "wallet.refused" ? "failure" : "success",
  ...(reason !== undefined && { reason }),
  actor: { type: "user", id: userId },
  userId,
  ...whence(caller),
});

const noLink = () => new Refusal("not_found", "link_unknown", { description: "There is no such link." });

/**
 * Begins a link: one request to a wallet, for the signed-in person and by this session (specification §2.4).
 * @param sameDevice the wallet is on this very device: whoever completes the link has to bring back what the wallet is told
 * @throws {Refusal} too_many_requests
 */
export async function startLink(
  { user, session }: SignedIn,
  sameDevice: boolean,
  { links, requests, limits, randomBytes }: LinkingPorts,
  caller: Caller,
): Promise<BegunLink> {
  await assertWithin(limits.user, user.id);
  await assertWithin(limits.address, caller.limitKey);
  const handle = newSecret(randomBytes);
  const state = stateOf(handle);
  const expiresAt = await links.start(
    { handleHash: hashSecret(handle), stateHash: hashSecret(state), userId: user.id, sessionId: session.id, sameDevice, ttl: LINK_TTL },
    about("wallet.link_started", user.id, caller, sameDevice ? "same_device" : "cross_device"),
  );
  return { handle, invocationUri: await requests.invocationUri(state), expiresAt };
}

/**
 * The signed request that an invocation refers to. A wallet may fetch it as often as it likes, until it has answered.
 * @throws {Refusal} not_found
 */
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
 * Takes a wallet's answer: the first for its `state`, and no other. Whatever comes of it is told to the person's own session alone.
 * @returns what a wallet on the same device has to bring back to the browser
 * @throws {Refusal} invalid_request for a state that is unknown, used or out of time
 * @see OpenID4VP 1.0 §8.2 and "Session Fixation"
 */
export async function takeAnswer(
  state: string,
  answer: WalletAnswer,
  { links, verify, randomBytes }: LinkingPorts,
  caller: Caller,
): Promise<string | undefined> {
  const stateHash = hashSecret(state);
  const taken = await links.answer(stateHash);
  if (taken === undefined) throw new Refusal("invalid_request", "state_unknown", { description: "No request waits for this answer." });
  const { userId, sameDevice } = taken;
  const returned = sameDevice ? newSecret(randomBytes) : undefined;
  const returnHash = returned === undefined ? undefined : hashSecret(returned);
  try {
    await links.present(stateHash, await judged(answer, nonceOf(state), verify), returnHash);
  } catch (error) {
    if (!isRefusal(error) || error.code !== "access_denied") throw error;
    await links.reject(stateHash, error.reason, returnHash, about("wallet.refused", userId, caller, error.reason));
  }
  return returned;
}

async function judged(answer: WalletAnswer, nonce: string, verify: LinkingPorts["verify"]): Promise<WalletIdentity> {
  if (answer.kind === "error") throw new Refusal("access_denied", walletErrorReason(answer.error));
  return verify(presentationOf(answer.vpToken), nonce);
}

/**
 * Where a link stands; completes it when its wallet has answered well (specification §3).
 * @throws {Refusal} not_found, alike for an unknown link and for somebody else's
 */
export async function pollLink(handle: string, { user, session }: SignedIn, ports: LinkingPorts, caller: Caller): Promise<SeenLink> {
  const link = await ports.links.byHandle(hashSecret(handle));
  if (link === undefined || link.userId !== user.id) throw noLink();
  return seen(link, await advance(link, { sessionId: session.id, returnHash: undefined }, ports, caller));
}

/**
 * The same for a browser that comes back from a wallet on its own device.
 * @param returned what the wallet was told to bring back
 * @throws {Refusal} not_found, also for another session of the person
 */
export async function pollReturned(returned: string, { user, session }: SignedIn, ports: LinkingPorts, caller: Caller): Promise<SeenLink> {
  const returnHash = hashSecret(returned);
  const link = await ports.links.byReturn(returnHash);
  if (link === undefined || link.userId !== user.id || link.sessionId !== session.id) throw noLink();
  return seen(link, await advance(link, { sessionId: session.id, returnHash }, ports, caller));
}

/** The request of a link that is not decided, to be shown again. */
export const invocationOf = (handle: string, { requests }: LinkingPorts): Promise<string> => requests.invocationUri(stateOf(handle));

const seen = ({ sameDevice, expiresAt }: WalletLink, { status, reason }: LinkStatus): SeenLink => ({
  status,
  reason,
  sameDevice,
  expiresAt,
});

async function advance(link: WalletLink, asker: Asker, { links }: LinkingPorts, caller: Caller): Promise<LinkStatus> {
  const { handleHash, userId } = link;
  const decision = decidePoll(link, asker);
  if (decision.kind === "told") return decision;
  if (decision.kind === "expire") {
    await links.expire(handleHash, about("wallet.refused", userId, caller, "link_expired"));
    return { status: "expired", reason: "link_expired" };
  }
  const done = await links.complete(handleHash, (completion) =>
    completion.state === "linked" ? about("wallet.linked", userId, caller) : about("wallet.refused", userId, caller, completion.reason),
  );
  if (done !== undefined) return { status: done.state, reason: "reason" in done ? done.reason : undefined };
  // Somebody else has completed it just now, or its time has run out just now: a second look tells.
  const again = await links.byHandle(handleHash);
  if (again === undefined) throw noLink();
  return { status: again.over && isOpen(again.state) ? "expired" : publicState(again.state), reason: again.reason };
}

/** Ends the link. @throws {Refusal} not_found when there is none */
export async function unlinkWallet({ user }: SignedIn, { wallets }: LinkingPorts, caller: Caller): Promise<void> {
  if (!(await wallets.unlink(user.id, about("wallet.unlinked", user.id, caller)))) throw noLink();
}
