import type { AuditEvent } from "../audit.ts";
import { Refusal } from "../errors.ts";
import { hashSecret, type SecretHash } from "../secret.ts";
import type { PasswordHashing } from "./password-hash.ts";
import type { Account, RefusalLog, SignInFailures, User, Users } from "./ports.ts";
import { type Caller, whence } from "./sessions.ts";

/** Failures that one address may cause to one account, and the seconds in which they count. */
const FAILURES = { limit: 10, window: 15 * 60 } as const;

/** One counter for each account and address, so that no stranger can lock an owner out. */
export const failureKey = (email: string, { limitKey }: Caller): SecretHash =>
  hashSecret(`sign-in\n${email.trim().toLowerCase()}\n${limitKey}`);

/**
 * Counts an attempt before the password is looked at, so that guesses in parallel cannot slip past the limit.
 * @throws {Refusal} too_many_requests
 */
export async function countAttempt(key: SecretHash, failures: SignInFailures): Promise<void> {
  const retryAfter = await failures.count(key, FAILURES.limit, FAILURES.window);
  if (retryAfter === 0) return;
  const description = "Too many failed attempts. Wait a while before you try again.";
  throw new Refusal("too_many_requests", "sign_in_failures", { description, retryAfter });
}

export interface ProofPorts {
  readonly users: Users;
  readonly signInFailures: SignInFailures;
  readonly refusals: RefusalLog;
  readonly passwords: PasswordHashing;
}

/** The member in which forms ask for the password that holds. */
export const CURRENT_PASSWORD = "currentPassword";

/**
 * Makes sure that it is the person herself who asks, by her password; a wrong one counts like a failed sign-in.
 * @param event what it is for, for the record of a failure
 * @throws {Refusal} unauthenticated, too_many_requests, temporarily_unavailable
 */
export async function provePassword(user: User, password: string, event: AuditEvent, ports: ProofPorts, caller: Caller): Promise<Account> {
  const { users, signInFailures, refusals, passwords } = ports;
  const key = failureKey(user.email, caller);
  await countAttempt(key, signInFailures);
  const account = await users.byEmail(user.email);
  const verdict = await passwords.verify(account?.passwordHash, password);
  if (account?.user.id === user.id && verdict.kind === "right") {
    await signInFailures.clear(key);
    return account;
  }
  const reason = "password_wrong";
  const actor = { type: "user", id: user.id } as const;
  await refusals.record({ event, outcome: "failure", reason, actor, userId: user.id, ...whence(caller) });
  const message = "This is not your password.";
  throw new Refusal("unauthenticated", "own_password_wrong", { description: message, issues: [{ path: CURRENT_PASSWORD, message }] });
}
