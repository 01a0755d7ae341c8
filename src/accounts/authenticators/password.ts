import { isRefusal } from "../../errors.ts";
import { PASSWORD_ACR } from "../../protocol/authentication-context.ts";
import type { AccountPorts } from "../account-ports.ts";
import type { Caller } from "../caller.ts";
import type { Account } from "../ports.ts";
import type { ProofOutcome, UseProof } from "./proof.ts";

export type Credentials = { readonly email: string; readonly password: string };

type Attempt<Result> = ProofOutcome<Result> & {
  /** `none` while a second factor is missing: the password alone does not end a series of failures. */
  readonly verdict: "right" | "wrong" | "none";
  /** The account whose hash was made with outdated parameters. */
  readonly outdated?: Account | undefined;
};

export const BY_PASSWORD = { acr: PASSWORD_ACR, amr: ["pwd"] } as const;

/** Replaces a hash with outdated parameters. When the hashing queue is full, a later attempt does it. */
async function renewHash({ user, passwordHash }: Account, password: string, ports: AccountPorts, { limitKey }: Caller): Promise<void> {
  if (passwordHash === null) return;
  try {
    await ports.users.replacePasswordHash(user.id, passwordHash, await ports.passwords.hash(password, limitKey));
  } catch (error) {
    if (!isRefusal(error)) throw error;
  }
}

/**
 * Authenticates by password, within the failure budgets of its account and of the caller's address. An unknown address, a wrong and an empty
 * password cost the same work.
 * @throws {Refusal} too_many_requests, temporarily_unavailable
 */
export async function proveByPassword<Result>(
  { email, password }: Credentials,
  ports: AccountPorts,
  caller: Caller,
  use: UseProof<Result>,
): Promise<ProofOutcome<Result>> {
  const { users, attempts, passwords } = ports;
  const attempt = await attempts.run(email, caller, async (lane): Promise<Attempt<Result>> => {
    const account = await users.byEmail(email);
    const verdict = await passwords.verify(account?.passwordHash, password, lane);
    const refused = (reason: string) => ({ verdict: "wrong", kind: "refused", reason, user: account?.user }) as const;
    if (!account || verdict.kind === "wrong") return refused(account ? "password_wrong" : "account_unknown");
    const used = await use({ account, ...BY_PASSWORD });
    // The password may have been changed, or an app confirmed, since the account was read.
    const current = used === undefined ? await users.byEmail(email) : account;
    if (current?.user.id !== account.user.id) return refused("account_unknown");
    if (current.generation !== account.generation) return refused("password_wrong");
    const hasNewApp = current.hasSecondFactor && !account.hasSecondFactor;
    const result = hasNewApp ? await use({ account: current, ...BY_PASSWORD }) : used;
    if (result === undefined) return refused("account_disabled");
    const outdated = verdict.outdated ? account : undefined;
    return { verdict: current.hasSecondFactor ? "none" : "right", kind: "proved", result, outdated };
  });
  if (attempt.outdated !== undefined) await renewHash(attempt.outdated, password, ports, caller);
  return attempt;
}
