import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { MailMessage } from "../../src/accounts/ports.ts";
import type { SecretHash } from "../../src/random.ts";
import type { Database } from "../../src/store/orm.ts";
import { outbox } from "../../src/store/outbox.ts";
import { passwordChanges } from "../../src/store/password-changes.ts";
import { sessions } from "../../src/store/sessions.ts";
import type { Sql } from "../../src/store/sql.ts";
import { managedUsers, users } from "../../src/store/users.ts";
import { walletLinks } from "../../src/store/wallet-links.ts";
import { aHash, anAudit, anId, aUser, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

/** A client that the user owns. @returns its client_id */
async function aClientRow(sql: Sql, ownerId: string): Promise<string> {
  const clientId = anId();
  await runText(
    sql,
    `insert into clients (client_id, realm_id, owner_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method)
     select $1, realm_id, id, 'developer', 'x', '{}', '{}', '{client_credentials}', '{}', 'client_secret_basic' from users where id = $2::uuid`,
    [clientId, ownerId],
  );
  return clientId;
}

const message = (words: string): MailMessage => ({ subject: words, text: words, html: `<p>${words}</p>` });
const asked = () => anAudit("password.reset_requested");
const changed = () => anAudit("password.changed");

describe.for(databaseKinds)("password resets and changes on $name", ({ fresh }) => {
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
    await store().issueReset(user.email, { tokenHash: hash, ttl: 1800 }, message(words), asked());
    return { user, hash };
  }

  describe("password resets", () => {
    test("known, unknown and malformed addresses run the same single statement", async () => {
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
      for (const email of [user.email, "unknown@example.test", "nul\0@example.test"]) {
        await passwordChanges(counting).issueReset(email, { tokenHash: aHash(), ttl: 1800 }, message("x"), asked());
      }
      expect(names).toEqual(["password_reset_issue", "password_reset_issue", "password_reset_issue"]);
      expect(await runText(database.sql, "select 1 from password_resets")).toHaveLength(1);
    });

    test("a link whose user is enabled again while it is used does nothing", async () => {
      const { user, hash } = await linked();
      const setEnabled = (sql: Sql, enabled: boolean) => managedUsers(sql).setEnabled(user.id, enabled, anAudit("user.changed"));
      await setEnabled(database.sql, false);
      const enabling: Sql = {
        ...database.sql,
        transaction: (work) =>
          database.sql.transaction((tx) =>
            work({
              query: async (statement, parameters) => {
                const rows = await tx.query<never>(statement, parameters);
                if (statement.name === "password_reset_hold_owner") await setEnabled({ ...tx, transaction: (inner) => inner(tx) }, true);
                return rows;
              },
            }),
          ),
      };
      expect(await passwordChanges(enabling).reset(hash, "hash", message("x"), changed())).toBeUndefined();
      expect(await account(user.email)).toMatchObject({ user: { enabled: true, emailVerified: false } });
    });

    test("a new link replaces the previous link and its queued mail; each request is recorded with its user", async () => {
      const { user, hash } = await linked("first");
      const next = aHash();
      await store().issueReset(user.email.toUpperCase(), { tokenHash: next, ttl: 1800 }, message("second"), asked());
      expect([await store().ownerOfReset(hash), await store().ownerOfReset(next)]).toEqual([undefined, user]);
      expect((await waiting(user.id)).filter((subject) => subject !== "s")).toEqual(["second"]);
      expect((await auditOf(database.sql, "password.reset_requested")).filter(({ user_id }) => user_id === user.id)).toHaveLength(2);
    });

    test("a disabled user gets no link, and a link sent before is invalid", async () => {
      const { user, hash } = await linked();
      await runText(database.sql, "update users set enabled = false where id = $1::uuid", [user.id]);
      expect(await store().ownerOfReset(hash)).toBeUndefined();
      expect(await store().reset(hash, "new hash", message("x"), changed())).toBeUndefined();
      const other = aHash();
      await store().issueReset(user.email, { tokenHash: other, ttl: 1800 }, message("x"), asked());
      expect(await store().ownerOfReset(other)).toBeUndefined();
    });

    test("64 concurrent uses of one link: exactly one sets the password", async () => {
      const { user, hash } = await linked();
      const tries = Array.from({ length: 64 }, (_, n) => `hash ${n}`);
      const results = await Promise.all(tries.map((mine) => store().reset(hash, mine, message("news"), changed())));
      const winners = tries.filter((_, n) => results[n] !== undefined);
      expect(winners).toHaveLength(1);
      expect(await account(user.email)).toMatchObject({ passwordHash: winners[0], generation: 1 });
      expect((await waiting(user.id)).filter((subject) => subject === "news")).toHaveLength(1);
    });

    test("a reset ends the user's sessions and deletes the link's queued mail", async () => {
      const { user, hash } = await linked();
      const session = aHash();
      await sessions(database.sql).start({ id: anId(), hash: session, userId: user.id, ttl: 60 }, anAudit("session.started"));
      await store().reset(hash, "new", message("news"), changed());
      expect(await sessions(database.sql).byHash(session)).toBeUndefined();
      expect((await waiting(user.id)).filter((subject) => subject !== "s")).toEqual(["news"]);
    });

    test("a reset by a user without a verified address verifies it and deletes consents, wallets, sessions and links from before", async () => {
      const { user, hash } = await linked();
      const verification = aHash();
      await users(database.sql).issueVerification(user.id, { tokenHash: verification, ttl: 60 }, { to: user.email, ...message("verify") });
      const session = { id: anId(), hash: aHash() };
      await sessions(database.sql).start({ ...session, userId: user.id, ttl: 60 }, anAudit("session.started"));
      const wallet = async (subject: string) => {
        const link = { handleHash: aHash(), stateHash: aHash(), userId: user.id, sessionId: session.id, sameDevice: false, ttl: 60 };
        await walletLinks(database.sql).start(link, anAudit("wallet.link_started"));
        await walletLinks(database.sql).answer(link.stateHash);
        await walletLinks(database.sql).present(link.stateHash, { issuer: "https://issuer.example.test", subject }, undefined);
        return () => walletLinks(database.sql).complete(link.handleHash, () => anAudit("wallet.linked"));
      };
      await (await wallet(user.id))();
      const pending = await wallet("pending");
      await runText(
        database.sql,
        "insert into identity_links (issuer, subject, user_id) values ('https://idp.example.test', 'x', $1::uuid)",
        [user.id],
      );
      const client = await aClientRow(database.sql, user.id);
      await runText(
        database.sql,
        "insert into consents (user_id, client_id, client_name, scopes, resources) values ($1::uuid, $2, 'x', '{}', '{}')",
        [user.id, client],
      );
      const grant = anId();
      await runText(
        database.sql,
        "insert into grants (id, client_id, user_id, scopes, audience, auth_time) values ($1::uuid, $2, $3::uuid, '{}', '{}', now())",
        [grant, client, user.id],
      );

      await store().reset(hash, "new", message("news"), anAudit("password.changed", { userId: user.id }));

      const left = async (text: string) => (await runText(database.sql, text, [user.id])).length;
      expect(await account(user.email)).toMatchObject({ passwordHash: "new", generation: 1, user: { emailVerified: true } });
      expect(await sessions(database.sql).byHash(session.hash)).toBeUndefined();
      expect(await users(database.sql).verifyEmail(verification, {})).toBeUndefined();
      expect(await pending()).toBeUndefined();
      expect(await left("select 1 from credentials where user_id = $1::uuid and type = 'wallet'")).toBe(0);
      expect(await left("select 1 from identity_links where user_id = $1::uuid")).toBe(0);
      expect(await left("select 1 from consents where user_id = $1::uuid")).toBe(0);
      expect(await left("select 1 from grants where user_id = $1::uuid and revoked_at is null")).toBe(0);
      expect(await left("select 1 from clients where owner_id = $1::uuid and enabled")).toBe(1);
      expect(await waiting(user.id)).toEqual(["news"]);
      expect(await auditOf(database.sql, "user.verified")).toContainEqual(
        expect.objectContaining({ user_id: user.id, reason: "password_reset" }),
      );
    });

    test("a reset by a user with a verified address keeps consents and wallets", async () => {
      const { user, hash } = await linked();
      await runText(database.sql, "update users set email_verified = true where id = $1::uuid", [user.id]);
      const client = await aClientRow(database.sql, user.id);
      await runText(
        database.sql,
        "insert into consents (user_id, client_id, client_name, scopes, resources) values ($1::uuid, $2, 'x', '{}', '{}')",
        [user.id, client],
      );
      await runText(database.sql, "insert into credentials (user_id, type, issuer, subject) values ($1::uuid, 'wallet', 'i', $2)", [
        user.id,
        user.id,
      ]);
      await store().reset(hash, "new", message("news"), changed());
      expect(await runText(database.sql, "select 1 from consents where user_id = $1::uuid", [user.id])).toHaveLength(1);
      expect(await runText(database.sql, "select 1 from credentials where user_id = $1::uuid", [user.id])).toHaveLength(2);
    });

    test("a sign-in with the old password has no session after a concurrent reset", async () => {
      for (let round = 0; round < 10; round++) {
        const { user, hash } = await linked();
        const secrets = Array.from({ length: 8 }, () => aHash());
        const start = (secret: ReturnType<typeof aHash>) =>
          sessions(database.sql).start(
            { id: anId(), hash: secret, userId: user.id, ttl: 60, generation: 0 },
            anAudit("session.started", { userId: user.id }),
          );
        await Promise.all([
          ...secrets.slice(0, 4).map(start),
          store().reset(hash, "new", message("news"), anAudit("password.changed", { userId: user.id })),
          ...secrets.slice(4).map(start),
        ]);
        const alive = await Promise.all(secrets.map((secret) => sessions(database.sql).byHash(secret)));
        expect(alive.filter((session) => session !== undefined)).toEqual([]);
      }
    });

    test("a reset sets the first password of a user without one", async () => {
      const { user, hash } = await linked();
      await runText(database.sql, "delete from credentials where user_id = $1::uuid", [user.id]);
      expect(await store().reset(hash, "first password", message("x"), changed())).toEqual(user);
      expect(await account(user.email)).toMatchObject({ passwordHash: "first password" });
    });

    test("an expired link is not found", async () => {
      const { hash } = await linked();
      await runText(database.sql, "update password_resets set expires_at = now()");
      expect(await store().ownerOfReset(hash)).toBeUndefined();
      expect(await store().reset(hash, "x", message("x"), changed())).toBeUndefined();
    });

    test("a queued mail whose link has expired has no time left to be sent", async () => {
      const { user } = await linked("late");
      await runText(database.sql, "update outbox set expires_at = now() where user_id = $1::uuid", [user.id]);
      const claimed = await outbox(database.sql).claim(100, 60);
      expect(claimed.find(({ subject }) => subject === "late")?.left).toBeLessThanOrEqual(0);
    });
  });

  describe("password changes", () => {
    const change = (userId: string, provedBy: SecretHash, passwordHash: string, hash = aHash()) =>
      store().change({ provedBy, passwordHash, session: { id: anId(), hash, userId, ttl: 60 } }, message("news"), {
        change: changed(),
        session: anAudit("session.started"),
      });
    const signedIn = async (userId: string, more: { readonly acr?: string; readonly provedAt?: number } = {}) => {
      const hash = aHash();
      await sessions(database.sql).start({ id: anId(), hash, userId, ttl: 60, ...more }, anAudit("session.started"));
      return hash;
    };

    test("a change ends all sessions, starts a new one with the proof of the old one, and invalidates a reset link", async () => {
      const { user, hash } = await linked();
      const [other, renewed] = [await signedIn(user.id), aHash()];
      const provedAt = Math.floor(Date.now() / 1000) - 100;
      const old = await signedIn(user.id, { acr: "phr", provedAt });
      const session = await change(user.id, old, "new hash", renewed);
      for (const ended of [old, other]) expect(await sessions(database.sql).byHash(ended)).toBeUndefined();
      expect(session).toMatchObject({ acr: "phr", authTime: provedAt });
      expect(await sessions(database.sql).byHash(renewed)).toEqual({ session: { ...session, proofAge: expect.any(Number) }, user });
      expect(await store().ownerOfReset(hash)).toBeUndefined();
      expect(await account(user.email)).toMatchObject({ passwordHash: "new hash", generation: 1 });
    });

    test("64 concurrent changes in the same session: exactly one succeeds, and the others leave nothing", async () => {
      const user = await aUser(database.sql);
      const session = await signedIn(user.id);
      const results = await Promise.all(Array.from({ length: 64 }, (_, n) => change(user.id, session, `hash ${n}`)));
      expect(results.filter((started) => started !== undefined)).toHaveLength(1);
      expect(await sessions(database.sql).ofUser(user.id)).toHaveLength(1);
      expect((await waiting(user.id)).filter((subject) => subject === "news")).toHaveLength(1);
    });

    test("of a change and a reset at once the later one counts, and no session of before stays", async () => {
      for (let round = 0; round < 10; round++) {
        const { user, hash } = await linked();
        const session = await signedIn(user.id);
        const [started, reset] = await Promise.all([
          change(user.id, session, "changed"),
          store().reset(hash, "reset", message("news"), changed()),
        ]);
        const { passwordHash } = await account(user.email);
        // A change drops the link; a reset ends the session. So exactly one of them was done.
        expect([started !== undefined, reset !== undefined]).toEqual([passwordHash === "changed", passwordHash === "reset"]);
        expect(await sessions(database.sql).byHash(session)).toBeUndefined();
      }
    });

    test("a sign-in with the old password before, during or after a change has no session", async () => {
      const user = await aUser(database.sql);
      const start = (generation: number) =>
        sessions(database.sql).start({ id: anId(), hash: aHash(), userId: user.id, ttl: 60, generation }, anAudit("session.started"));
      const starts = Array.from({ length: 16 }, () => start(0));
      const changing = change(user.id, await signedIn(user.id), "new hash");
      const [session] = await Promise.all([changing, ...starts, ...Array.from({ length: 16 }, () => start(0))]);
      expect((await sessions(database.sql).ofUser(user.id)).map(({ id }) => id)).toEqual([session?.id]);
      expect(await start(0)).toBeUndefined();
      expect(await start(1)).toBeDefined();
    });
  });
});
