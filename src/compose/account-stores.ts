import { accountClosing } from "../store/account-closing.ts";
import { passwordChanges } from "../store/password-changes.ts";
import type { Sql } from "../store/sql.ts";
import { users } from "../store/users.ts";

/** The stores that queue mails. These then leave at once, and not only when the outbox is looked at next. */
export function mailingStores(sql: Sql, wake: () => void) {
  const waking =
    <Given extends readonly unknown[], Result>(verb: (...given: Given) => Promise<Result>) =>
    async (...given: Given): Promise<Result> => {
      const result = await verb(...given);
      wake();
      return result;
    };
  const [accounts, passwords, closing] = [users(sql), passwordChanges(sql), accountClosing(sql)];
  return {
    users: { ...accounts, register: waking(accounts.register), issueVerification: waking(accounts.issueVerification) },
    passwordChanges: {
      ...passwords,
      issueReset: waking(passwords.issueReset),
      reset: waking(passwords.reset),
      change: waking(passwords.change),
    },
    closing: { close: waking(closing.close) },
  };
}
