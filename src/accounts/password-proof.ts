import type { AuditEvent } from "../audit.ts";
import { Refusal } from "../errors.ts";
import type { PasswordAttempts } from "./password-attempts.ts";
import type { PasswordHashing } from "./password-hash.ts";
import type { Account, RefusalLog, User, Users } from "./ports.ts";
import { type Caller, whence } from "./sessions.ts";

export interface ProofPorts {
  readonly users: Users;
  readonly attempts: PasswordAttempts;
  readonly refusals: RefusalLog;
  readonly passwords: PasswordHashing;
}

/** The member in which forms ask for the password that holds. */
export const CURRENT_PASSWORD = "currentPassword";

type Judged = { readonly verdict: "right"; readonly account: Account } | { readonly verdict: "wrong"; readonly account: undefined };

/**
 * Makes sure that it is the person herself who asks, by her password; a wrong one counts like a failed sign-in.
 * @param event what it is for, for the record of a failure
 * @throws {Refusal} unauthenticated, too_many_requests, temporarily_unavailable
 */
export async function provePassword(user: User, password: string, event: AuditEvent, ports: ProofPorts, caller: Caller): Promise<Account> {
  const { users, attempts, refusals, passwords } = ports;
  const { account } = await attempts.run(user.email, caller, async (): Promise<Judged> => {
    const found = await users.byEmail(user.email);
    const { kind } = await passwords.verify(found?.passwordHash, password, caller.limitKey);
    return found?.user.id === user.id && kind === "right" ? { verdict: "right", account: found } : { verdict: "wrong", account: undefined };
  });
  if (account !== undefined) return account;
  const reason = "password_wrong";
  const actor = { type: "user", id: user.id } as const;
  await refusals.record({ event, outcome: "failure", reason, actor, userId: user.id, ...whence(caller) });
  const message = "This is not your password.";
  throw new Refusal("unauthenticated", "own_password_wrong", { description: message, issues: [{ path: CURRENT_PASSWORD, message }] });
}
