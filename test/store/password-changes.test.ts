import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Letter } from "../../src/accounts/ports.ts";
import type { Database } from "../../src/store/orm.ts";
import { outbox } from "../../src/store/outbox.ts";
import { passwordChanges } from "../../src/store/password-changes.ts";
import { sessions } from "../../src/store/sessions.ts";
import type { Sql } from "../../src/store/sql.ts";
import { users } from "../../src/store/users.ts";
import { aHash, anAudit, anId, aUser, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const letter = (words: string): Letter => ({ subject: words, text: words, html: `<p>${words}</p>` });
const asked = () => anAudit("password.reset_requested");
const changed = () => anAudit("password.changed");

describe.for(databaseKinds)("new passwords on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const store = () => passwordChanges(database.sql);
  const account = async (email: string) => {
    const found = await users(database.sql).byEmail(email);
    if (found === undefined) throw new Error("no such account");
    return found;
  };
  const waiting = async (userId: string) =>
    (
      await runText<{ subject: string }>(database.sql, "select subject from outbox where user_id = $1::uuid order by created_at, subject", [
        userId,
      ])
    ).map(({ subject }) => subject);

  async function linked(words = "the link") {
    const user = await aUser(database.sql);
    const hash = aHash();
    await store().issueReset(user.email, { tokenHash: hash, ttl: 1800 }, letter(words), asked());
    return { user, hash };
  }

  describe("forgotten passwords", () => {
    test("known, unknown and impossible addresses are one statement each, the same", async () => {
      const user = await aUser(database.sql);
      const names: string[] = [];
      const counting: Sql = {
        ...database.sql,
        query: (statement, parameters) => {
          names.push(statement.name);
          return database.sql.query(statement, parameters);
        },
        transaction: () => {
          throw new Error("no transaction");
        },
      };
      for (const email of [user.email, "nobody@example.test", "nul\0@example.test"]) {
        await passwordChanges(counting).issueReset(email, { tokenHash: aHash(), ttl: 1800 }, letter("x"), asked());
      }
      expect(names).toEqual(["password_reset_issue", "password_reset_issue", "password_reset_issue"]);
      expect(await runText(database.sql, "select 1 from password_resets")).toHaveLength(1);
    });

    test("the next link takes the place of the one before, and of a mail that still waits; it is recorded whose it is", async () => {
      const { user, hash } = await linked("first");
      const next = aHash();
      await store().issueReset(user.email.toUpperCase(), { tokenHash: next, ttl: 1800 }, letter("second"), asked());
      expect([await store().ownerOfReset(hash), await store().ownerOfReset(next)]).toEqual([undefined, user]);
      expect((await waiting(user.id)).filter((subject) => subject !== "s")).toEqual(["second"]);
      expect((await auditOf(database.sql, "password.reset_requested")).filter(({ user_id }) => user_id === user.id)).toHaveLength(2);
    });

    test("a disabled person gets no link, and one that is out is good for nothing", async () => {
      const { user, hash } = await linked();
      await runText(database.sql, "update users set enabled = false where id = $1::uuid", [user.id]);
      expect(await store().ownerOfReset(hash)).toBeUndefined();
      expect(await store().reset(hash, "new hash", letter("x"), changed())).toBeUndefined();
      const other = aHash();
      await store().issueReset(user.email, { tokenHash: other, ttl: 1800 }, letter("x"), asked());
      expect(await store().ownerOfReset(other)).toBeUndefined();
    });

    test("of 64 that use one link at once one sets the password", async () => {
      const { user, hash } = await linked();
      const tries = Array.from({ length: 64 }, (_, n) => `hash ${n}`);
      const results = await Promise.all(tries.map((mine) => store().reset(hash, mine, letter("news"), changed())));
      const winners = tries.filter((_, n) => results[n] !== undefined);
      expect(winners).toHaveLength(1);
      expect(await account(user.email)).toMatchObject({ passwordHash: winners[0], generation: 1 });
      expect((await waiting(user.id)).filter((subject) => subject === "news")).toHaveLength(1);
    });

    test("a reset ends the sessions, and the link's own mail if it still waits", async () => {
      const { user, hash } = await linked();
      const session = aHash();
      await sessions(database.sql).start({ id: anId(), hash: session, userId: user.id, ttl: 60 }, anAudit("session.started"));
      await store().reset(hash, "new", letter("news"), changed());
      expect(await sessions(database.sql).byHash(session)).toBeUndefined();
      expect((await waiting(user.id)).filter((subject) => subject !== "s")).toEqual(["news"]);
    });

    test("somebody without a password gets one", async () => {
      const { user, hash } = await linked();
      await runText(database.sql, "delete from credentials where user_id = $1::uuid", [user.id]);
      expect(await store().reset(hash, "first password", letter("x"), changed())).toEqual(user);
      expect(await account(user.email)).toMatchObject({ passwordHash: "first password" });
    });

    test("an expired link is unknown", async () => {
      const { hash } = await linked();
      await runText(database.sql, "update password_resets set expires_at = now()");
      expect(await store().ownerOfReset(hash)).toBeUndefined();
      expect(await store().reset(hash, "x", letter("x"), changed())).toBeUndefined();
    });

    test("a mail whose link has expired is not sent any more", async () => {
      const { user } = await linked("late");
      await runText(database.sql, "update outbox set expires_at = now() where user_id = $1::uuid", [user.id]);
      const claimed = await outbox(database.sql).claim(100, 60);
      expect(claimed.find(({ subject }) => subject === "late")?.left).toBeLessThanOrEqual(0);
    });
  });

  describe("a change of password", () => {
    const change = (userId: string, generation: number, passwordHash: string, hash = aHash()) =>
      store().change({ userId, generation, passwordHash, session: { id: anId(), hash, userId, ttl: 60 } }, letter("news"), {
        change: changed(),
        session: anAudit("session.started"),
      });

    test("ends every session and starts one, and ends a link for a forgotten password", async () => {
      const { user, hash } = await linked();
      const [old, renewed] = [aHash(), aHash()];
      await sessions(database.sql).start({ id: anId(), hash: old, userId: user.id, ttl: 60 }, anAudit("session.started"));
      const session = await change(user.id, 0, "new hash", renewed);
      expect(await sessions(database.sql).byHash(old)).toBeUndefined();
      expect(await sessions(database.sql).byHash(renewed)).toEqual({ session, user });
      expect(await store().ownerOfReset(hash)).toBeUndefined();
      expect(await account(user.email)).toMatchObject({ passwordHash: "new hash", generation: 1 });
    });

    test("of 64 with one and the same old password one succeeds, and nothing is left of the rest", async () => {
      const user = await aUser(database.sql);
      const results = await Promise.all(Array.from({ length: 64 }, (_, n) => change(user.id, 0, `hash ${n}`)));
      expect(results.filter((session) => session !== undefined)).toHaveLength(1);
      expect(await sessions(database.sql).ofUser(user.id)).toHaveLength(1);
      expect((await waiting(user.id)).filter((subject) => subject === "news")).toHaveLength(1);
    });

    test("a sign-in by the old password starts nothing, be it before, during or after", async () => {
      const user = await aUser(database.sql);
      const start = (generation: number) =>
        sessions(database.sql).start({ id: anId(), hash: aHash(), userId: user.id, ttl: 60, generation }, anAudit("session.started"));
      const starts = Array.from({ length: 16 }, () => start(0));
      const changing = change(user.id, 0, "new hash");
      const [session] = await Promise.all([changing, ...starts, ...Array.from({ length: 16 }, () => start(0))]);
      expect((await sessions(database.sql).ofUser(user.id)).map(({ id }) => id)).toEqual([session?.id]);
      expect(await start(0)).toBeUndefined();
      expect(await start(1)).toBeDefined();
    });
  });
});
