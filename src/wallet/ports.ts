import type { AuditEntry } from "../audit.ts";
import type { PublishedKey } from "../clients/key-set.ts";
import type { SecretHash } from "../secret.ts";

/** The person in the words of a credential's issuer. */
export interface WalletIdentity {
  readonly issuer: string;
  readonly subject: string;
}

/**
 * Where a link stands. `answered`: a wallet's answer is being judged; `presented`: it was good, and the person's browser has not yet
 * fetched it.
 */
export type LinkState = "pending" | "answered" | "presented" | "linked" | "conflict" | "expired" | "rejected";

/** A link on its way, as the store keeps it. */
export interface WalletLink {
  readonly handleHash: SecretHash;
  readonly userId: string;
  readonly sessionId: string;
  readonly state: LinkState;
  /** Why it failed, a fixed word. */
  readonly reason: string | undefined;
  /** Whether its time is over. Known by the database's clock. */
  readonly over: boolean;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
  /** The wallet is on the browser's own device, which has to bring back what the wallet was told. */
  readonly sameDevice: boolean;
  /** The hash of what the wallet was told to bring back; undefined before it was told. */
  readonly returnHash: SecretHash | undefined;
}

export type Completion =
  | { readonly state: "linked" }
  | { readonly state: "conflict"; readonly reason: "identity_of_another" | "account_has_wallet" };

/** Links on their way. Every move is one conditional statement, so that of any number of callers one makes it. */
export interface WalletLinks {
  /** @param link its life in seconds is `ttl` @returns when it expires, seconds since the epoch */
  start(
    link: {
      readonly handleHash: SecretHash;
      readonly stateHash: SecretHash;
      readonly userId: string;
      readonly sessionId: string;
      readonly sameDevice: boolean;
      readonly ttl: number;
    },
    audit: AuditEntry,
  ): Promise<number>;
  byHandle(handleHash: SecretHash): Promise<WalletLink | undefined>;
  /** The link whose wallet was told to bring this back. */
  byReturn(returnHash: SecretHash): Promise<WalletLink | undefined>;
  /** When a link that no wallet has answered expires, seconds since the epoch. */
  unanswered(stateHash: SecretHash): Promise<number | undefined>;
  /** Takes the one answer that a link gets: of several callers one. */
  answer(stateHash: SecretHash): Promise<{ readonly userId: string; readonly sameDevice: boolean } | undefined>;
  /** Keeps whom an answer proved. @param returnHash what a wallet on the same device brings back */
  present(stateHash: SecretHash, identity: WalletIdentity, returnHash: SecretHash | undefined): Promise<void>;
  reject(stateHash: SecretHash, reason: string, returnHash: SecretHash | undefined, audit: AuditEntry): Promise<void>;
  /** Writes the credential of a link that was presented, or finds that it cannot be. @returns undefined for all but one caller */
  complete(handleHash: SecretHash, audit: (completion: Completion) => AuditEntry): Promise<Completion | undefined>;
  expire(handleHash: SecretHash, audit: AuditEntry): Promise<void>;
}

/** A wallet that is linked. `linkedAt` in seconds since the epoch. */
export interface LinkedWallet {
  readonly issuer: string;
  readonly linkedAt: number;
}

export interface LinkedWallets {
  ofUser(userId: string): Promise<LinkedWallet | undefined>;
  /** @returns whether there was one */
  unlink(userId: string, audit: AuditEntry): Promise<boolean>;
}

/** Keys by which an issuer signs credentials. Asked for trusted issuers alone. */
export interface CredentialIssuerKeys {
  /** @throws {FetchFailure} */
  at(issuer: string): Promise<readonly PublishedKey[]>;
  /** The same, asked anew unless that was just done. @throws {FetchFailure} */
  renewed(issuer: string): Promise<readonly PublishedKey[]>;
}

/** What is taken from a wallet. */
export interface CredentialPolicy {
  readonly trustedIssuers: readonly string[];
  /** Values of `vct`. */
  readonly types: readonly string[];
  readonly subjectClaim: string;
  /** PEM bundle; undefined: a credential's own certificates count for nothing. */
  readonly issuerRoots: string | undefined;
  readonly status: "strict" | "lenient";
}
