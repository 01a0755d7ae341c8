import { beforeAll, describe, expect, test } from "vitest";
import { SESSION_ENDED } from "../../src/accounts/account.ts";
import type { Session } from "../../src/accounts/ports.ts";
import { accountClosing } from "../../src/store/account-closing.ts";
import { addressChanges } from "../../src/store/address-changes.ts";
import { managedClients } from "../../src/store/clients.ts";
import { consents } from "../../src/store/consents.ts";
import { delegations } from "../../src/store/delegations.ts";
import { identityAssertions } from "../../src/store/identity-assertions.ts";
import { identityLinks } from "../../src/store/identity-links.ts";
import { invitations } from "../../src/store/invitations.ts";
import { passkeys } from "../../src/store/passkeys.ts";
import { passwordChanges } from "../../src/store/password-changes.ts";
import { proofChallenges } from "../../src/store/proof-challenges.ts";
import { secondFactors, useFactor } from "../../src/store/second-factors.ts";
import { sessions, startSession } from "../../src/store/sessions.ts";
import type { Sql } from "../../src/store/sql.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { managedUsers, users } from "../../src/store/users.ts";
import { linkedWallets, walletLinks } from "../../src/store/wallet-links.ts";
import { aHash, anAudit, anId, aSessionOf, aUser, connectProvider, DEFAULT_REALM_ID } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { racing } from "../support/deadlocks.ts";
import { delegating } from "../support/delegation-rows.ts";
import { aClient, aGrant, aNewClient, aScene } from "../support/grants.ts";
import { manyGrants } from "../support/many.ts";

const MESSAGE = { subject: "s", text: "t", html: "h" };
const PASSWORD_HASH = "$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA";

// Transactions that began before something was ended, and commit after that: on PostgreSQL, as the embedded database runs one after another.
describe.each(databaseKinds)("commits that come late on $name", ({ fresh }) => {
  const { database } = racing(fresh);
  let sql: Sql;
  beforeAll(async () => {
    ({ sql } = database());
    await connectProvider(sql, "https://idp.example.test");
  });

  /** What a provider with a connection says of a user. */
  const anIdentity = () => {
    const names = { email: undefined, emailVerified: false, firstName: undefined, lastName: undefined };
    return { issuer: "https://idp.example.test", subject: anId(), ...names, acr: undefined, amr: [], sid: undefined };
  };

  /** What promises resolve to, or the reasons of their refusals. */
  const outcomes = async (promises: readonly Promise<unknown>[]) =>
    (await Promise.allSettled(promises)).map((one) => (one.status === "fulfilled" ? one.value : one.reason.reason));
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

  test("a session that starts while its user is disabled does not live when the user is enabled again", async () => {
    const { id } = await aUser(sql);
    const setEnabled = (enabled: boolean) => managedUsers(sql).setEnabled(id, enabled, anAudit("user.changed"));
    const hash = await startLate(id, () => setEnabled(false));
    await setEnabled(true);
    expect(await sessions(sql).byHash(hash)).toBeUndefined();
  });

  /** A request for another address in a new session. */
  async function aRequest() {
    const { id, email } = await aUser(sql, { emailVerified: true });
    const link = () => ({ tokenHash: aHash(), ttl: 600, mail: MESSAGE });
    const change = { session: await aSessionOf(sql, id), email: `${anId()}@example.test`, proof: link(), stop: link() };
    return { ...change, id, former: email, request: () => addressChanges(sql).request(change, anAudit("address.change_requested")) };
  }

  test("a session that starts while a change of the address is stopped ends with the others", async () => {
    const { id, stop, request } = await aRequest();
    expect(await request()).toBe(true);
    const hash = await startLate(id, () => addressChanges(sql).stop(stop.tokenHash, anAudit("address.change_stopped")));
    expect(await sessions(sql).byHash(hash)).toBeUndefined();
  });

  test("no way to sign in is added in a session that is being ended", async () => {
    const { id: userId } = await aUser(sql);
    const session = await aSessionOf(sql, userId);
    await secondFactors(sql).begin(session, "sealed");
    const key = { credentialId: aHash(), publicKey: aHash(), transports: [], counter: 0, backedUp: false, aaguid: "", name: "thief's" };
    const identity = anIdentity();
    const add = () =>
      outcomes([
        passkeys(sql).add({ id: anId(), userId, ...key }, session.id, MESSAGE, anAudit("passkey.added")),
        secondFactors(sql).confirm(session, { secret: "sealed", step: 1 }, [aHash()], MESSAGE, anAudit("second_factor.added")),
        identityLinks(sql).link(session, identity, MESSAGE, anAudit("identity.linked")),
      ]);
    const end = (tx: Sql) => sessions(tx).endAll(userId, anAudit("session.ended"));
    await commitAfter(end, async () => expect(await add()).toEqual([SESSION_ENDED, SESSION_ENDED, SESSION_ENDED]));
  });

  test("a session that is being ended replaces no recovery codes", async () => {
    const { id: userId } = await aUser(sql);
    const session = await aSessionOf(sql, userId);
    const [store, code] = [secondFactors(sql), aHash()];
    await store.begin(session, "sealed");
    await store.confirm(session, { secret: "sealed", step: 1 }, [code], MESSAGE, anAudit("second_factor.added"));
    const replace = async () =>
      expect(await outcomes([store.replaceCodes(session, [aHash()], anAudit("recovery_codes.replaced"))])).toEqual([SESSION_ENDED]);
    await commitAfter((tx) => sessions(tx).endAll(userId, anAudit("session.ended")), replace);
    await useFactor(sql, userId, { kind: "recovery", code, message: MESSAGE, audit: anAudit("recovery_code.used") });
  });

  test("no second factor is removed in a session that is being ended", async () => {
    const { id: userId } = await aUser(sql);
    const session = await aSessionOf(sql, userId);
    const [apps, keys, id] = [secondFactors(sql), passkeys(sql), anId()];
    const key = { credentialId: aHash(), publicKey: aHash(), transports: [], counter: 0, backedUp: false, aaguid: "", name: "own" };
    await keys.add({ id, userId, ...key }, session.id, MESSAGE, anAudit("passkey.added"));
    await apps.begin(session, "sealed");
    await apps.confirm(session, { secret: "sealed", step: 1 }, [aHash()], MESSAGE, anAudit("second_factor.added"));
    const remove = () =>
      outcomes([
        apps.remove(userId, session.id, MESSAGE, anAudit("second_factor.removed")),
        keys.remove(id, userId, session.id, MESSAGE, anAudit("passkey.removed")),
      ]);
    await commitAfter(
      (tx) => sessions(tx).endAll(userId, anAudit("session.ended")),
      async () => expect(await remove()).toEqual([SESSION_ENDED, SESSION_ENDED]),
    );
    expect(await apps.stateOf(userId)).toMatchObject({ recoveryCodes: 1 });
    expect(await keys.ofUser(userId)).toMatchObject([{ id }]);
  });

  test("no authenticator app is begun and no identity unlinked in a session that is being ended", async () => {
    const { id: userId } = await aUser(sql);
    const [session, identity] = [await aSessionOf(sql, userId), anIdentity()];
    const [apps, links] = [secondFactors(sql), identityLinks(sql)];
    await links.link(session, identity, MESSAGE, anAudit("identity.linked"));
    const change = () =>
      outcomes([apps.begin(session, "the thief's"), links.unlink(session, identity, MESSAGE, anAudit("identity.unlinked"))]);
    await commitAfter(
      (tx) => sessions(tx).endAll(userId, anAudit("session.ended")),
      async () => expect(await change()).toEqual([SESSION_ENDED, SESSION_ENDED]),
    );
    expect(await apps.appOf(userId)).toBeUndefined();
    expect(await links.ofUser(userId)).toMatchObject([{ subject: identity.subject }]);
  });

  test("no wallet is linked or unlinked in a session that is being ended", async () => {
    const [{ id: userId }, { id: other }] = [await aUser(sql), await aUser(sql)];
    const [session, first] = [await aSessionOf(sql, userId), await aSessionOf(sql, other)];
    const links = walletLinks(sql);
    const present = async (own: Session) => {
      const link = { handleHash: aHash(), stateHash: aHash(), userId: own.userId, sessionId: own.id, sameDevice: false, ttl: 300 };
      await links.start(link, anAudit("wallet.link_started"));
      await links.answer(link.stateHash);
      await links.present(link.stateHash, { issuer: "https://issuer.example.test", subject: anId() }, undefined);
      return () => links.complete(link.handleHash, () => anAudit("wallet.linked"));
    };
    const complete = await present(session);
    expect(await (await present(first))()).toEqual({ state: "linked" });
    const end = async (tx: Sql) => {
      for (const id of [userId, other]) await sessions(tx).endAll(id, anAudit("session.ended"));
    };
    const change = () => outcomes([complete(), linkedWallets(sql).unlink(first, anAudit("wallet.unlinked"))]);
    await commitAfter(end, async () => expect(await change()).toEqual([SESSION_ENDED, SESSION_ENDED]));
    expect(await linkedWallets(sql).ofUser(userId)).toBeUndefined();
    expect(await linkedWallets(sql).ofUser(other)).toBeDefined();
  });

  test("two operators do not remove the last two ways in of a disabled user", async () => {
    const { id: userId } = await aUser(sql);
    const { id: sessionId } = await aSessionOf(sql, userId);
    const [store, own] = [passkeys(sql), [anId(), anId()] as const];
    for (const id of own) {
      const key = { credentialId: aHash(), publicKey: aHash(), transports: [], counter: 0, backedUp: false, aaguid: "", name: "own" };
      await store.add({ id, userId, ...key }, sessionId, MESSAGE, anAudit("passkey.added"));
    }
    await runText(sql, "delete from credentials where user_id = $1::uuid", [userId]);
    await managedUsers(sql).setEnabled(userId, false, anAudit("user.changed"));
    const remove = (tx: Sql, id: string) => passkeys(tx).remove(id, userId, undefined, MESSAGE, anAudit("passkey.removed"));
    const second = Promise.withResolvers<string>();
    const first = await commitAfter(
      (tx) => remove(tx, own[0]),
      async () => second.resolve(await remove(sql, own[1])),
    );
    expect([first, await second.promise]).toEqual(["removed", "last"]);
  });

  test("no other address is asked for in a session that is being ended", async () => {
    const { id, proof, request } = await aRequest();
    await commitAfter(
      (tx) => sessions(tx).endAll(id, anAudit("session.ended")),
      async () => expect(await outcomes([request()])).toEqual([SESSION_ENDED]),
    );
    expect(await addressChanges(sql).byProof(proof.tokenHash)).toBeUndefined();
  });

  test.each(["all sessions", "this session"])("no other address is confirmed in a session that is being ended with %s", async (which) => {
    const { id, session, former, proof, request } = await aRequest();
    await request();
    const audit = anAudit("session.ended");
    const end = async (tx: Sql) =>
      void (await (which === "all sessions" ? sessions(tx).endAll(id, audit) : sessions(tx).endOne(session.id, id, audit)));
    const confirm = () => addressChanges(sql).confirm(proof.tokenHash, session, MESSAGE, anAudit("address.changed"));
    await commitAfter(end, async () => expect(await outcomes([confirm()])).toEqual([SESSION_ENDED]));
    expect((await users(sql).byId(id))?.email).toBe(former);
  });

  test.each(["all sessions", "this session"])("no password is set in a session that is being ended with %s", async (which) => {
    const { id: userId, email } = await aUser(sql);
    const [id, provedBy, audit] = [anId(), aHash(), anAudit("session.ended")];
    await sessions(sql).start({ id, hash: provedBy, userId, ttl: 3_600 }, anAudit("session.started"));
    const end = async (tx: Sql) =>
      void (await (which === "all sessions" ? sessions(tx).endAll(userId, audit) : sessions(tx).endOne(id, userId, audit)));
    const session = { id: anId(), hash: aHash(), userId, ttl: 3_600 };
    const audits = { change: anAudit("password.changed"), session: anAudit("session.started") };
    const change = () => passwordChanges(sql).change({ provedBy, passwordHash: "the thief's", session }, MESSAGE, audits);
    await commitAfter(end, async () => expect(await change()).toBeUndefined());
    expect((await users(sql).byEmail(email))?.passwordHash).toBe(PASSWORD_HASH);
  });

  test.each(["all sessions", "this session"])("no account is deleted in a session that is being ended with %s", async (which) => {
    const { id: userId } = await aUser(sql);
    const [{ id }, audit] = [await aSessionOf(sql, userId), anAudit("session.ended")];
    const end = async (tx: Sql) =>
      void (await (which === "all sessions" ? sessions(tx).endAll(userId, audit) : sessions(tx).endOne(id, userId, audit)));
    const close = () => accountClosing(sql).close(userId, id, MESSAGE, anAudit("user.deleted"));
    await commitAfter(end, async () => expect(await outcomes([close()])).toEqual([SESSION_ENDED]));
    expect(await users(sql).byId(userId)).toMatchObject({ id: userId, enabled: true });
  });

  test("a consent that is given while a link in a mail proves the address of its user does not outlive those from before", async () => {
    const { userId, sessionId, clientId } = await aScene(sql);
    const [{ email = "" } = {}, tokenHash] = [await users(sql).byId(userId), aHash()];
    await passwordChanges(sql).issueReset(email, { tokenHash, ttl: 600 }, MESSAGE, anAudit("password.reset_requested"));
    const consent = { id: anId(), userId, sessionId, clientId, clientName: "A client", scopes: ["crm:write"], resources: [] };
    await commitAfter(
      (tx) => passwordChanges(tx).reset(tokenHash, PASSWORD_HASH, MESSAGE, anAudit("password.changed")),
      () => consents(sql).give(consent, anAudit("consent.given")),
    );
    expect(await consents(sql).ofUser(userId)).toEqual([]);
  });

  test("a session that starts while a link in a mail proves the address of its user ends with the others", async () => {
    const { id, email } = await aUser(sql);
    const tokenHash = aHash();
    await passwordChanges(sql).issueReset(email, { tokenHash, ttl: 600 }, MESSAGE, anAudit("password.reset_requested"));
    const reset = () => passwordChanges(sql).reset(tokenHash, PASSWORD_HASH, MESSAGE, anAudit("password.changed"));
    expect(await sessions(sql).byHash(await startLate(id, reset))).toBeUndefined();
  });

  test.each(["beside", "before"])(
    "a link for a new password that is asked for %s the deletion of a large account is not mailed",
    async (when) => {
      const scene = await aScene(sql);
      await manyGrants(sql, scene, 600);
      const email = (await users(sql).byId(scene.userId))?.email ?? "";
      const issue = (tx: Sql) =>
        passwordChanges(tx).issueReset(email, { tokenHash: aHash(), ttl: 600 }, MESSAGE, anAudit("password.reset_requested"));
      const close = (tx: Sql) => accountClosing(tx).close(scene.userId, undefined, MESSAGE, anAudit("user.deleted"));
      if (when === "before") await commitAfter(issue, () => close(sql));
      else await commitAfter(close, () => issue(sql));
      expect(await runText(sql, "select about from outbox where user_id = $1::uuid and about <> 'notice'", [scene.userId])).toEqual([]);
      expect(await runText(sql, "select 1 from password_resets where user_id = $1::uuid", [scene.userId])).toEqual([]);
    },
  );

  const leavings = [
    ["is deleted", (id: string) => accountClosing(sql).close(id, undefined, MESSAGE, anAudit("user.deleted"))],
    ["is disabled", (id: string) => managedUsers(sql).setEnabled(id, false, anAudit("user.changed"))],
    ["gets another role", (id: string) => managedUsers(sql).setRole(id, "user", anAudit("user.changed"))],
  ] as const;
  test.each(leavings)("a user who %s while the last operator hands the role to them stays the operator", async (_, leave) => {
    await runText(sql, "update users set role = 'developer' where role = 'operator'");
    const [{ id: former }, { id: heir }] = [await aUser(sql, { role: "operator" }), await aUser(sql)];
    const handOver = async (tx: Sql) => {
      await managedUsers(tx).setRole(heir, "operator", anAudit("user.changed"));
      await managedUsers(tx).setRole(former, "developer", anAudit("user.changed"));
    };
    await commitAfter(handOver, async () => expect(await outcomes([leave(heir)])).toEqual(["last_operator"]));
    expect(await runText(sql, "select id::text from users where role = 'operator' and enabled")).toEqual([{ id: heir }]);
  });

  test("an operator whose account is being deleted invites no one", async () => {
    const [{ id }] = await Promise.all([aUser(sql, { role: "operator" }), aUser(sql, { role: "operator" })]);
    const invitation = {
      tokenHash: aHash(),
      email: `${anId()}@example.test`,
      role: "user",
      realmId: null,
      ttl: 600,
      inviterId: id,
    } as const;
    await commitAfter(
      (tx) => accountClosing(tx).close(id, undefined, MESSAGE, anAudit("user.deleted")),
      async () => expect(await invitations(sql).issue(invitation, MESSAGE, anAudit("user.invited"))).toBeUndefined(),
    );
    expect(await runText(sql, "select 1 from outbox where recipient = $1", [invitation.email])).toEqual([]);
  });

  test("a session that starts while its provider signs the user out ends too", async () => {
    const { id: userId } = await aUser(sql);
    const { issuer, subject, ...identity } = anIdentity();
    const links = identityLinks(sql);
    const own = await aSessionOf(sql, userId);
    expect(await links.link(own, { issuer, subject, ...identity }, MESSAGE, anAudit("identity.linked"))).toBe("linked");
    const session = { id: anId(), hash: aHash(), userId, ttl: 3_600, upstream: { issuer, subject, sid: "s1" } };
    const logout = { jti: anId(), subject, sid: "s1", remember: 60 };
    await commitAfter(
      (tx) => sessions(tx).start(session, anAudit("session.started")),
      () => links.endSessions(issuer, logout, anAudit("session.ended")),
    );
    expect(await sessions(sql).byHash(session.hash)).toBeUndefined();
  });

  test("a session that a second factor starts while the provider signs its session out ends too", async () => {
    const { id: userId } = await aUser(sql);
    const { issuer, subject, ...identity } = anIdentity();
    const links = identityLinks(sql);
    const own = await aSessionOf(sql, userId);
    await links.link(own, { issuer, subject, ...identity }, MESSAGE, anAudit("identity.linked"));
    const [half, upstream] = [aHash(), { issuer, subject, sid: "s2" }];
    await proofChallenges(sql).put(half, "second_factor", { userId, generation: null, upstream }, 300, { holder: anId(), limit: 5 });
    const session = { id: anId(), hash: aHash(), userId, ttl: 3_600, upstream, half };
    const logout = { jti: anId(), subject: undefined, sid: "s2", remember: 60 };
    await commitAfter(
      (tx) => sessions(tx).start(session, anAudit("session.started")),
      () => links.endSessions(issuer, logout, anAudit("session.ended")),
    );
    expect(await sessions(sql).byHash(session.hash)).toBeUndefined();
    expect(await sessions(sql).start({ ...session, id: anId(), hash: aHash() }, anAudit("session.started"))).toBeUndefined();
  });

  /** A client that was used within this minute, so that a token to it changes nothing of it. */
  async function aUsedClient(isAgent = false) {
    const client = await aClient(sql, { isAgent });
    await runText(sql, "update clients set last_used_at = now() where id = $1::uuid", [client.id]);
    return client;
  }
  const deleteClient = (id: string) => managedClients(sql).delete(id, { kind: "all" }, anAudit("client.deleted"));
  const returnClient = (clientId: string, isAgent = false) =>
    managedClients(sql).register(aNewClient({ clientId, isAgent }), anAudit("client.registered"));

  /** A grant by an identity assertion. */
  async function aGrantByAssertion(subject = anId()) {
    const { id, clientId } = await aUsedClient();
    const { userId: _, ...grant } = aGrant({ userId: "", sessionId: "", sessionHash: aHash(), clientId, consentId: "" });
    const about = { issuer: "https://idp.example.test", subject, verifiedEmail: undefined, realmId: DEFAULT_REALM_ID };
    const identity = { ...about, newUserId: anId(), jti: anId(), remember: 60 };
    return { id, clientId, grant, accept: (tx: Sql) => identityAssertions(tx).accept(identity, grant, anAudit("token.issued")) };
  }

  test("a user who is being disabled gets no grant by an identity assertion", async () => {
    const subject = anId();
    const [first, second] = [await aGrantByAssertion(subject), await aGrantByAssertion(subject)];
    const userId = await first.accept(sql);
    await commitAfter(
      (tx) => managedUsers(tx).setEnabled(userId, false, anAudit("user.changed")),
      () => expect(second.accept(sql)).rejects.toMatchObject({ reason: "user_disabled" }),
    );
  });

  test("a grant by an identity assertion beside the deletion of its client is none of a client that gets its client_id", async () => {
    const { id, clientId, grant, accept } = await aGrantByAssertion();
    const userId = await commitAfter(accept, () => deleteClient(id));
    await returnClient(clientId);
    const token = { jti: anId(), clientId, userId, grantId: grant.id };
    expect(await tokenStates(sql).of(token)).toMatchObject({ grantLives: false });
  });

  test("what an agent exchanges beside its deletion is none of a client that gets its client_id", async () => {
    const its = delegating(() => sql);
    const { scene, grantId, token } = await its.aRoot();
    const { id, clientId } = await aUsedClient(true);
    const exchanged = its.below(scene, grantId, clientId, token);
    const exchange = (tx: Sql) => delegations(tx).record(exchanged, anAudit("token.issued", { jti: exchanged.jti }));
    expect(await commitAfter(exchange, () => deleteClient(id))).toBe(true);
    await returnClient(clientId, true);
    expect(await its.lives(exchanged)).toBe(false);
  });

  test("a client_id is not registered again beside the deletion of a client whose grants are still to be revoked", async () => {
    const scene = await aScene(sql);
    await manyGrants(sql, scene, 600);
    const [{ id = "" } = {}] = await runText<{ id: string }>(sql, "select id::text from clients where client_id = $1", [scene.clientId]);
    const remove = (tx: Sql) => managedClients(tx).delete(id, { kind: "all" }, anAudit("client.deleted"));
    const register = () => managedClients(sql).register(aNewClient({ clientId: scene.clientId }), anAudit("client.registered"));
    await commitAfter(remove, () => expect(register()).rejects.toMatchObject({ code: "temporarily_unavailable" }));
  });

  test("a client that is registered beside the deletion of its owner's large account is deleted too", async () => {
    const scene = await aScene(sql);
    await manyGrants(sql, scene, 600);
    const { clientId, ...client } = aNewClient({ ownerId: scene.userId });
    await commitAfter(
      (tx) => managedClients(tx).register({ clientId, ...client }, anAudit("client.registered")),
      () => accountClosing(sql).close(scene.userId, undefined, MESSAGE, anAudit("user.deleted")),
    );
    expect(await runText(sql, "select 1 from clients where client_id = $1", [clientId])).toEqual([]);
    const [removal] = await runText(sql, "select kind from removals where key = $1", [clientId]);
    expect(removal).toEqual({ kind: "client_deleted" });
  });
});
