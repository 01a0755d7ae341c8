import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { databaseClock } from "../../src/core/clocks.ts";
import { pendingRequests } from "../../src/store/authorization-requests.ts";
import { readiness } from "../../src/store/availability.ts";
import { invitations, sentInvitations } from "../../src/store/invitations.ts";
import { logoutDeliveries } from "../../src/store/logouts.ts";
import type { Database } from "../../src/store/orm.ts";
import { outbox } from "../../src/store/outbox.ts";
import { users } from "../../src/store/users.ts";
import { aHash, aNewUser, anAudit } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { aNewId } from "../support/management.ts";

describe.for(databaseKinds)("pending requests and the outbox on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const run = (text: string) => runText(database.sql, text);

  describe("pending requests", () => {
    const BOUND = { holder: "address 192.0.2.1", limit: 1000 };

    test("keeps each holder's newest requests up to the limit, and does not delete those of others", async () => {
      const store = pendingRequests(database.sql);
      const [mine, other] = [{ holder: `user ${Buffer.from(aHash()).toString("hex")}`, limit: 3 }, aHash()];
      await store.put(other, "x=1", 600, BOUND);
      const ids = Array.from({ length: 5 }, () => aHash());
      for (const id of ids) await store.put(id, "x=1", 600, mine);
      const found = await Promise.all(ids.map((id) => store.byId(id)));
      expect(found.map((request) => request !== undefined)).toEqual([false, false, true, true, true]);
      expect(await store.byId(other)).toBeDefined();
      await Promise.all(Array.from({ length: 32 }, () => store.put(aHash(), "x=1", 600, mine)));
      await store.put(aHash(), "x=1", 600, mine);
      const count = { name: "held_by", text: "select count(*)::int as count from pending_requests where holder = $1" };
      expect(await database.sql.query(count, [mine.holder])).toEqual([{ count: 3 }]);
    });

    test("a pending request is found until it is taken; 64 concurrent calls: exactly one takes it", async () => {
      const begun = Date.now();
      const [id, answered] = [aHash(), aHash()];
      const store = pendingRequests(database.sql);
      await store.put(id, "response_type=code&state=%22%27", 600, BOUND);
      const found = await store.byId(id);
      expect(found).toMatchObject({ query: "response_type=code&state=%22%27" });
      expect(found?.createdAt).toSatisfy((at: number) => at >= begun / 1_000 - 1 && at <= Date.now() / 1_000 + 1);
      const taken = await Promise.all(Array.from({ length: 64 }, () => store.take(id, answered, 30)));
      expect(taken.filter((request) => request !== undefined)).toEqual([found]);
      expect(await store.byId(id)).toBeUndefined();
      expect(await store.byId(answered)).toEqual(found);
      expect(await store.take(id, aHash(), 30)).toBeUndefined();
      await run("update pending_requests set expires_at = expires_at - interval '31 seconds'");
      expect(await store.byId(answered)).toBeUndefined();
    });

    test("an expired request is not found, taken or extended", async () => {
      const id = aHash();
      const store = pendingRequests(database.sql);
      await store.put(id, "x=1", 600, BOUND);
      await run("update pending_requests set expires_at = now()");
      expect([await store.byId(id), await store.take(id, aHash(), 30)]).toEqual([undefined, undefined]);
      await store.extend(id, 3600);
      expect(await store.byId(id)).toBeUndefined();
    });

    test("extending a request counts from its creation, does not add up, and does not shorten it", async () => {
      const id = aHash();
      const store = pendingRequests(database.sql);
      await store.put(id, "x=1", 600, BOUND);
      await run(
        "update pending_requests set created_at = created_at - interval '300 seconds', expires_at = expires_at - interval '300 seconds'",
      );
      for (const ttl of [3600, 3600, 60]) await store.extend(id, ttl);
      await run("update pending_requests set expires_at = expires_at - interval '3290 seconds'");
      expect(await store.byId(id)).toBeDefined();
      await run("update pending_requests set expires_at = expires_at - interval '20 seconds'");
      expect(await store.byId(id)).toBeUndefined();
    });
  });

  describe("the outbox", () => {
    const mail = { to: "ada@example.test", subject: "Verify your address", text: "https://…", html: "<a>…</a>" };
    const queue = async (count: number) => {
      await run("delete from outbox");
      for (let n = 0; n < count; n++) {
        await users(database.sql).register(aNewUser(), { tokenHash: aHash(), ttl: 60 }, mail, anAudit("user.registered"));
      }
    };

    const invite = (email: string, subject = `Invitation of ${email}`) =>
      invitations(database.sql).issue(
        { tokenHash: aHash(), email, role: "user", realmId: null, ttl: 600, inviterId: null },
        { ...mail, subject },
        anAudit("user.invited"),
      );

    test("a second invitation takes the mail of the first with it, whose link has ended", async () => {
      await queue(0);
      await invite(mail.to, "First");
      await invite("bob@example.test");
      await invite(mail.to, "Second");
      expect(await run("select subject from outbox order by subject")).toEqual([
        { subject: "Invitation of bob@example.test" },
        { subject: "Second" },
      ]);
    });

    test("a withdrawn invitation takes its mail with it, and no other mail", async () => {
      await queue(0);
      const sent = sentInvitations(database.sql);
      await run("insert into outbox (recipient, subject, text, html) values ('ada@example.test', 'Deleted', 't', 'h')");
      for (const email of [mail.to, "bob@example.test"]) await invite(email);
      const { items } = await sent.list(mail.to, { limit: 1 });
      expect(await sent.withdraw(items[0]?.id ?? "", anAudit("user.invited"))).toBe(mail.to);
      expect(await run("select subject from outbox order by subject")).toEqual([
        { subject: "Deleted" },
        { subject: "Invitation of bob@example.test" },
      ]);
    });

    test("concurrent claims share the queued mails; a claimed mail cannot be claimed again until its lease ends", async () => {
      await queue(10);
      const store = outbox(database.sql);
      const claims = await Promise.all(Array.from({ length: 5 }, () => store.claim(3, 60)));
      const ids = claims.flat().map(({ id }) => id);
      expect(ids).toHaveLength(10);
      expect(new Set(ids).size).toBe(10);
      expect(claims.flat()[0]).toMatchObject({ ...mail, attempts: 0 });
      expect(await store.claim(10, 60)).toEqual([]);
      await run("update outbox set due_at = now() - interval '1 second'");
      expect(await store.claim(20, 60)).toHaveLength(10);
    });

    const ROWS = {
      outbox: "insert into outbox (recipient, subject, text, html) select 'ada@example.test', 's', 't', 'h'",
      logout_deliveries: `insert into logout_deliveries (client_id, user_id, session_id) select 'c', '${aNewId()}', '${aNewId()}'`,
    };
    test.for([
      ["outbox", outbox],
      ["logout_deliveries", logoutDeliveries],
    ] as const)("a claim takes no more than its limit, also by the plan for a table of one row: %s", async ([table, storeOf]) => {
      const add = (count: number) => run(`${ROWS[table]} from generate_series(1, ${count})`);
      await run(`delete from ${table}`);
      await add(1);
      await run(`analyze ${table}`);
      await add(2);
      const claimed = Array.from({ length: 3 }, () => storeOf(database.sql).claim(1, 60));
      expect((await Promise.all(claimed)).map((rows) => rows.length)).toEqual([1, 1, 1]);
      await run(`delete from ${table}`);
    });

    test("a delivered or abandoned mail is deleted; a postponed one can be claimed again, with its attempts counted", async () => {
      await queue(3);
      const store = outbox(database.sql);
      const [first, second, third] = await store.claim(3, 60);
      await store.delivered(first!.id);
      await store.abandoned(second!.id);
      await store.postponed(third!.id, 0);
      const again = await store.claim(3, 60);
      expect(again.map(({ id, attempts }) => [id, attempts])).toEqual([[third!.id, 1]]);
      await store.postponed(third!.id, 3_600);
      expect(await store.claim(3, 60)).toEqual([]);
    });
  });

  test("readiness reports that the database responds, and the offset of its clock", async () => {
    const { ping, time } = readiness(database.sql);
    await ping();
    const measured = (process: () => number) => databaseClock(time, process, () => performance.now()).measure();
    expect(Math.abs(await measured(Date.now))).toBeLessThan(1);
    expect(await measured(() => Date.now() - 40_000)).toBeGreaterThan(39);
  });
});
