import type { AuditEntry } from "../audit.ts";
import type { SecretHash } from "../secret.ts";
import type { MailMessage, NewSessionRecord, NewVerification, Session, User } from "./ports.ts";

/** New passwords, each in one transaction with what it ends, its mail and its audit record. */
export interface PasswordChanges {
  /**
   * Gives an enabled person a link for a forgotten password in place of the one before, and queues its mail. One statement, whether or not
   * there is such a person. Addresses are compared case-insensitively.
   */
  issueReset(email: string, reset: NewVerification, letter: MailMessage, audit: AuditEntry): Promise<void>;
  /** Whose link it is, while it is good. */
  ownerOfReset(tokenHash: SecretHash): Promise<User | undefined>;
  /**
   * Uses the link up in one conditional statement, sets the password, ends the person's sessions, codes and refresh families. The link came
   * by mail, so an unverified address is verified by it, and all that was begun before ends.
   * @returns undefined for a link that is unknown, used or expired
   */
  reset(tokenHash: SecretHash, passwordHash: string, letter: MailMessage, audit: AuditEntry): Promise<User | undefined>;
  /**
   * Sets the password in place of the one of that generation, ends the person's sessions, codes, refresh families and reset link, and
   * starts a new session.
   * @returns undefined when the password has been changed meanwhile
   */
  change(
    change: PasswordChange,
    letter: MailMessage,
    audits: { readonly change: AuditEntry; readonly session: AuditEntry },
  ): Promise<Session | undefined>;
}

export interface PasswordChange {
  readonly userId: string;
  /** Of the password that was proved. */
  readonly generation: number;
  readonly passwordHash: string;
  readonly session: Omit<NewSessionRecord, "generation">;
}
