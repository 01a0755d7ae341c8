import type { AuditEntry } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { RandomBytes, SecretHash } from "../random.ts";
import { type ProofPorts, provePassword } from "./authenticators/password.ts";
import { auditOfUser, type Caller } from "./caller.ts";
import { passwordChangedMail } from "./mails.ts";
import { assertGoodPassword } from "./password-rules.ts";
import type { MailMessage, NewSessionRecord, NewVerification, Session, User } from "./ports.ts";
import { newSession } from "./sign-in.ts";

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
   * Replaces the password of that generation, ends the user's sessions, codes, refresh families and reset link, and starts a new session.
   * @returns undefined when the password has been changed since
   */
  change(
    change: PasswordChange,
    message: MailMessage,
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

export interface PasswordChangePorts extends ProofPorts {
  readonly passwordChanges: PasswordChanges;
  readonly randomBytes: RandomBytes;
  /** Base URL of the service. */
  readonly issuer: string;
  /** Seconds. */
  readonly sessionTtl: number;
}

export type NewPassword = { readonly currentPassword: string; readonly password: string };

/**
 * Changes a password that its user proves. Ends every session and refresh family, starts a new session, and notifies the user by mail.
 * @returns the value of the new session's cookie
 * @throws {Refusal} invalid_request, unauthenticated for a wrong current password, too_many_requests, conflict if it was changed since
 */
export async function changePassword(user: User, change: NewPassword, ports: PasswordChangePorts, caller: Caller): Promise<string> {
  const { passwordChanges, passwords, issuer } = ports;
  await assertGoodPassword(change.password, user.email);
  const { generation } = await provePassword(user, change.currentPassword, "password.changed", ports, caller);
  const { secret, record: session } = newSession(user.id, ports, caller);
  const passwordHash = await passwords.hash(change.password, caller.limitKey);
  const started = await passwordChanges.change(
    { userId: user.id, generation, passwordHash, session },
    passwordChangedMail(caller.language, issuer),
    {
      change: auditOfUser("password.changed", user.id, caller, { reason: "by_owner" }),
      session: auditOfUser("session.started", user.id, caller, { reason: "password_changed" }),
    },
  );
  if (started) return secret;
  throw new Refusal("conflict", "password_changed_since", { description: "The password was changed by another request. Try again." });
}
