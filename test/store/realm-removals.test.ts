import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { RealmContents } from "../../src/management/ports.ts";
import { defaultSettings } from "../../src/resources/resource.ts";
import { managedConnections } from "../../src/store/connections.ts";
import { managedScopes } from "../../src/store/consents.ts";
import { identityLinks } from "../../src/store/identity-links.ts";
import { invitations } from "../../src/store/invitations.ts";
import { managedRealms } from "../../src/store/realms.ts";
import { managedResources } from "../../src/store/resources.ts";
import type { Sql } from "../../src/store/sql.ts";
import { importedUsers, managedUsers, users } from "../../src/store/users.ts";
import { newConnection } from "../../src/upstream/connection.ts";
import { aHash, aNewUser, anAudit, anId, aUser, connectProvider } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { racing } from "../support/deadlocks.ts";
import { A_SECRET_BOX } from "../support/secret-box.ts";

const ISSUER = "https://idp.example.test";
const MAIL = { to: "someone@example.test", subject: "s", text: "t", html: "h" };
const UNSAID = {
  email: undefined,
  emailVerified: false,
  firstName: undefined,
  lastName: undefined,
  acr: undefined,
  amr: [],
  sid: undefined,
};
const EMPTY: RealmContents = { users: 0, leaving: 0, connections: 0, invitations: 0, clients: 0 };

describe.for(databaseKinds)("the removal of a realm on $name", ({ name, fresh }) => {
  const { database } = racing(fresh);
  let sql: Sql;
  beforeAll(async () => {
    ({ sql } = database());
    await connectProvider(sql, ISSUER);
  });

  let realmId: string;
  const aRealm = async () => (await managedRealms(sql).create(`realm ${anId()}`, anAudit("realm.changed")))?.id ?? "";
  beforeEach(async () => {
    realmId = await aRealm();
  });
  test("of two realms whose names differ in case alone, made at once or given at once, there is one", async () => {
    const rounds = Array.from({ length: 10 }, () => anId());
    for (const id of rounds) {
      const made = await Promise.all([`q ${id}`, `Q ${id}`].map((each) => managedRealms(sql).create(each, anAudit("realm.changed"))));
      expect(made.filter((each) => each !== undefined)).toHaveLength(1);
      const others = [await aRealm(), await aRealm()];
      const named = others.map((each, n) => managedRealms(sql).rename(each, `${"rR"[n]} ${id}`, anAudit("realm.changed")));
      expect((await Promise.all(named)).filter((each) => each === "taken")).toHaveLength(1);
    }
  });

  const remove = (on: Sql = sql) => managedRealms(on).remove(realmId, anAudit("realm.changed"));

  const anEmail = () => `${anId()}@example.test`;
  const invite = (on: Sql = sql, tokenHash = aHash()) => {
    const invitation = { tokenHash, email: anEmail(), role: "user", realmId, ttl: 600, inviterId: null } as const;
    return invitations(on).issue(invitation, MAIL, anAudit("user.invited"));
  };

  /** What brings something into the realm, with what it comes to once the realm is gone: a result, or the reason of a refusal. */
  const newcomers = {
    "a sign-up": [
      (on: Sql) => users(on).register(aNewUser({ realmId }), { tokenHash: aHash(), ttl: 60 }, MAIL, anAudit("user.registered")),
      "realm_unknown",
      "users",
    ],
    "an account that an operator opens": [
      (on: Sql) =>
        invitations(on).open({ id: anId(), email: anEmail(), role: "user", passwordHash: "h", realmId }, anAudit("user.registered")),
      "realm_unknown",
      "users",
    ],
    "a user who is moved": [
      async (on: Sql) => managedUsers(on).setRealm((await aUser(on)).id, realmId, anAudit("user.changed")),
      "realm_unknown",
      "users",
    ],
    "an import": [
      (on: Sql) => {
        const member = { emailVerified: true, firstName: null, lastName: null, enabled: true };
        const user = { ...member, id: anId(), email: anEmail(), role: "user", realmId } as const;
        return importedUsers(on).import([user], [anAudit("user.registered")], false);
      },
      "account_just_opened",
      "users",
    ],
    "an account that a provider opens": [
      (on: Sql) => {
        const user = { id: anId(), realmId, email: anEmail(), firstName: null, lastName: null, role: "user" } as const;
        return identityLinks(on).open(user, { issuer: ISSUER, subject: anId(), ...UNSAID }, []);
      },
      false,
      "users",
    ],
    "an invitation": [(on: Sql) => invite(on), "realm_unknown", "invitations"],
    "a connection": [
      (on: Sql) => {
        const request = { name: `c-${anId()}`, issuer: `https://${anId()}.example.test`, clientId: "us", clientSecret: "secret" };
        return managedConnections(on).add(newConnection(request, anId(), realmId, A_SECRET_BOX), anAudit("connection.created"));
      },
      undefined,
      "connections",
    ],
    "a description of a scope": [
      (on: Sql) => managedScopes(on).set(realmId, { name: "of:realm", title: { en: "See" }, detail: {} }, anAudit("scope.changed")),
      false,
      undefined,
    ],
    "a record of a resource": [
      (on: Sql) => {
        const resource = `https://${anId()}.example.test`;
        const record = { ...defaultSettings(resource), resource, realmId, origin: "operator" } as const;
        return managedResources(on).add(record, anAudit("resource.created"));
      },
      undefined,
      undefined,
    ],
  } as const;

  const outcome = (work: Promise<unknown>): Promise<unknown> => work.catch(({ reason }: { reason: string }) => reason);

  test.for(Object.entries(newcomers))("is not outrun by %s", async ([, [enter, refused]], { expect }) => {
    expect(await remove()).toBe("removed");
    expect(await outcome(enter(sql))).toEqual(refused);
  });

  // The embedded database runs one transaction after the other.
  if (name === "postgresql") {
    const waits = async () =>
      (await runText(sql, "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'")).length > 0;

    /** Commits `first` once `second` waits for it. @returns the outcomes of both */
    async function meeting(first: (tx: Sql) => Promise<unknown>, second: () => Promise<unknown>) {
      let later: Promise<unknown> = Promise.resolve();
      const earlier = await sql.transaction(async (tx) => {
        const done = await first({ ...tx, transaction: (inner) => inner(tx) });
        later = outcome(second());
        await expect.poll(waits).toBe(true);
        return done;
      });
      return [earlier, await later];
    }

    test.for(Object.entries(newcomers))(
      "that is under way makes %s wait, and then see that there is no realm",
      async ([, [enter, refused]]) => {
        expect(await meeting(remove, () => enter(sql))).toEqual(["removed", refused]);
      },
    );

    test.for(Object.entries(newcomers))(
      "waits for %s that is under way, and then sees what is in the realm",
      async ([, [enter, , kind]]) => {
        const [, removed] = await meeting(enter, remove);
        expect(removed).toEqual(kind === undefined ? "removed" : { ...EMPTY, [kind]: 1 });
      },
    );

    test("waits for an invitation that is being accepted", async () => {
      const tokenHash = aHash();
      await invite(sql, tokenHash);
      const accept = (tx: Sql) =>
        invitations(tx).accept(tokenHash, { id: anId(), email: anEmail(), passwordHash: "h" }, anAudit("user.registered"));
      expect(await meeting(accept, remove)).toEqual([expect.objectContaining({ realmId }), { ...EMPTY, users: 1 }]);
    });

    test("that meets another one is done once", async () => {
      expect(await meeting(remove, remove)).toEqual(["removed", undefined]);
    });

    test("that meets a change of its name is refused or done, and so is a name that two realms are to get at once", async () => {
      const rename = (id: string, to: string, on: Sql) => managedRealms(on).rename(id, to, anAudit("realm.changed"));
      const to = `renamed ${anId()}`;
      const [other, third] = [await aRealm(), await aRealm()];
      expect(
        await meeting(
          (tx) => rename(other, to, tx),
          () => rename(third, to, sql),
        ),
      ).toEqual([expect.objectContaining({ name: to }), "taken"]);
      expect(await meeting(remove, () => rename(realmId, anId(), sql))).toEqual(["removed", undefined]);
    });
  }

  test("counts users whose deletion is not complete, and invitations whose links work alone", async () => {
    await invite();
    const { id } = await aUser(sql, { realmId });
    await aUser(sql, { realmId });
    await runText(sql, "update users set deleted_at = now() where id = $1::uuid", [id]);
    expect(await remove()).toEqual({ ...EMPTY, users: 1, leaving: 1, invitations: 1 });
    await runText(sql, "delete from users where realm_id = $1::uuid", [realmId]);
    await runText(sql, "update invitations set expires_at = now() where realm_id = $1::uuid", [realmId]);
    expect(await remove()).toBe("removed");
    expect(await runText(sql, "select 1 from invitations where realm_id = $1::uuid", [realmId])).toEqual([]);
  });
});
