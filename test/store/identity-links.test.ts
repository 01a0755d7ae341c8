import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Caller } from "../../src/accounts/caller.ts";
import { systemClock } from "../../src/clock.ts";
import { identityLinks } from "../../src/store/identity-links.ts";
import type { Database } from "../../src/store/orm.ts";
import { proofChallenges } from "../../src/store/proof-challenges.ts";
import { sessions } from "../../src/store/sessions.ts";
import { users } from "../../src/store/users.ts";
import type { Connection } from "../../src/upstream/connection.ts";
import type { UpstreamIdentity } from "../../src/upstream/ports.ts";
import { arrive, type UpstreamPorts } from "../../src/upstream/sign-in.ts";
import { aHash, anAudit, anId, aSessionOf, aUser, connectProvider, DEFAULT_REALM_ID, OPEN_SIGN_UP } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const ISSUER = "https://login.acme.test";
const CALLERS = 64;
const MAIL = { subject: "s", text: "t", html: "h" };

describe.for(databaseKinds)("linked identities on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
    await connectProvider(database.sql, ISSUER);
  });
  afterAll(() => database.close());

  const links = () => identityLinks(database.sql);
  const times = <T>(count: number, one: (n: number) => Promise<T>) => Promise.all(Array.from({ length: count }, (_, n) => one(n)));
  const anIdentity = (more: Partial<UpstreamIdentity> = {}): UpstreamIdentity => ({
    ...{ issuer: ISSUER, subject: anId(), email: `${anId()}@acme.test`, emailVerified: true, sid: undefined },
    ...{ firstName: undefined, lastName: undefined, acr: undefined, amr: [] },
    ...more,
  });
  const open = (identity: UpstreamIdentity) => {
    const user = {
      id: anId(),
      realmId: DEFAULT_REALM_ID,
      email: identity.email ?? "",
      firstName: null,
      lastName: null,
      role: "user",
    } as const;
    return links().open(user, identity, [anAudit("user.registered", { userId: user.id })]);
  };
  const link = async (userId: string, identity: UpstreamIdentity) =>
    links().link(await aSessionOf(database.sql, userId), identity, MAIL, anAudit("identity.linked"));
  const unlink = async (userId: string, identity: UpstreamIdentity) =>
    links().unlink(await aSessionOf(database.sql, userId), identity, MAIL, anAudit("identity.unlinked"));
  const start = (userId: string, { issuer, subject }: UpstreamIdentity) =>
    sessions(database.sql).start(
      { id: anId(), hash: aHash(), userId, ttl: 60, upstream: { issuer, subject, sid: undefined } },
      anAudit("session.started"),
    );

  test("neither links an identity nor opens an account while its provider has no enabled connection, as after a long answer of it", async () => {
    const [user, own, identity] = [await aUser(database.sql), anIdentity(), anIdentity()];
    const enable = (enabled: boolean) => runText(database.sql, `update connections set enabled = ${enabled} where name = 'acme'`);
    await enable(false);
    expect([await link(user.id, own), await open(identity)]).toEqual(["taken", false]);
    expect(await users(database.sql).byEmail(identity.email ?? "")).toBeUndefined();
    await enable(true);
    expect(await open(identity)).toBe(true);
  });

  test("starts no session while its provider has no enabled connection, as for a sign-in that waits for a code", async () => {
    const [user, identity] = [await aUser(database.sql), anIdentity()];
    await link(user.id, identity);
    const enable = (enabled: boolean) => runText(database.sql, `update connections set enabled = ${enabled} where name = 'acme'`);
    expect(await start(user.id, identity)).toBeDefined();
    await enable(false);
    expect(await start(user.id, identity)).toBeUndefined();
    await enable(true);
    expect(await start(user.id, identity)).toBeDefined();
  });

  /** Arrives with an identity while `text`, with this parameter, changes the database before the session starts. */
  const arriveWhile = (identity: UpstreamIdentity, text: string, parameter: string, refused: unknown[]) => {
    const { start, ...store } = sessions(database.sql);
    const ports = {
      ...{ clock: systemClock, randomBytes, sessionTtl: 60, signUpPolicy: OPEN_SIGN_UP, users: users(database.sql) },
      refusals: { record: async (entry: unknown) => void refused.push(entry) },
      identityLinks: links(),
      sessions: {
        ...store,
        start: async (...session: Parameters<typeof start>) => {
          await runText(database.sql, text, [parameter]);
          return start(...session);
        },
      },
    } as unknown as UpstreamPorts;
    return arrive({ issuer: ISSUER, domains: [] } as Partial<Connection> as Connection, identity, ports, { userAgent: "" } as Caller);
  };

  test("a user whose app is confirmed while their provider signs them in is asked for its code", async () => {
    const [user, identity, refused] = [await aUser(database.sql), { ...anIdentity(), authTime: 1_790_000_000 }, []];
    await link(user.id, identity);
    const confirm = "insert into authenticator_apps (user_id, secret, confirmed_at) values ($1::uuid, 'unused', now())";
    const arrived = await arriveWhile(identity, confirm, user.id, refused);
    expect(arrived).toMatchObject({ kind: "half", half: { userId: user.id, upstream: { subject: identity.subject } } });
    expect(refused).toEqual([]);
  });

  test("an identity that is unlinked while its provider answers belongs to no account, and is recorded so", async () => {
    const [user, identity, refused] = [await aUser(database.sql), anIdentity(), []];
    await link(user.id, identity);
    expect(await arriveWhile(identity, "delete from identity_links where user_id = $1::uuid", user.id, refused)).toEqual({
      kind: "no_account",
    });
    expect(refused).toMatchObject([{ reason: "account_unknown" }]);
  });

  test("a connection that is disabled while its provider answers is unknown, and an account that is disabled so is recorded as such", async () => {
    const [user, identity, refused] = [await aUser(database.sql), anIdentity(), []];
    await link(user.id, identity);
    const disabling = arriveWhile(identity, "update connections set enabled = false where issuer = $1", ISSUER, refused);
    await expect(disabling).rejects.toMatchObject({ code: "not_found", reason: "connection_unknown" });
    expect(refused).toEqual([]);
    await runText(database.sql, "update connections set enabled = true where name = 'acme'");
    const closing = arriveWhile(identity, "update users set enabled = false where id = $1::uuid", user.id, refused);
    await expect(closing).rejects.toMatchObject({ code: "unauthenticated", reason: "account_disabled" });
    expect(refused).toMatchObject([{ reason: "account_disabled", userId: user.id }]);
  });

  test("of 64 callers one opens an account for an identity, with one address or with many", async () => {
    for (const email of ["one@acme.test", undefined]) {
      const identity = anIdentity(email === undefined ? {} : { email });
      const opened = await times(CALLERS, (n) => open(email === undefined ? { ...identity, email: `many${n}@acme.test` } : identity));
      expect(opened.filter(Boolean)).toHaveLength(1);
      expect((await links().userOf(identity))?.confirmed).toBe(true);
    }
    expect(await runText(database.sql, "select 1 from users where email_key like 'many%' or email_key = 'one@acme.test'")).toHaveLength(2);
  });

  test("of 64 users one links an identity", async () => {
    const [users, identity] = [await times(CALLERS, () => aUser(database.sql)), anIdentity()];
    const outcomes = await times(CALLERS, (n) => link(users[n]?.id ?? "", identity));
    expect(outcomes.filter((outcome) => outcome === "linked")).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === "taken")).toHaveLength(CALLERS - 1);
  });

  test("an identity that an assertion linked signs in only once its user has linked it", async () => {
    const [user, identity] = [await aUser(database.sql), anIdentity()];
    await runText(database.sql, "insert into identity_links (issuer, subject, user_id) values ($1, $2, $3::uuid)", [
      ISSUER,
      identity.subject,
      user.id,
    ]);
    expect((await links().userOf(identity))?.confirmed).toBe(false);
    expect(await start(user.id, identity)).toBeUndefined();
    expect([await link(user.id, identity), await link(user.id, identity)]).toEqual(["linked", "known"]);
    expect(await start(user.id, identity)).toMatchObject({ userId: user.id });
  });

  test("of two identities without a password, removed at once, one stays", async () => {
    for (let round = 0; round < 10; round++) {
      const [first, second] = [anIdentity(), anIdentity()];
      await open(first);
      const userId = (await links().userOf(first))?.user.id ?? "";
      await link(userId, second);
      const outcomes = await Promise.all([unlink(userId, first), unlink(userId, second)]);
      expect(outcomes.toSorted()).toEqual(["last", "unlinked"]);
    }
  });

  test("the last identity of a user with a password can be removed, that of another user cannot", async () => {
    const [user, other, identity] = [await aUser(database.sql), await aUser(database.sql), anIdentity()];
    await link(user.id, identity);
    expect([await unlink(other.id, identity), await unlink(user.id, identity), await unlink(user.id, identity)]).toEqual([
      "unknown",
      "unlinked",
      "unknown",
    ]);
    expect(await start(user.id, identity)).toBeUndefined();
  });

  test("a session that goes on by a new sign-in at its provider ends with that sign-in's session there", async () => {
    const identity = anIdentity();
    await open(identity);
    const userId = (await links().userOf(identity))?.user.id ?? "";
    const { issuer, subject } = identity;
    const [first, second] = [aHash(), aHash()];
    const startAs = (hash: typeof first, sid: string, replaces?: typeof first) =>
      sessions(database.sql).start(
        { id: anId(), hash, userId, ttl: 60, upstream: { issuer, subject, sid }, ...(replaces && { replaces }) },
        anAudit("session.started"),
      );
    const begun = await startAs(first, "sid of yesterday");
    expect((await startAs(second, "sid of today", first))?.id).toBe(begun?.id);
    const isLive = async () =>
      (await runText(database.sql, "select 1 from sessions where id = $1::uuid and ended_at is null", [begun?.id ?? ""])).length === 1;
    for (const [sid, lives] of [
      ["sid of yesterday", true],
      ["sid of today", false],
    ] as const) {
      await links().endSessions(ISSUER, { jti: anId(), subject, sid, remember: 60 }, anAudit("session.ended"));
      expect(await isLive()).toBe(lives);
    }
  });

  test("a logout of the provider ends a live session behind any number of expired ones", async () => {
    const identity = anIdentity();
    await open(identity);
    const userId = (await links().userOf(identity))?.user.id ?? "";
    await runText(
      database.sql,
      `with past as (
         insert into sessions (token_hash, user_id, expires_at) select sha256(int4send(n) || uuid_send($1::uuid)), $1::uuid, now() - interval '1 minute'
         from generate_series(1, 500) as n returning id)
       insert into upstream_sessions (session_id, issuer, subject) select id, $2, $3 from past`,
      [userId, ISSUER, identity.subject],
    );
    const live = await start(userId, identity);
    const logout = { jti: anId(), subject: identity.subject, sid: undefined, remember: 60 };
    expect(await links().endSessions(ISSUER, logout, anAudit("session.ended"))).toBe(true);
    expect(
      await runText(database.sql, "select 1 from sessions where id = $1::uuid and ended_at is not null", [live?.id ?? ""]),
    ).toHaveLength(1);
  });

  test("a logout of the provider ends sign-ins that wait for a second factor too, and no others", async () => {
    const [challenges, identity] = [proofChallenges(database.sql), anIdentity()];
    await open(identity);
    const userId = (await links().userOf(identity))?.user.id ?? "";
    const half = async (upstream: { issuer: string; subject: string; sid?: string } | null) => {
      const idHash = aHash();
      const about = { userId, generation: null, upstream: upstream && { sid: undefined, ...upstream } };
      await challenges.put(idHash, "second_factor", about, 300, { holder: anId(), limit: 5 });
      return async () => (await challenges.byId(idHash, "second_factor")) !== undefined;
    };
    const { subject } = identity;
    const [today, yesterday, password, another] = [
      await half({ issuer: ISSUER, subject, sid: "today" }),
      await half({ issuer: ISSUER, subject, sid: "yesterday" }),
      await half(null),
      await half({ issuer: "https://other.example.test", subject, sid: "today" }),
    ];
    const waiting = async () => [await today(), await yesterday(), await password(), await another()];
    const logout = (member: { subject?: string; sid?: string }) =>
      links().endSessions(ISSUER, { jti: anId(), remember: 60, subject: undefined, sid: undefined, ...member }, anAudit("session.ended"));
    await logout({ sid: "today" });
    expect(await waiting()).toEqual([false, true, true, true]);
    await logout({ subject });
    expect(await waiting()).toEqual([false, false, true, true]);
  });
});
