import type { AuditEvent } from "../../audit.ts";
import type { Clock } from "../../clock.ts";
import { isRefusal, Refusal } from "../../errors.ts";
import { auditOfUser, type Caller } from "../caller.ts";
import type { PasswordAttempts } from "../password-attempts.ts";
import type { PasswordHashing } from "../password-hash.ts";
import type { Account, RefusalLog, User, Users } from "../ports.ts";
import type { Authenticator, ProofOutcome, ProvedAccount } from "./authenticator.ts";

export interface PasswordPorts {
  readonly users: Users;
  readonly attempts: PasswordAttempts;
  readonly passwords: PasswordHashing;
  readonly clock: Clock;
}

type Attempt<Result> = ProofOutcome<Result> & {
  readonly verdict: "right" | "wrong";
  /** The account whose hash was made with outdated parameters. */
  readonly outdated?: User | undefined;
};

/** Authenticates by password. An unknown address, a wrong and an empty password cost the same work. */
export function passwordAuthenticator({ users, attempts, passwords, clock }: PasswordPorts): Authenticator<string> {
  /** Replaces a hash with outdated parameters. When the hashing queue is full, a later attempt does it. */
  async function renewHash({ id }: User, password: string, { limitKey }: Caller): Promise<void> {
    try {
      await users.replacePasswordHash(id, await passwords.hash(password, limitKey));
    } catch (error) {
      if (!isRefusal(error)) throw error;
    }
  }

  return {
    name: "password",
    async verify<Result>(
      email: string,
      password: string,
      caller: Caller,
      use: (proved: ProvedAccount) => Promise<Result | undefined>,
    ): Promise<ProofOutcome<Result>> {
      const attempt = await attempts.run(email, caller, async (): Promise<Attempt<Result>> => {
        const account = await users.byEmail(email);
        const verdict = await passwords.verify(account?.passwordHash, password, caller.limitKey);
        const refused = (reason: string) => ({ verdict: "wrong", kind: "refused", reason, user: account?.user }) as const;
        if (!account || verdict.kind === "wrong") return refused(account ? "password_wrong" : "account_unknown");
        const result = await use({ account, acr: "urn:countersign:pwd", amr: ["pwd"], provedAt: clock() });
        if (result === undefined) return refused("account_disabled");
        return { verdict: "right", kind: "proved", result, outdated: verdict.outdated ? account.user : undefined };
      });
      if (attempt.outdated !== undefined) await renewHash(attempt.outdated, password, caller);
      return attempt;
    },
  };
}

export type ProofPorts = PasswordPorts & { readonly refusals: RefusalLog };

/** The form field for the current password of a signed-in user. */
export const CURRENT_PASSWORD = "currentPassword";

/**
 * Verifies the password of a signed-in user. A wrong one counts like a failed sign-in, and `event` is the action in its audit record.
 * @throws {Refusal} unauthenticated, too_many_requests, temporarily_unavailable
 */
export async function provePassword(user: User, password: string, event: AuditEvent, ports: ProofPorts, caller: Caller): Promise<Account> {
  const ownAccount = async ({ account }: ProvedAccount) => (account.user.id === user.id ? account : undefined);
  const outcome = await passwordAuthenticator(ports).verify(user.email, password, caller, ownAccount);
  if (outcome.kind === "proved") return outcome.result;
  await ports.refusals.record(auditOfUser(event, user.id, caller, { outcome: "failure", reason: "password_wrong" }));
  const message = "That password is not right.";
  throw new Refusal("unauthenticated", "own_password_wrong", { description: message, issues: [{ path: CURRENT_PASSWORD, message }] });
}
