import type { Clock, RandomBytes } from "../clock.ts";
import { Refusal } from "../errors.ts";
import { newId } from "../identifier.ts";
import { hashSecret, newSecret } from "../secret.ts";
import { deviceOf } from "./device.ts";
import { passwordChangedMail } from "./mails.ts";
import type { PasswordChanges } from "./password-ports.ts";
import { type ProofPorts, provePassword } from "./password-proof.ts";
import { assertGoodPassword } from "./password-rules.ts";
import type { User } from "./ports.ts";
import { type Caller, whence } from "./sessions.ts";

export interface PasswordChangePorts extends ProofPorts {
  readonly passwordChanges: PasswordChanges;
  readonly clock: Clock;
  readonly randomBytes: RandomBytes;
  /** Base URL of the service. */
  readonly issuer: string;
  /** Seconds. */
  readonly sessionTtl: number;
}

export interface PasswordsGiven {
  readonly currentPassword: string;
  /** The new one. */
  readonly password: string;
}

/**
 * Changes the password of a signed-in person who knows the one that holds. Every session and refresh family ends; this browser goes on
 * under a new session, and the owner is told by mail.
 * @returns the value of the new session's cookie
 * @throws {Refusal} invalid_request for a bad new password, unauthenticated for a wrong current one, too_many_requests, conflict when it
 * has been changed meanwhile
 */
export async function changePassword(user: User, given: PasswordsGiven, ports: PasswordChangePorts, caller: Caller): Promise<string> {
  const { passwordChanges, passwords, clock, randomBytes, issuer, sessionTtl } = ports;
  await assertGoodPassword(given.password, user.email);
  const { generation } = await provePassword(user, given.currentPassword, "password.changed", ports, caller);
  const secret = newSecret(randomBytes);
  const session = {
    id: newId(clock, randomBytes),
    hash: hashSecret(secret),
    userId: user.id,
    ttl: sessionTtl,
    place: { address: caller.address, ...deviceOf(caller.userAgent) },
  };
  const passwordHash = await passwords.hash(given.password, caller.limitKey);
  const told = { outcome: "success", actor: { type: "user", id: user.id }, userId: user.id, ...whence(caller) } as const;
  const started = await passwordChanges.change(
    { userId: user.id, generation, passwordHash, session },
    passwordChangedMail(caller.language, issuer),
    {
      change: { event: "password.changed", reason: "by_owner", ...told },
      session: { event: "session.started", reason: "password_changed", ...told },
    },
  );
  if (started) return secret;
  throw new Refusal("conflict", "password_changed_meanwhile", { description: "The password has been changed meanwhile. Try again." });
}
