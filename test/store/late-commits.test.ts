import { beforeAll, describe, expect, test } from "vitest";
import { addressChanges } from "../../src/store/address-changes.ts";
import { passwordChanges } from "../../src/store/password-changes.ts";
import { sessions, startSession } from "../../src/store/sessions.ts";
import type { Sql } from "../../src/store/sql.ts";
import { managedUsers } from "../../src/store/users.ts";
import { aHash, anAudit, anId, aUser } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { racing } from "../support/deadlocks.ts";

const MESSAGE = { subject: "s", text: "t", html: "h" };
const PASSWORD_HASH = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA";

// Transactions that began before something was ended, and commit after that. The embedded database runs one after another.
describe.each(databaseKinds)("commits that come late on $name", ({ name, fresh }) => {
  const { database } = racing(fresh);
  const onPostgres = test.runIf(name === "postgresql");
  let sql: Sql;
  beforeAll(() => {
    ({ sql } = database());
  });

  const waits = async () =>
    (await runText(sql, "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).length > 0;

  /** Commits `work` after `end` was answered, or as soon as `end` waits for it. */
  async function commitAfter<Result>(work: (tx: Sql) => Promise<Result>, end: () => Promise<unknown>): Promise<Result> {
    let ending: Promise<unknown> = Promise.resolve();
    const result = await sql.transaction(async (tx) => {
      const written = await work({ ...tx, transaction: (inner) => inner(tx) });
      let isAnswered = false;
      ending = end().finally(() => {
        isAnswered = true;
      });
      while (!(isAnswered || (await waits()))); // each look is a query
      return written;
    });
    await ending;
    return result;
  }

  /** A session whose start commits after `end`. @returns its hash */
  async function startLate(userId: string, end: () => Promise<unknown>) {
    const session = { id: anId(), hash: aHash(), userId, ttl: 3_600 };
    expect(await commitAfter((tx) => startSession(tx, session, undefined), end)).toMatchObject({ id: session.id });
    return session.hash;
  }

  onPostgres("a session that starts while its user is disabled does not live when the user is enabled again", async () => {
    const { id } = await aUser(sql);
    const setEnabled = (enabled: boolean) => managedUsers(sql).setEnabled(id, enabled, anAudit("user.changed"));
    const hash = await startLate(id, () => setEnabled(false));
    await setEnabled(true);
    expect(await sessions(sql).byHash(hash)).toBeUndefined();
  });

  onPostgres("a session that starts while a change of the address is stopped ends with the others", async () => {
    const { id } = await aUser(sql, { emailVerified: true });
    const [proof, stop] = [aHash(), aHash()].map((tokenHash) => ({ tokenHash, ttl: 600, mail: MESSAGE }));
    if (proof === undefined || stop === undefined) throw new Error("two links");
    const change = { userId: id, email: `${anId()}@example.test`, proof, stop };
    await addressChanges(sql).request(change, anAudit("address.change_requested"));
    const hash = await startLate(id, () => addressChanges(sql).stop(stop.tokenHash, anAudit("address.change_stopped")));
    expect(await sessions(sql).byHash(hash)).toBeUndefined();
  });

  onPostgres("a session that starts while a link in a mail proves the address of its user ends with the others", async () => {
    const { id, email } = await aUser(sql);
    const tokenHash = aHash();
    await passwordChanges(sql).issueReset(email, { tokenHash, ttl: 600 }, MESSAGE, anAudit("password.reset_requested"));
    const reset = () => passwordChanges(sql).reset(tokenHash, PASSWORD_HASH, MESSAGE, anAudit("password.changed"));
    expect(await sessions(sql).byHash(await startLate(id, reset))).toBeUndefined();
  });
});
