import type { AuditEntry } from "../audit.ts";
import type { MailMessage } from "./ports.ts";

/** The end of an account. */
export interface AccountClosing {
  /**
   * Ends the account and whatever hangs on it in one transaction: sessions, grants, consents, the clients that the person owns with their
   * API keys and what others allowed them; the address becomes free. The audit trail stays. A last letter is queued.
   * @returns `last_operator` when nobody would be left to operate the service, `gone` when there is no such account
   */
  close(userId: string, letter: MailMessage, audit: AuditEntry): Promise<"closed" | "last_operator" | "gone">;
}
