import type { AuditEntry } from "../audit.ts";
import { Refusal } from "../errors.ts";
import { auditOfUser, type Caller } from "./caller.ts";
import { accountClosedMail, type MailSenderPorts, senderOf } from "./mails.ts";
import type { MailMessage, SignedIn, User, Users } from "./ports.ts";

export type NewName = { readonly firstName?: string | undefined; readonly lastName?: string | undefined };

/** Changes the name of a user. An empty part is stored as none, and an unchanged name is not recorded. */
export async function rename(user: User, name: NewName, users: Users, caller: Caller): Promise<void> {
  const stored = { firstName: name.firstName?.trim() || null, lastName: name.lastName?.trim() || null };
  await users.rename(user.id, stored, auditOfUser("user.changed", user.id, caller, { reason: "name" }));
}

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

export interface ClosingPorts extends MailSenderPorts {
  readonly closing: AccountClosing;
}

/** Deletes the account of a user who has just proved that it is them. @throws {Refusal} conflict for the last operator */
export async function closeAccount({ user, session }: SignedIn, ports: ClosingPorts, caller: Caller): Promise<void> {
  const audit = auditOfUser("user.deleted", user.id, caller, { reason: "by_owner" });
  const message = accountClosedMail(caller.language, senderOf(ports, user.realmId));
  const outcome = await ports.closing.close(user.id, session.id, message, audit);
  if (outcome === "last_operator") throw lastOperator();
}

export const lastOperator = (): Refusal =>
  new Refusal("conflict", "last_operator", { description: "This is the last operator. Make another user an operator first." });
