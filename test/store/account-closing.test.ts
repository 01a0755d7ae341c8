import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { accountClosing } from "../../src/store/account-closing.ts";
import type { Database } from "../../src/store/orm.ts";
import { sessions } from "../../src/store/sessions.ts";
import { users } from "../../src/store/users.ts";
import { aHash, anAudit, anId, aUser, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const farewell = { subject: "farewell", text: "t", html: "h" };

describe.for(databaseKinds)("the end of an account on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const close = (userId: string) => accountClosing(database.sql).close(userId, farewell, anAudit("user.deleted", { userId }));
  const letters = (to: string) =>
    runText<{ subject: string; user_id: string | null }>(database.sql, "select subject, user_id::text from outbox where recipient = $1", [
      to,
    ]);

  test("of 64 at once one closes it, writes one letter and one record", async () => {
    const user = await aUser(database.sql);
    const outcomes = await Promise.all(Array.from({ length: 64 }, () => close(user.id)));
    expect(outcomes.filter((outcome) => outcome === "closed")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "gone")).toHaveLength(63);
    expect((await auditOf(database.sql, "user.deleted")).filter(({ user_id }) => user_id === user.id)).toHaveLength(1);
    expect(await letters(user.email)).toEqual([{ subject: "farewell", user_id: null }]);
  });

  test("mails that waited for the user go with the account, and the guards' mark is set", async () => {
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

  test("sign-ins at the same moment leave no session, and no one waits for ever", async () => {
    const user = await aUser(database.sql);
    const start = () =>
      sessions(database.sql).start({ id: anId(), hash: aHash(), userId: user.id, ttl: 60, generation: 0 }, anAudit("session.started"));
    const [outcome] = await Promise.all([close(user.id), ...Array.from({ length: 16 }, start)]);
    expect(outcome).toBe("closed");
    expect(await sessions(database.sql).ofUser(user.id)).toEqual([]);
    expect(await start()).toBeUndefined();
  });

  test("of two operators who leave at once one stays; a disabled operator does not count", async () => {
    await aUser(database.sql, { role: "operator" }).then(({ id }) =>
      runText(database.sql, "update users set enabled = false where id = $1::uuid", [id]),
    );
    const pair = [await aUser(database.sql, { role: "operator" }), await aUser(database.sql, { role: "operator" })];
    expect((await Promise.all(pair.map(({ id }) => close(id)))).sort()).toEqual(["closed", "last_operator"]);
  });

  test("an unknown account is already gone", async () => {
    expect([await close(anId()), await close("x")]).toEqual(["gone", "gone"]);
  });
});
