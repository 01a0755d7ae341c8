import type { AuditEntry } from "../audit.ts";
import type { Clock } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { hashSecret, type RandomBytes, type SecretHash } from "../random.ts";
import { auditOfUser, type Caller } from "./caller.ts";
import { type MailSenderPorts, passwordChangedMail, senderOf } from "./mails.ts";
import type { PasswordHashing } from "./password-hash.ts";
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

export interface PasswordChangePorts extends MailSenderPorts {
  readonly clock: Clock;
  readonly passwords: PasswordHashing;
  readonly passwordChanges: PasswordChanges;
  readonly randomBytes: RandomBytes;
  /** Seconds. */
  readonly sessionTtl: number;
}

/**
 * Sets the password of a user who has just proved that it is them, also the first one. Ends every session and refresh family, starts a new
 * session, and notifies the user by mail.
 * @param session the value of the cookie of the session with the proof
 * @returns the value of the new session's cookie
 * @throws {Refusal} invalid_request, temporarily_unavailable; conflict if the password was changed since
 */
export async function changePassword(
  user: User,
  password: string,
  session: string,
  ports: PasswordChangePorts,
  caller: Caller,
): Promise<string> {
  const { passwordChanges, passwords } = ports;
  await assertGoodPassword(password, user.email);
  const { secret, record } = newSession(user.id, ports, caller);
  const passwordHash = await passwords.hash(password, caller.limitKey);
  const started = await passwordChanges.change(
    { provedBy: hashSecret(session), passwordHash, session: record },
    passwordChangedMail(caller.language, senderOf(ports, user.realmId)),
    {
      change: auditOfUser("password.changed", user.id, caller, { reason: "by_owner" }),
      session: auditOfUser("session.started", user.id, caller, { reason: "password_changed" }),
    },
  );
  if (started) return secret;
  throw new Refusal("conflict", "password_changed_since", { description: "The password was changed by another request. Try again." });
}
