import { Refusal } from "../errors.ts";
import type { AccountClosing } from "./closing-ports.ts";
import { accountClosedMail } from "./mails.ts";
import { type ProofPorts, provePassword } from "./password-proof.ts";
import type { User } from "./ports.ts";
import { type Caller, whence } from "./sessions.ts";

export interface ClosingPorts extends ProofPorts {
  readonly closing: AccountClosing;
  /** Base URL of the service. */
  readonly issuer: string;
}

/**
 * Deletes the account of a signed-in person who knows its password, with all that hangs on it; what stays is the audit trail.
 * @throws {Refusal} unauthenticated for a wrong password, too_many_requests, conflict for the last operator
 */
export async function closeAccount(user: User, password: string, ports: ClosingPorts, caller: Caller): Promise<void> {
  await provePassword(user, password, "user.deleted", ports, caller);
  const outcome = await ports.closing.close(user.id, accountClosedMail(caller.language, ports.issuer), {
    event: "user.deleted",
    outcome: "success",
    reason: "by_owner",
    actor: { type: "user", id: user.id },
    userId: user.id,
    ...whence(caller),
  });
  if (outcome !== "last_operator") return;
  const description = "You are the last operator. Make somebody else an operator first.";
  throw new Refusal("conflict", "last_operator", { description });
}
