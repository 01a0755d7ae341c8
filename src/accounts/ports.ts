import type { AuditEntry } from "../audit.ts";
import type { Page, Part } from "../paging.ts";
import type { SecretHash } from "../random.ts";
import type { Device } from "./device.ts";

/** What a user may do besides using applications (docs/protocol.md#roles), the least first. */
export const ROLES = ["user", "developer", "operator"] as const;
export type Role = (typeof ROLES)[number];

/** An account (docs/protocol.md#accounts). Times are seconds since the epoch, with their fraction. */
export interface User {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly realmId: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly role: Role;
  readonly enabled: boolean;
  readonly createdAt: number;
  readonly updatedAt: number | null;
}

/** A message without its recipient. */
export type MailMessage = { readonly subject: string; readonly text: string; readonly html: string };

/** A message that waits in the outbox until a mail server accepts it. */
export type Mail = MailMessage & { readonly to: string };

export interface QueuedMail extends Mail {
  readonly id: string;
  /** Failed attempts so far. */
  readonly attempts: number;
  /** Seconds until the message is pointless: its link has expired, or it has waited for a day. */
  readonly left: number;
}

/** Messages that wait for a mail server. They are written in the transaction that caused them. */
export interface Outbox {
  /** Claims up to `limit` messages that are due. Leased for `lease` seconds, then claimable again. */
  claim(limit: number, lease: number): Promise<readonly QueuedMail[]>;
  /** Deletes a message that the mail server has, with the link in it. */
  delivered(id: string): Promise<void>;
  /** Another attempt failed; the message is due again in `afterSeconds`. */
  postponed(id: string, afterSeconds: number): Promise<void>;
  /** Gives up: deletes the row. */
  abandoned(id: string): Promise<void>;
}

/** `passwordHash` is an encoded argon2id hash. */
export type NewUser = Omit<User, "enabled" | "createdAt" | "updatedAt"> & { readonly passwordHash: string };

/** A single-use token that proves an e-mail address. `ttl` in seconds, counted by the database's clock. */
export type NewVerification = { readonly tokenHash: SecretHash; readonly ttl: number };

export interface Account {
  readonly user: User;
  /** Encoded argon2id hash; null without a password. */
  readonly passwordHash: string | null;
  /** Increases with every new password. */
  readonly generation: number;
  /** Whether a password alone does not sign the user in. */
  readonly hasSecondFactor: boolean;
}

export interface Users {
  /** Stores user, password, verification token, mail and audit record in one transaction. @returns undefined for a taken address */
  register(user: NewUser, verification: NewVerification, mail: Mail, audit: AuditEntry): Promise<User | undefined>;
  byId(id: string): Promise<User | undefined>;
  /** Addresses are compared case-insensitively. */
  byEmail(email: string): Promise<Account | undefined>;
  /** Adds a verification token for an unverified address and queues its mail in the place of any waiting one, in one transaction. */
  issueVerification(userId: string, verification: NewVerification, mail: Mail): Promise<void>;
  /** Consumes the token, marks the address as verified and records it, atomically. @returns undefined for an unknown, used or expired token */
  verifyEmail(tokenHash: SecretHash, origin: Pick<AuditEntry, "address" | "requestId">): Promise<User | undefined>;
  /** The user whose address a token has verified. @returns undefined for an unknown, unused or expired token */
  verifiedBy(tokenHash: SecretHash): Promise<User | undefined>;
  /** Replaces a hash by another one of the same password. A password that was changed since stays. */
  replacePasswordHash(userId: string, replaced: string, passwordHash: string): Promise<void>;
  rename(userId: string, name: Pick<User, "firstName" | "lastName">, audit: AuditEntry): Promise<void>;
}

/** Failures that a budget allows, and the seconds in which they count. */
export type FailureBudget = { readonly limit: number; readonly window: number };

/** The outcome of an attempt to prove a password. `none`: it ended before the password was compared. */
export type AttemptVerdict = "right" | "wrong" | "none";

/** The budgets in which an attempt is reserved: of account and address (`pair`, if that succeeded), and of the address alone. */
export type ReservedAttempt = { readonly pair: SecretHash | undefined; readonly address: SecretHash };

/**
 * Budgets of failed attempts. An attempt is reserved before the hash is computed, so that parallel guesses cannot exceed the limit.
 * Reservations that are not settled expire after half a minute.
 */
export interface SignInFailures {
  /** Reserves one attempt. @returns 0 when the attempt may proceed, else the seconds to wait */
  reserve(key: SecretHash, budget: FailureBudget): Promise<number>;
  /** Settles an attempt. A wrong password counts in both budgets; a right one clears the pair's. @param window in seconds */
  settle(attempt: ReservedAttempt, verdict: AttemptVerdict, window: number): Promise<void>;
  clear(pair: SecretHash): Promise<void>;
  /** Counts a failure in a budget that is not reserved. @param window in seconds */
  count(key: SecretHash, window: number): Promise<void>;
  /** Failures in the running window. */
  failures(key: SecretHash): Promise<number>;
}

/** What a right code of a second factor uses up: a time step of the app with all before it, or a recovery code. */
export type FactorUse =
  | { readonly kind: "otp"; readonly step: number }
  | { readonly kind: "recovery"; readonly code: SecretHash; readonly message: MailMessage; readonly audit: AuditEntry };

/** An identity of another provider by which a user signed in, and the session there. */
export interface UpstreamProof {
  readonly issuer: string;
  readonly subject: string;
  readonly sid?: string | undefined;
}

export interface NewSessionRecord {
  readonly id: string;
  readonly hash: SecretHash;
  readonly userId: string;
  /** Seconds. */
  readonly ttl: number;
  /** Device and network address where it is started. */
  readonly place?: Device & { readonly address: string };
  /** Hash of the session cookie in the request. That session ends in the same statement, or goes on if it is of the same user. */
  readonly replaces?: SecretHash;
  /** For a proof that is not enough without the session before it: that one goes on, and where it has ended, none starts. */
  readonly raises?: boolean;
  /** The key of a sign-in that waited for its second factor. It is complete then, and where another call has completed it, no session starts. */
  readonly half?: SecretHash | undefined;
  /** What the code of the second factor uses up in the same transaction: it is used only if the session starts. */
  readonly factor?: FactorUse | undefined;
  /** Of the proved password: no session starts when it has been changed since. Absent for other proofs. */
  readonly generation?: number | undefined;
  /** The id of the proved passkey: no session starts when it has been removed since. Absent for other proofs. */
  readonly passkey?: string | undefined;
  /**
   * What another provider has proved: the session ends with that provider's, and none starts when the identity has been unlinked or its
   * connection disabled since. Absent for other proofs.
   */
  readonly upstream?: UpstreamProof | undefined;
  /** How the user proved who they are; a password if absent. */
  readonly acr?: string;
  readonly amr?: readonly string[];
  /** When they did, in seconds since the epoch; now if absent. */
  readonly provedAt?: number;
  /** The proof is that of another session, which was judged there. */
  readonly carried?: true;
  /** For a program, which cannot raise the session later: none starts that is weaker than the user's realm demands. */
  readonly asDemanded?: true;
}

/** A live session as its user sees it. Times in seconds since the epoch; `lastSeenAt` is accurate to some minutes. */
export interface LiveSession extends Pick<Session, "id">, Device {
  /** When the session was started. */
  readonly authTime: number;
  readonly lastSeenAt: number;
  readonly address: string | null;
}

/** A browser session. Times in seconds since the epoch. */
export interface Session {
  readonly id: string;
  readonly userId: string;
  /** When the user last proved who they are. */
  readonly authTime: number;
  /** Seconds since then, by the database's clock when the session was read. */
  readonly proofAge: number;
  /** How they did it. @see RFC 9470, RFC 8176 */
  readonly acr: string;
  readonly amr: readonly string[];
  /** The weakest `acr` that the user's realm accepts; null: any. */
  readonly requiredAcr: string | null;
  /** The strongest `acr` that the user has set up. */
  readonly reachableAcr: string;
  /** Whether the user has an authenticator app. */
  readonly hasSecondFactor: boolean;
}

export type OwnSession = Pick<Session, "id" | "userId">;

export type SignedIn = { readonly session: Session; readonly user: User };

export interface Sessions {
  /**
   * @param audit undefined where the record of the token for which the session is started is the only one
   * @returns undefined when the user is unknown or disabled, the password has been changed or the passkey or identity removed since, a second
   *   factor is missing that was added since, or the half or the session to be raised has ended
   * @throws {Refusal} unauthenticated for a `factor` that was used or is unknown, or by which no session starts; forbidden for one that is
   *   to be `asDemanded`, would start otherwise and would be weaker
   */
  start(session: NewSessionRecord, audit: AuditEntry | undefined): Promise<Session | undefined>;
  /** @returns undefined when the session is unknown, expired or ended, or its user is disabled. Coalesced, never cached. */
  byHash(hash: SecretHash): Promise<SignedIn | undefined>;
  /** Ends the user's browser sessions and refresh families in one transaction. Access tokens stay valid until they expire. */
  endAll(userId: string, audit: AuditEntry): Promise<void>;
  /** Live sessions, the one seen last first. */
  ofUser(userId: string): Promise<readonly LiveSession[]>;
  /** Ends one session of the user, with the token set that it started with and its codes. @returns false for any other session */
  endOne(id: string, userId: string, audit: AuditEntry): Promise<boolean>;
  /** Ends all of the user's sessions but one in the same way. */
  endOthers(keep: string, userId: string, audit: AuditEntry): Promise<void>;
}

/** What a user allowed a client. Times in seconds since the epoch, with their fraction. */
export interface Consent {
  readonly id: string;
  readonly userId: string;
  readonly clientId: string;
  readonly clientName: string;
  readonly scopes: readonly string[];
  readonly resources: readonly string[];
  readonly createdAt: number;
  readonly updatedAt: number | null;
  readonly lastUsedAt: number | null;
}

/** `sessionId` is that of the session in which the user gives it. */
export type NewConsent = Omit<Consent, "createdAt" | "updatedAt" | "lastUsedAt"> & { readonly sessionId: string };

export interface Consents {
  /** All active consents, newest first. */
  ofUser(userId: string): Promise<readonly Consent[]>;
  list(userId: string, part: Part): Promise<Page<Consent>>;
  /**
   * Creates the consent of a user for a client, or adds scopes and resources to it. Does nothing when the session has ended.
   * @returns false where the consent is full: it holds as many resources as one may
   */
  give(consent: NewConsent, audit: AuditEntry): Promise<boolean>;
  /** Revokes a consent, and every grant of this user to that client with its refresh families. @returns false for another user's consent */
  revoke(id: string, userId: string, audit: AuditEntry): Promise<boolean>;
}

/** An authorization request that waits for sign-in and consent; `query` is its text. */
export interface PendingRequest {
  readonly query: string;
  /** When it was first seen, in seconds since the epoch. A later sign-in satisfies `prompt=login` and `max_age`. */
  readonly createdAt: number;
}

export interface PendingRequests {
  /** Deletes the oldest requests of a holder above `limit`. @param ttl seconds */
  put(idHash: SecretHash, query: string, ttl: number, bound: { readonly holder: string; readonly limit: number }): Promise<void>;
  byId(idHash: SecretHash): Promise<PendingRequest | undefined>;
  /** Extends the wait to `ttl` seconds from when the request was first seen, if it still waits. */
  extend(idHash: SecretHash, ttl: number): Promise<void>;
  /** Removes and returns the request, for one of several callers. It is then found for `ttl` seconds by `answeredHash`. */
  take(idHash: SecretHash, answeredHash: SecretHash, ttl: number): Promise<PendingRequest | undefined>;
}

/** Audit records of refusals, outside of any transaction. Durable when `record` resolves. */
export interface RefusalLog {
  record(entry: AuditEntry): Promise<void>;
}

/** How many calls may come in a window that begins with the first of them. */
export type Rate = { readonly points: number; readonly seconds: number };

/** Counts calls per key in a window, in Redis or in memory. */
export interface RateLimiter {
  /** @returns 0 when the call may proceed, else the seconds to wait */
  hit(key: string): Promise<number>;
}
