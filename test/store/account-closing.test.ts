import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountClosing } from "../../src/store/account-closing.ts";
import type { Database } from "../../src/store/orm.ts";
import { sessions } from "../../src/store/sessions.ts";
import { users } from "../../src/store/users.ts";
import { aHash, anAudit, anId, aUser, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const message = { subject: "farewell", text: "t", html: "h" };

describe.for(databaseKinds)("closing an account on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const close = (userId: string) => accountClosing(database.sql).close(userId, undefined, message, anAudit("user.deleted", { userId }));
  const mailsTo = (to: string) =>
    runText<{ subject: string; user_id: string | null }>(database.sql, "select subject, user_id::text from outbox where recipient = $1", [
      to,
    ]);

  test("64 concurrent closings: exactly one closes the account, with one mail and one audit record", async () => {
    const user = await aUser(database.sql);
    const outcomes = await Promise.all(Array.from({ length: 64 }, () => close(user.id)));
    expect(outcomes.filter((outcome) => outcome === "closed")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "gone")).toHaveLength(63);
    expect((await auditOf(database.sql, "user.deleted")).filter(({ user_id }) => user_id === user.id)).toHaveLength(1);
    expect(await mailsTo(user.email)).toEqual([{ subject: "farewell", user_id: null }]);
  });

  test("deletes the user's queued mails and writes a revocation event for the user", async () => {
    const user = await aUser(database.sql);
    expect(await close(user.id)).toBe("closed");
    expect(await runText(database.sql, "select subject from outbox where user_id = $1::uuid", [user.id])).toEqual([]);
    const marks = await runText<{ lifted: boolean }>(
      database.sql,
      "select lifted from revocation_events where kind = 'user' and key = $1",
      [user.id],
    );
    expect(marks).toEqual([{ lifted: false }]);
    expect(await users(database.sql).byId(user.id)).toBeUndefined();
  });

  test("concurrent sign-ins leave no session, and every call returns", async () => {
    const user = await aUser(database.sql);
    const start = () =>
      sessions(database.sql).start({ id: anId(), hash: aHash(), userId: user.id, ttl: 60, generation: 0 }, anAudit("session.started"));
    const [outcome] = await Promise.all([close(user.id), ...Array.from({ length: 16 }, start)]);
    expect(outcome).toBe("closed");
    expect(await sessions(database.sql).ofUser(user.id)).toEqual([]);
    expect(await start()).toBeUndefined();
  });

  test("two operators who close their accounts at once: one stays, and a disabled operator does not count as the last one", async () => {
    await aUser(database.sql, { role: "operator" }).then(({ id }) =>
      runText(database.sql, "update users set enabled = false where id = $1::uuid", [id]),
    );
    const pair = [await aUser(database.sql, { role: "operator" }), await aUser(database.sql, { role: "operator" })];
    expect((await Promise.all(pair.map(({ id }) => close(id)))).sort()).toEqual(["closed", "last_operator"]);
  });

  test('closing an unknown account returns "gone"', async () => {
    expect([await close(anId()), await close("x")]).toEqual(["gone", "gone"]);
  });
});
