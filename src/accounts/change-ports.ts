import type { AuditEntry } from "../audit.ts";
import type { SecretHash } from "../random.ts";
import type { MailMessage, NewSessionRecord, NewVerification, OwnSession, Role, Session, User } from "./ports.ts";

export interface AccountClosing {
  /**
   * Deletes an account, and all that belongs to it or its clients except the audit trail, in one transaction. Queues a last message.
   * @param sessionId the user's; undefined where an operator deletes
   * @returns `last_operator` for the only operator, `gone` when there is no such account
   * @throws {Refusal} login_required when the session has ended
   */
  close(
    userId: string,
    sessionId: string | undefined,
    message: MailMessage,
    audit: AuditEntry,
  ): Promise<"closed" | "last_operator" | "gone">;
}

/** Times to live in seconds, counted by the database's clock. */
export interface NewAddressChange {
  readonly session: OwnSession;
  readonly email: string;
  readonly proof: { readonly tokenHash: SecretHash; readonly ttl: number; readonly mail: MailMessage };
  /** To the former address; undefined where that was not verified, so that its mailbox may be someone else's. */
  readonly stop: { readonly tokenHash: SecretHash; readonly ttl: number; readonly mail: MailMessage } | undefined;
}

export interface AddressChange {
  readonly userId: string;
  readonly email: string;
  readonly formerEmail: string;
}

/** Changes of addresses. Each step is one transaction with its mails and its audit record. */
export interface AddressChanges {
  /**
   * Stores a change in place of one that was not confirmed, and queues its mails.
   * @returns false for an address with an account  @throws {Refusal} login_required when the session has ended
   */
  request(change: NewAddressChange, audit: AuditEntry): Promise<boolean>;
  /** The change of a link to a new address that still works. */
  byProof(tokenHash: SecretHash): Promise<AddressChange | undefined>;
  /**
   * Consumes the link and gives the account its new, verified address. Links that were sent to the former one stop working.
   * @param mail to the former address, if that was verified
   * @returns undefined for a link that does not work or is another user's; "taken" uses up nothing
   * @throws {Refusal} login_required when the session has ended
   */
  confirm(tokenHash: SecretHash, session: OwnSession, mail: MailMessage, audit: AuditEntry): Promise<"changed" | "taken" | undefined>;
  /** The change of a link to a former address that still works. */
  byStop(tokenHash: SecretHash): Promise<AddressChange | undefined>;
  /**
   * Consumes the link, gives the account its former address back, removes its password and every way in that was added since the change was
   * asked for, and ends its sessions and all other changes.
   * @returns undefined for a link that does not work; "taken", which uses up nothing, when the former address has another account now
   */
  stop(tokenHash: SecretHash, audit: AuditEntry): Promise<AddressChange | "taken" | undefined>;
}

/** Stores new passwords. Each change is one transaction with the sessions that it ends, its message and its audit record. */
export interface PasswordChanges {
  /** Replaces the reset link of an enabled user and queues its message, in one statement, whether or not there is such a user. */
  issueReset(email: string, reset: NewVerification, message: MailMessage, audit: AuditEntry): Promise<void>;
  /** The user of a valid link. */
  ownerOfReset(tokenHash: SecretHash): Promise<User | undefined>;
  /**
   * Consumes the link, sets the password, verifies the address, and ends the user's sessions, codes and refresh families.
   * @returns undefined for an unknown, used or expired link
   */
  reset(tokenHash: SecretHash, passwordHash: string, message: MailMessage, audit: AuditEntry): Promise<User | undefined>;
  /**
   * Sets the password, ends the user's sessions, codes, refresh families and reset link, and starts a new session with the proof of the present one.
   * @returns undefined when that one has ended, as by another change
   */
  change(
    change: PasswordChange,
    message: MailMessage,
    audits: { readonly change: AuditEntry; readonly session: AuditEntry },
  ): Promise<Session | undefined>;
}

export interface PasswordChange {
  /** Of the session in which the user has just proved who they are. */
  readonly provedBy: SecretHash;
  readonly passwordHash: string;
  readonly session: NewSessionRecord;
}

/**
 * What a link to open an account is for. `email`: null in the link for the first operator, who chooses the address. `realmId`: null for the
 * default realm.
 */
export type Invitation = { readonly email: string | null; readonly role: Role; readonly realmId: string | null };

/** `ttl` in seconds, counted by the database's clock. `inviterId`: the operator without whom the link does not work; null: it needs none. */
export type NewInvitation = Invitation & { readonly tokenHash: SecretHash; readonly ttl: number; readonly inviterId: string | null };

export interface Invitations {
  /**
   * Stores the link in place of an earlier one for the address, and queues the mail.
   * @returns "taken" for an address with an account; undefined when the inviter is no longer an enabled operator
   */
  issue(
    invitation: NewInvitation,
    mail: MailMessage | undefined,
    audit: AuditEntry,
  ): Promise<"issued" | "taken" | "realm_unknown" | undefined>;
  /** The realm of the open invitation to an address; undefined where there is none, or it is for the default realm. */
  realmOf(email: string): Promise<string | undefined>;
  /**
   * @returns undefined for an unknown, used or expired link, for one whose inviter is no longer an enabled operator, and for that of a first
   *   operator once there is an operator
   */
  byToken(tokenHash: SecretHash): Promise<Invitation | undefined>;
  /** Consumes the link and opens the account with a verified address, atomically. @returns undefined as `byToken`; "taken" uses up nothing */
  accept(tokenHash: SecretHash, user: NewcomerRecord, audit: AuditEntry): Promise<User | "taken" | undefined>;
  /**
   * Opens an account with a verified address and without a link; without `realmId` in the default realm.
   * @returns undefined for an address with an account  @throws {Refusal} invalid_request for an unknown realm
   */
  open(user: NewcomerRecord & { readonly role: Role; readonly realmId?: string | undefined }, audit: AuditEntry): Promise<User | undefined>;
  hasOperator(): Promise<boolean>;
}

/** `passwordHash` is an encoded argon2id hash. */
export type NewcomerRecord = { readonly id: string; readonly email: string; readonly passwordHash: string };
