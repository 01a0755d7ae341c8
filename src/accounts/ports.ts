import type { AuditEntry } from "../audit.ts";
import type { SecretHash } from "../secret.ts";

export type Role = "developer" | "operator";

/** An account (specification §2.1). Times are seconds since the epoch, with their fraction. */
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

/** A message, whoever it goes to. */
export interface MailMessage {
  readonly subject: string;
  readonly text: string;
  readonly html: string;
}

/** A message that waits in the outbox until a mail server has taken it. */
export interface Mail extends MailMessage {
  readonly to: string;
}

/** A message taken out of the outbox to be sent. */
export interface QueuedMail extends Mail {
  readonly id: string;
  /** Tries that failed before. */
  readonly attempts: number;
  /** Seconds until it is pointless, by the database's clock: the link in it is then dead, or it has waited for a day. */
  readonly left: number;
}

/** The messages that wait for a mail server. Rows come into it in the transaction that caused them. */
export interface Outbox {
  /** Takes up to `limit` messages that are due, for `lease` seconds: as long nobody else gets them, and then again whoever asks. */
  claim(limit: number, lease: number): Promise<readonly QueuedMail[]>;
  /** The mail server has it: the row goes, and with it the link that it holds. */
  delivered(id: string): Promise<void>;
  /** One more try failed; due again in `afterSeconds`. */
  postponed(id: string, afterSeconds: number): Promise<void>;
  /** Given up: the row goes. */
  abandoned(id: string): Promise<void>;
}

export interface NewUser {
  readonly id: string;
  readonly email: string;
  readonly realmId: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly role: Role;
  readonly emailVerified: boolean;
  /** Encoded argon2id hash. */
  readonly passwordHash: string;
}

/** A single-use token that proves an e-mail address. `ttl` in seconds, counted by the database's clock. */
export interface NewVerification {
  readonly tokenHash: SecretHash;
  readonly ttl: number;
}

/** A person with what proves that it is she. */
export interface Account {
  readonly user: User;
  /** Encoded argon2id hash; null where there is no password. */
  readonly passwordHash: string | null;
  /** Grows with every new password. */
  readonly generation: number;
}

export interface Users {
  /** User, password, verification token, mail and audit record in one transaction. @returns undefined when the address is taken. */
  register(user: NewUser, verification: NewVerification, mail: Mail, audit: AuditEntry): Promise<User | undefined>;
  byId(id: string): Promise<User | undefined>;
  /** Addresses are compared case-insensitively. */
  byEmail(email: string): Promise<Account | undefined>;
  /** Replaces the verification tokens of an unverified address, and a mail that still waits, and queues the mail, in one transaction. */
  issueVerification(userId: string, verification: NewVerification, mail: Mail): Promise<void>;
  /**
   * Consumes the token and marks the address, in one conditional statement.
   * @returns undefined for a token that is unknown, used or expired.
   */
  verifyEmail(tokenHash: SecretHash): Promise<User | undefined>;
  /** A better hash of the same password. */
  replacePasswordHash(userId: string, passwordHash: string): Promise<void>;
  rename(userId: string, name: { readonly firstName: string | null; readonly lastName: string | null }, audit: AuditEntry): Promise<void>;
}

/** Failures that a budget allows, and the seconds in which they count. */
export interface FailureBudget {
  readonly limit: number;
  readonly window: number;
}

/** What an attempt to prove a password led to. `none`: it ended before the password was looked at. */
export type AttemptVerdict = "right" | "wrong" | "none";

/** The budgets in which an attempt holds a place, by the digests of their keys. */
export interface ReservedAttempt {
  /** Of account and address. Undefined when no place in it was had. */
  readonly pair: SecretHash | undefined;
  /** Of the address over all accounts. */
  readonly address: SecretHash;
}

/**
 * Budgets of failed attempts. An attempt takes a place before the hash is computed, so that parallel guesses cannot slip past the limit, and
 * gives it back when it ends. A place that is never given back is free again after half a minute, so that no fault can use up a budget.
 */
export interface SignInFailures {
  /** Takes a place for one attempt. @returns 0 when the attempt may go on, else the seconds to wait */
  reserve(key: SecretHash, budget: FailureBudget): Promise<number>;
  /**
   * Gives the places of an attempt back. A wrong password counts as a failure in both budgets. A right one clears the failures of the pair,
   * and leaves those of the address.
   * @param window seconds in which a failure counts
   */
  settle(attempt: ReservedAttempt, verdict: AttemptVerdict, window: number): Promise<void>;
  /** Clears the failures of a pair. */
  clear(pair: SecretHash): Promise<void>;
}

/** Where a session was started, in what words its owner may tell it by. */
export interface SessionOrigin {
  /** Network address. */
  readonly address: string;
  /** What browser or program, such as `Firefox`. */
  readonly browser: string | null;
  /** On what system, such as `Linux`. */
  readonly system: string | null;
}

export interface NewSessionRecord {
  readonly id: string;
  readonly hash: SecretHash;
  readonly userId: string;
  /** Seconds. */
  readonly ttl: number;
  readonly place?: SessionOrigin;
  /** Hash of the cookie that came along: that session ends in the same statement. */
  readonly replaces?: SecretHash;
  /** Of the password that was proved: nothing starts when it has been changed meanwhile. None where something else was proved. */
  readonly generation?: number;
}

/** A session that lives, as its owner sees it. Times in seconds since the epoch. */
export interface LiveSession {
  readonly id: string;
  readonly authTime: number;
  /** To some minutes. */
  readonly lastSeenAt: number;
  readonly address: string | null;
  readonly browser: string | null;
  readonly system: string | null;
}

/** A browser session. `authTime` is when the person really authenticated; times in seconds since the epoch. */
export interface Session {
  readonly id: string;
  readonly userId: string;
  readonly authTime: number;
  readonly expiresAt: number;
}

export interface SignedIn {
  readonly session: Session;
  readonly user: User;
}

export interface Sessions {
  /** @returns undefined when the user is unknown or disabled, or the password has been changed meanwhile */
  start(session: NewSessionRecord, audit: AuditEntry): Promise<Session | undefined>;
  /** @returns undefined when the session is unknown, over or ended, or its user is disabled. Coalesced, never cached. */
  byHash(hash: SecretHash): Promise<SignedIn | undefined>;
  end(hash: SecretHash, audit: AuditEntry): Promise<void>;
  /** Logout: ends the person's browser sessions and refresh families in one transaction; access tokens live on to their expiry. */
  endAll(userId: string, audit: AuditEntry): Promise<void>;
  /** Those that live, the one seen last first. */
  ofUser(userId: string): Promise<readonly LiveSession[]>;
  /** Ends one session of the person, with the token set that it began with and its codes. @returns false when she has no such session */
  endOne(id: string, userId: string, audit: AuditEntry): Promise<boolean>;
  /** Ends, likewise, all of the person's sessions but one. */
  endOthers(keep: string, userId: string, audit: AuditEntry): Promise<void>;
}

/** What a person allowed a client. Times in seconds since the epoch, with their fraction. */
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

export interface Consents {
  /** Active consents, newest first. */
  ofUser(userId: string): Promise<readonly Consent[]>;
  /** Adds scopes and resources to the consent of user and client, or makes it. */
  give(
    consent: {
      readonly id: string;
      readonly userId: string;
      readonly clientId: string;
      readonly clientName: string;
      readonly scopes: readonly string[];
      readonly resources: readonly string[];
    },
    audit: AuditEntry,
  ): Promise<void>;
  /** Ends the consent, and every grant of this user to that client with its refresh families. @returns false when it is not the user's. */
  revoke(id: string, userId: string, audit: AuditEntry): Promise<boolean>;
}

/** An authorization request that waits for sign-in and consent; `query` is the request's own text. */
export interface PendingRequest {
  readonly query: string;
  /** Seconds since the epoch at which it was first seen: a sign-in after it satisfies `prompt=login` and `max_age`. */
  readonly createdAt: number;
}

export interface PendingRequests {
  /** Of one holder's requests the oldest above `limit` go. @param ttl seconds */
  put(idHash: SecretHash, query: string, ttl: number, bound: { readonly holder: string; readonly limit: number }): Promise<void>;
  byId(idHash: SecretHash): Promise<PendingRequest | undefined>;
  /** Lets it wait `ttl` seconds from when it was first seen, where it still waits. */
  extend(idHash: SecretHash, ttl: number): Promise<void>;
  /**
   * Takes it out, once: of several callers one gets it. For `ttl` seconds it is found under another id, by which the same answer can be
   * known again.
   */
  take(idHash: SecretHash, answeredHash: SecretHash, ttl: number): Promise<PendingRequest | undefined>;
}

/** Records that stand alone: what people were refused, or refused themselves. Durable when it answers. */
export interface RefusalLog {
  record(entry: AuditEntry): Promise<void>;
}

/** Counts calls per key in a window; lives in Redis or in memory and decides nothing but rates. */
export interface RateLimiter {
  /** @returns 0 when the call may go on, else the seconds to wait */
  hit(key: string): Promise<number>;
}
