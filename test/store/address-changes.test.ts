import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MailMessage } from "../../src/accounts/ports.ts";
import { addressChanges } from "../../src/store/address-changes.ts";
import type { Database } from "../../src/store/orm.ts";
import { passwordChanges } from "../../src/store/password-changes.ts";
import { sessions } from "../../src/store/sessions.ts";
import { users } from "../../src/store/users.ts";
import { aHash, anAudit, anId, aSessionOf, aUser, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const mail: MailMessage = { subject: "s", text: "t", html: "<p>h</p>" };

describe.for(databaseKinds)("address changes on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const store = () => addressChanges(database.sql);
  const addressOf = async (id: string) => (await users(database.sql).byId(id))?.email;

  async function requested(email = `${anId()}@new.example.test`) {
    const user = await aUser(database.sql, { emailVerified: true });
    const [proof, stop] = [aHash(), aHash()];
    const session = await aSessionOf(database.sql, user.id);
    const change = { session, email, proof: { tokenHash: proof, ttl: 60, mail }, stop: { tokenHash: stop, ttl: 600, mail } };
    expect(await store().request(change, anAudit("address.change_requested"))).toBe(true);
    return { user, session, email, proof, stop };
  }

  test("of 64 uses of one link to a new address, one changes it", async () => {
    const { user, session, email, proof } = await requested();
    const before = (await auditOf(database.sql, "address.changed")).length;
    const outcomes = await Promise.all(Array.from({ length: 64 }, () => store().confirm(proof, session, mail, anAudit("address.changed"))));
    expect(outcomes.filter((outcome) => outcome === "changed")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === undefined)).toHaveLength(63);
    expect([await addressOf(user.id), (await auditOf(database.sql, "address.changed")).length]).toEqual([email, before + 1]);
  });

  test("of 64 uses of one link to a former address, one stops the change; against a confirmation the former address wins", async () => {
    const { user, session, proof, stop } = await requested();
    const [outcomes] = await Promise.all([
      Promise.all(Array.from({ length: 64 }, () => store().stop(stop, anAudit("address.change_stopped")))),
      Promise.allSettled(Array.from({ length: 8 }, () => store().confirm(proof, session, mail, anAudit("address.changed")))),
    ]);
    expect(outcomes.filter((outcome) => typeof outcome === "object")).toHaveLength(1);
    expect(await addressOf(user.id)).toBe(user.email);
    expect(await store().byProof(proof)).toBeUndefined();
  });

  const addPasskey = (userId: string, name: string, age: string) =>
    runText(
      database.sql,
      `insert into passkeys (user_id, credential_id, public_key, counter, transports, backed_up, aaguid, name, created_at)
       values ($1::uuid, $2::bytea, '\\x00', 0, '{}', false, '', $3, now() - $4::interval)`,
      [userId, aHash(), name, age],
    );

  test("the link to a former address removes the ways in that were added since the first of several requests", async () => {
    const { user, session } = await requested();
    await runText(database.sql, "update address_changes set created_at = now() - interval '1 hour' where user_id = $1::uuid", [user.id]);
    await addPasskey(user.id, "before", "2 hours");
    await addPasskey(user.id, "between", "30 minutes");
    const [proof, stop] = [aHash(), aHash()];
    const again = { session, email: "x@new.example.test", proof: { tokenHash: proof, ttl: 60, mail } };
    await store().request({ ...again, stop: { tokenHash: stop, ttl: 600, mail } }, anAudit("address.change_requested"));
    await store().stop(stop, anAudit("address.change_stopped"));
    const left = await runText<{ name: string }>(database.sql, "select name from passkeys where user_id = $1::uuid", [user.id]);
    expect(left).toEqual([{ name: "before" }]);
  });

  test("a request whose link to the former address has expired does not count for a later one", async () => {
    const { user, session } = await requested();
    const long =
      "update address_changes set created_at = now() - interval '9 days', stop_until = now() - interval '2 days' where user_id = $1::uuid";
    await runText(database.sql, long, [user.id]);
    await addPasskey(user.id, "between", "1 day");
    const [proof, stop] = [aHash(), aHash()];
    const again = { session, email: "y@new.example.test", proof: { tokenHash: proof, ttl: 60, mail } };
    await store().request({ ...again, stop: { tokenHash: stop, ttl: 600, mail } }, anAudit("address.change_requested"));
    await store().stop(stop, anAudit("address.change_stopped"));
    expect(await runText(database.sql, "select name from passkeys where user_id = $1::uuid", [user.id])).toEqual([{ name: "between" }]);
  });

  test("the link to a former address removes the ways in that were added since, and keeps the others", async () => {
    const { user, stop } = await requested();
    await addPasskey(user.id, "before", "1 day");
    await addPasskey(user.id, "after", "0 seconds");
    await store().stop(stop, anAudit("address.change_stopped"));
    const left = await runText<{ name: string }>(database.sql, "select name from passkeys where user_id = $1::uuid", [user.id]);
    expect(left).toEqual([{ name: "before" }]);
  });

  test("a sign-in that waits for a code since before the stop does not count for the password that is set after it", async () => {
    const { user, stop } = await requested();
    const start = (generation: number) =>
      sessions(database.sql).start({ id: anId(), hash: aHash(), userId: user.id, ttl: 60, generation }, anAudit("session.started"));
    const proved = (await users(database.sql).byEmail(user.email))?.generation ?? -1;
    await store().stop(stop, anAudit("address.change_stopped"));
    const link = { tokenHash: aHash(), ttl: 60 };
    await passwordChanges(database.sql).issueReset(user.email, link, mail, anAudit("password.reset_requested"));
    expect(await passwordChanges(database.sql).reset(link.tokenHash, "hash", mail, anAudit("password.changed"))).toBeDefined();
    expect(await start(proved)).toBeUndefined();
    expect(await start((await users(database.sql).byEmail(user.email))?.generation ?? -1)).toBeDefined();
  });

  test("the link to a former address removes an app that was begun before the change was asked for and confirmed since", async () => {
    const apps = async (confirmed: string) => {
      const { user, stop } = await requested();
      const app =
        "insert into authenticator_apps (user_id, secret, created_at, confirmed_at) values ($1::uuid, 's', now() - interval '1 day', ";
      await runText(database.sql, `${app}${confirmed})`, [user.id]);
      await store().stop(stop, anAudit("address.change_stopped"));
      return (await runText(database.sql, "select 1 from authenticator_apps where user_id = $1::uuid", [user.id])).length;
    };
    expect([await apps("now()"), await apps("null"), await apps("now() - interval '1 hour'")]).toEqual([0, 0, 1]);
  });

  test("of 16 users who confirm one address at once, one gets it", async () => {
    const email = `${anId()}@new.example.test`;
    const rivals = await Promise.all(Array.from({ length: 16 }, () => requested(email)));
    const outcomes = await Promise.all(
      rivals.map(({ session, proof }) => store().confirm(proof, session, mail, anAudit("address.changed"))),
    );
    expect(outcomes.toSorted()).toEqual(["changed", ...Array.from({ length: 15 }, () => "taken")]);
  });

  test("a link that expired, is another user's, or was replaced does nothing", async () => {
    const { user, session, proof } = await requested();
    const other = await requested();
    expect(await store().confirm(other.proof, session, mail, anAudit("address.changed"))).toBeUndefined();
    await runText(database.sql, "update address_changes set expires_at = now() where user_id = $1::uuid", [user.id]);
    expect(await store().confirm(proof, session, mail, anAudit("address.changed"))).toBeUndefined();
    const change = {
      session: other.session,
      email: `${anId()}@new.example.test`,
      proof: { tokenHash: aHash(), ttl: 60, mail },
      stop: undefined,
    };
    await store().request(change, anAudit("address.change_requested"));
    expect([await store().byProof(other.proof), await store().byStop(other.stop)]).toEqual([undefined, undefined]);
  });
});
