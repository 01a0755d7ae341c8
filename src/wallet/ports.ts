import type { OwnSession } from "../accounts/ports.ts";
import type { AuditEntry } from "../audit.ts";
import type { SecretHash } from "../random.ts";

/** A user as a credential's issuer identifies them. */
export type WalletIdentity = { readonly issuer: string; readonly subject: string };

/** `answered`: the wallet's response is being verified. `presented`: it was valid, and the browser has not completed the link yet. */
export type LinkState = "pending" | "answered" | "presented" | "linked" | "conflict" | "expired" | "rejected";

export interface WalletLink {
  readonly handleHash: SecretHash;
  readonly userId: string;
  readonly sessionId: string;
  readonly state: LinkState;
  /** Why it failed, a fixed word. */
  readonly reason: string | undefined;
  readonly expired: boolean;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** The wallet is on the same device as the browser, which must return the value that the wallet was sent. */
  readonly sameDevice: boolean;
  /** The hash of that value; undefined before the wallet's response. */
  readonly returnHash: SecretHash | undefined;
}

export type Completion =
  | { readonly state: "linked" }
  | { readonly state: "conflict"; readonly reason: "identity_of_another" | "account_has_wallet" };

/** Links in progress. Each transition is one conditional statement, so one of several concurrent callers makes it. */
export interface WalletLinks {
  /** @param link its `ttl` in seconds  @returns when it expires, seconds since the epoch */
  start(
    link: Pick<WalletLink, "handleHash" | "userId" | "sessionId" | "sameDevice"> & { readonly stateHash: SecretHash; readonly ttl: number },
    audit: AuditEntry,
  ): Promise<number>;
  byHandle(handleHash: SecretHash): Promise<WalletLink | undefined>;
  /** The link whose wallet was sent this value. */
  byReturn(returnHash: SecretHash): Promise<WalletLink | undefined>;
  /** When a link without a response expires, in seconds since the epoch; undefined for all others. */
  unanswered(stateHash: SecretHash): Promise<number | undefined>;
  /** Accepts the only response of a link; undefined for all but one caller. */
  answer(stateHash: SecretHash): Promise<{ readonly userId: string; readonly sameDevice: boolean } | undefined>;
  /** Stores the identity that a response proved. @param returnHash of the value that a wallet on the same device is sent */
  present(stateHash: SecretHash, identity: WalletIdentity, returnHash: SecretHash | undefined): Promise<void>;
  reject(stateHash: SecretHash, reason: string, returnHash: SecretHash | undefined, audit: AuditEntry): Promise<void>;
  /**
   * Links the presented credential, or finds a conflict.
   * @returns undefined for all but one caller
   * @throws {Refusal} login_required when the session that started it has ended
   */
  complete(handleHash: SecretHash, audit: (completion: Completion) => AuditEntry): Promise<Completion | undefined>;
  expire(handleHash: SecretHash, audit: AuditEntry): Promise<void>;
}

/** `linkedAt` in seconds since the epoch. */
export type LinkedWallet = { readonly issuer: string; readonly linkedAt: number };

export interface LinkedWallets {
  ofUser(userId: string): Promise<LinkedWallet | undefined>;
  /** @returns whether a wallet was linked  @throws {Refusal} login_required when the session has ended */
  unlink(session: OwnSession, audit: AuditEntry): Promise<boolean>;
}

export interface CredentialPolicy {
  readonly trustedIssuers: readonly string[];
  /** Values of `vct`. */
  readonly types: readonly string[];
  readonly subjectClaim: string;
  /** PEM bundle; undefined: certificates in a credential are ignored. */
  readonly issuerRoots: string | undefined;
  readonly status: "strict" | "lenient";
}
