import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { NewSessionRecord } from "../../src/accounts/ports.ts";
import { TWO_FACTOR_ACR } from "../../src/protocol/authentication-context.ts";
import type { SecretHash } from "../../src/random.ts";
import { clientDirectory } from "../../src/store/clients.ts";
import type { Database } from "../../src/store/orm.ts";
import { sessions } from "../../src/store/sessions.ts";
import { statement } from "../../src/store/sql.ts";
import { users } from "../../src/store/users.ts";
import { aHash, aNewUser, anAudit, anId, aUser, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const mail = { to: "ada@example.test", subject: "Verify", text: "text", html: "<p>text</p>" };
const count = async (database: Database, table: string): Promise<number> => {
  const [row] = await database.sql.query<{ n: number }>(statement(`test_count_${table}`, `select count(*)::int as n from ${table}`), []);
  return row?.n ?? -1;
};
const disable = statement("test_disable_user", "update users set enabled = false where id = $1::uuid");
const expire = (table: string) => statement(`test_expire_${table}`, `update ${table} set expires_at = now() - interval '1 second'`);

describe.for(databaseKinds)("accounts on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  describe("users", () => {
    test("registration stores the user, password, verification token, mail and audit record together", async () => {
      const newUser = aNewUser({ email: "Grace@Example.test", lastName: "Hopper" });
      const [before, begun] = [await count(database, "outbox"), Date.now()];
      const user = await users(database.sql).register(
        newUser,
        { tokenHash: aHash(), ttl: 60 },
        mail,
        anAudit("user.registered", { userId: newUser.id }),
      );
      expect(user).toMatchObject({
        id: newUser.id,
        email: "Grace@Example.test",
        emailVerified: false,
        role: "developer",
        enabled: true,
        updatedAt: null,
      });
      expect(user?.createdAt).toSatisfy((at: number) => at >= begun / 1_000 - 1 && at <= Date.now() / 1_000 + 1);
      expect(await count(database, "outbox")).toBe(before + 1);
      expect(await users(database.sql).byEmail("gRACE@example.TEST")).toEqual({
        user,
        passwordHash: newUser.passwordHash,
        generation: 0,
        hasSecondFactor: false,
      });
      expect(await users(database.sql).byId(newUser.id)).toEqual(user);
      expect(await auditOf(database.sql, "user.registered")).toContainEqual(expect.objectContaining({ user_id: newUser.id }));
    });

    test("20 concurrent registrations of one address in different case and Unicode forms: exactly one succeeds, and the others store nothing", async () => {
      const before = await Promise.all(
        ["users", "credentials", "verification_tokens", "outbox", "audit_records"].map((t) => count(database, t)),
      );
      const outcomes = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          users(database.sql).register(
            aNewUser({ email: n % 2 === 0 ? "Élodie@example.test" : "e\u0301LODIE@EXAMPLE.test" }),
            { tokenHash: aHash(), ttl: 60 },
            mail,
            anAudit("user.registered"),
          ),
        ),
      );
      expect(outcomes.filter((user) => user !== undefined)).toHaveLength(1);
      const after = await Promise.all(
        ["users", "credentials", "verification_tokens", "outbox", "audit_records"].map((t) => count(database, t)),
      );
      expect(after).toEqual(before.map((n) => n + 1));
    });

    test("20 concurrent verifications with one token: exactly one succeeds, with one audit record", async () => {
      const tokenHash = aHash();
      const user = aNewUser();
      await users(database.sql).register(user, { tokenHash, ttl: 60 }, mail, anAudit("user.registered"));
      const outcomes = await Promise.all(Array.from({ length: 20 }, () => users(database.sql).verifyEmail(tokenHash, {})));
      const won = outcomes.filter((user) => user !== undefined);
      expect(won).toHaveLength(1);
      expect(won[0]).toMatchObject({ id: user.id, emailVerified: true });
      expect((await auditOf(database.sql, "user.verified")).filter(({ user_id }) => user_id === user.id)).toHaveLength(1);
    });

    test("an expired or unknown verification token verifies no account", async () => {
      const tokenHash = aHash();
      await users(database.sql).register(aNewUser(), { tokenHash, ttl: 60 }, mail, anAudit("user.registered"));
      await database.sql.query(expire("verification_tokens"), []);
      expect(await users(database.sql).verifyEmail(tokenHash, {})).toBeUndefined();
      expect(await users(database.sql).verifyEmail(aHash(), {})).toBeUndefined();
    });

    test("a new verification token is one more; of several, used at once, one verifies; a verified address gets no token", async () => {
      const first = aHash();
      const second = aHash();
      const user = aNewUser();
      await users(database.sql).register(user, { tokenHash: first, ttl: 60 }, mail, anAudit("user.registered"));
      await users(database.sql).issueVerification(user.id, { tokenHash: second, ttl: 60 }, mail);
      const uses = await Promise.all([first, second].map((token) => users(database.sql).verifyEmail(token, {})));
      expect(uses.filter((verified) => verified !== undefined)).toEqual([expect.objectContaining({ id: user.id, emailVerified: true })]);
      const before = await count(database, "outbox");
      await users(database.sql).issueVerification(user.id, { tokenHash: aHash(), ttl: 60 }, mail);
      expect(await count(database, "outbox")).toBe(before);
    });

    test("finds the new password hash after a replacement", async () => {
      const user = await aUser(database.sql, { passwordHash: "$argon2id$one" });
      for (const [replaced, by] of [
        ["$argon2id$one", "$argon2id$other"],
        ["$argon2id$one", "$argon2id$late"],
      ] as const)
        await users(database.sql).replacePasswordHash(user.id, replaced, by);
      expect((await users(database.sql).byEmail(user.email))?.passwordHash).toBe("$argon2id$other");
    });

    test.for(["", "not-a-uuid", "0\0", "\ud800", "%", "'; drop table users; --"])(
      "the key %j finds neither a user nor a client",
      async (key) => {
        expect(await users(database.sql).byId(key)).toBeUndefined();
        expect(await users(database.sql).byEmail(key)).toBeUndefined();
        expect(await clientDirectory(database.sql).byClientId(key)).toBeUndefined();
      },
    );
  });

  describe("sessions", () => {
    test("a session and its user are found by the session's hash until the session ends", async () => {
      const user = await aUser(database.sql);
      const hash = aHash();
      const store = sessions(database.sql);
      const session = await store.start({ id: anId(), hash, userId: user.id, ttl: 3600 }, anAudit("session.started", { userId: user.id }));
      expect(session).toMatchObject({ userId: user.id });
      const lifetime = "select extract(epoch from expires_at - auth_time)::int as seconds from sessions where token_hash = $1";
      expect(await database.sql.query(statement("test_session_lifetime", lifetime), [hash])).toEqual([{ seconds: 3600 }]);
      expect(await store.byHash(hash)).toEqual({ session: { ...session, proofAge: expect.any(Number) }, user });
      const end = () => store.endOne(session?.id ?? "", user.id, anAudit("session.ended", { userId: user.id }));
      expect([await end(), await end()]).toEqual([true, false]);
      expect(await store.byHash(hash)).toBeUndefined();
      expect((await auditOf(database.sql, "session.ended")).filter(({ user_id }) => user_id === user.id)).toHaveLength(1);
    });

    test("a session that replaces another ends the other session", async () => {
      const user = await aUser(database.sql);
      const [first, second] = [aHash(), aHash()];
      const store = sessions(database.sql);
      await store.start({ id: anId(), hash: first, userId: user.id, ttl: 60 }, anAudit("session.started"));
      await store.start({ id: anId(), hash: second, userId: user.id, ttl: 60, replaces: first }, anAudit("session.started"));
      expect(await store.byHash(first)).toBeUndefined();
      expect(await store.byHash(second)).toBeDefined();
    });

    test("a session is raised only while it lives: none starts by the second factor alone", async () => {
      const user = await aUser(database.sql);
      const [first, second, third] = [aHash(), aHash(), aHash()];
      const store = sessions(database.sql);
      await store.start({ id: anId(), hash: first, userId: user.id, ttl: 60 }, anAudit("session.started"));
      const raise = (hash: SecretHash, replaces: SecretHash) =>
        store.start(
          { id: anId(), hash, userId: user.id, ttl: 60, replaces, raises: true, acr: TWO_FACTOR_ACR },
          anAudit("session.started"),
        );
      expect(await raise(second, first)).toMatchObject({ acr: TWO_FACTOR_ACR });
      await store.endAll(user.id, anAudit("session.ended"));
      expect(await raise(third, second)).toBeUndefined();
      expect(await store.byHash(third)).toBeUndefined();
    });

    test("a session that is weaker than the realm demands is refused where the realm decides, and only if its proof still holds", async () => {
      const realmId = anId();
      await runText(database.sql, `insert into realms (id, name, required_acr) values ('${realmId}', 'strict', '${TWO_FACTOR_ACR}')`, []);
      const store = sessions(database.sql);
      const user = await aUser(database.sql, { realmId });
      const start = (more: Partial<NewSessionRecord>) =>
        store.start({ id: anId(), hash: aHash(), userId: user.id, ttl: 60, ...more }, anAudit("session.started"));
      await expect(start({ generation: 0, asDemanded: true })).rejects.toMatchObject({ reason: "sign_in_too_weak" });
      expect(await start({ generation: 1, asDemanded: true })).toBeUndefined(); // the password was changed since the proof
      expect(await start({ generation: 0, asDemanded: true, acr: TWO_FACTOR_ACR })).toMatchObject({ acr: TWO_FACTOR_ACR });
      expect(await start({ generation: 0 })).toMatchObject({ requiredAcr: TWO_FACTOR_ACR });
      await database.sql.query(disable, [user.id]);
      expect(await start({ generation: 0, asDemanded: true })).toBeUndefined();
    });

    test("a disabled or unknown user cannot start a session, and a disabled user's sessions are not found", async () => {
      const user = await aUser(database.sql);
      const hash = aHash();
      const store = sessions(database.sql);
      await store.start({ id: anId(), hash, userId: user.id, ttl: 60 }, anAudit("session.started"));
      await database.sql.query(disable, [user.id]);
      expect(await store.byHash(hash)).toBeUndefined();
      const before = (await auditOf(database.sql, "session.started")).length;
      expect(await store.start({ id: anId(), hash: aHash(), userId: user.id, ttl: 60 }, anAudit("session.started"))).toBeUndefined();
      expect(await store.start({ id: anId(), hash: aHash(), userId: anId(), ttl: 60 }, anAudit("session.started"))).toBeUndefined();
      expect((await auditOf(database.sql, "session.started")).length).toBe(before);
    });

    test("an expired session is not found", async () => {
      const user = await aUser(database.sql);
      const hash = aHash();
      await sessions(database.sql).start({ id: anId(), hash, userId: user.id, ttl: 60 }, anAudit("session.started"));
      await database.sql.query(expire("sessions"), []);
      expect(await sessions(database.sql).byHash(hash)).toBeUndefined();
    });

    test("lists a user's live sessions with address, browser and system, the most recently seen first", async () => {
      const [user, other] = [await aUser(database.sql), await aUser(database.sql)];
      const store = sessions(database.sql);
      const place = { address: "192.0.2.7", browser: "Firefox", system: "Linux" };
      const start = (userId: string, more = {}) =>
        store.start({ id: anId(), hash: aHash(), userId, ttl: 60, ...more }, anAudit("session.started"));
      const first = await start(user.id, { place });
      const ended = await start(user.id);
      await start(other.id);
      const last = await start(user.id);
      await store.endOne(ended?.id ?? "", user.id, anAudit("session.ended"));
      await runText(database.sql, "update sessions set last_seen_at = now() - interval '1 hour' where id = $1::uuid", [first?.id ?? ""]);
      const listed = await store.ofUser(user.id);
      expect(listed.map(({ id }) => id)).toEqual([last?.id, first?.id]);
      expect(listed[1]).toMatchObject({ ...place, authTime: first?.authTime });
      expect(listed[0]).toMatchObject({ address: null, browser: null, system: null });
    });

    test("updates last_seen_at at most every 10 minutes", async () => {
      const user = await aUser(database.sql);
      const hash = aHash();
      const store = sessions(database.sql);
      await store.start({ id: anId(), hash, userId: user.id, ttl: 3600 }, anAudit("session.started"));
      const seenAt = async (ago: string) => {
        await runText(database.sql, `update sessions set last_seen_at = now() - interval '${ago}' where token_hash = $1::bytea`, [hash]);
        await store.byHash(hash);
        const [live] = await store.ofUser(user.id);
        return Math.round(Date.now() / 1000 - (live?.lastSeenAt ?? 0));
      };
      expect(await seenAt("9 minutes")).toBeGreaterThan(500);
      expect(await seenAt("11 minutes")).toBeLessThan(60);
    });

    test("64 concurrent calls end one session exactly once; another user cannot end it", async () => {
      const [user, other] = [await aUser(database.sql), await aUser(database.sql)];
      const store = sessions(database.sql);
      const hash = aHash();
      const session = await store.start({ id: anId(), hash, userId: user.id, ttl: 60 }, anAudit("session.started"));
      const id = session?.id ?? "";
      const audit = anAudit("session.ended", { userId: user.id });
      expect([await store.endOne(id, other.id, audit), await store.endOne("x", user.id, audit)]).toEqual([false, false]);
      expect(await store.byHash(hash)).toBeDefined();
      const ended = await Promise.all(Array.from({ length: 64 }, () => store.endOne(id, user.id, audit)));
      expect(ended.filter(Boolean)).toHaveLength(1);
      expect(await store.byHash(hash)).toBeUndefined();
      expect((await auditOf(database.sql, "session.ended")).filter(({ user_id }) => user_id === user.id)).toHaveLength(1);
    });

    test("signing out everywhere ends all sessions of that user and of no other user", async () => {
      const [user, other] = [await aUser(database.sql), await aUser(database.sql)];
      const hashes = [aHash(), aHash(), aHash()] as const;
      const store = sessions(database.sql);
      await store.start({ id: anId(), hash: hashes[0], userId: user.id, ttl: 60 }, anAudit("session.started"));
      await store.start({ id: anId(), hash: hashes[1], userId: user.id, ttl: 60 }, anAudit("session.started"));
      await store.start({ id: anId(), hash: hashes[2], userId: other.id, ttl: 60 }, anAudit("session.started"));
      await store.endAll(user.id, anAudit("session.ended", { userId: user.id }));
      const found = await Promise.all(hashes.map((hash) => store.byHash(hash)));
      expect(found.map((signedIn) => signedIn?.user.id)).toEqual([undefined, undefined, other.id]);
    });
  });

  test("the built-in client exists from the start", async () => {
    expect(await clientDirectory(database.sql).byClientId("countersign")).toMatchObject({
      origin: "built_in",
      tokenEndpointAuthMethod: "none",
      secretHash: null,
      grantTypes: ["refresh_token"],
      scopes: ["openid", "profile", "email"],
      redirectUris: [],
      enabled: true,
      lastUsedAt: null,
    });
  });
});
