import { randomBytes } from "node:crypto";
import { beforeAll, describe, test } from "vitest";
import type { FactorUse, NewSessionRecord } from "../../src/accounts/ports.ts";
import { parseProvisionFile } from "../../src/management/provision.ts";
import { TWO_FACTOR_ACR } from "../../src/protocol/authentication-context.ts";
import { accountClosing } from "../../src/store/account-closing.ts";
import { addressChanges } from "../../src/store/address-changes.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { managedClients } from "../../src/store/clients.ts";
import { consents } from "../../src/store/consents.ts";
import { identityAssertions } from "../../src/store/identity-assertions.ts";
import { identityLinks } from "../../src/store/identity-links.ts";
import { keyRegister } from "../../src/store/key-register.ts";
import { passkeys } from "../../src/store/passkeys.ts";
import { passwordChanges } from "../../src/store/password-changes.ts";
import { proofChallenges } from "../../src/store/proof-challenges.ts";
import { provisioner } from "../../src/store/provisioning.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { secondFactors } from "../../src/store/second-factors.ts";
import { sessions } from "../../src/store/sessions.ts";
import type { Sql } from "../../src/store/sql.ts";
import { managedUsers, users } from "../../src/store/users.ts";
import { aHash, anAudit, anId, aUser, connectProvider, DEFAULT_REALM_ID } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { racing, roundsOn, shuffled } from "../support/deadlocks.ts";
import { aBinding, aClient, aCode, aFamily, aGrant, anOpenFamily, aScene, RESOURCE, type Scene } from "../support/grants.ts";
import { A_SECRET_BOX } from "../support/secret-box.ts";

const MANY = 16;
const MESSAGE = { subject: "s", text: "t", html: "h" };
const times = <Thing>(count: number, make: (at: number) => Promise<Thing>): Promise<Thing[]> =>
  Promise.all(Array.from({ length: count }, (_, at) => make(at)));

// Statements that lock several rows lock them in one order (docs/decisions/0014-locks-in-one-order.md). Each of these once used two.
describe.each(databaseKinds)("no deadlock on $name", ({ name, fresh }) => {
  const { database, allAtOnce } = racing(fresh);
  const rounds = roundsOn(name);
  let sql: Sql;
  beforeAll(() => {
    ({ sql } = database());
  });

  const aSession = async (userId: string): Promise<string> => {
    const id = anId();
    await sessions(sql).start({ id, hash: aHash(), userId, ttl: 3_600 }, anAudit("session.started"));
    return id;
  };
  const aConsent = ({ userId, clientId, sessionId }: Pick<Scene, "userId" | "clientId" | "sessionId">) =>
    consents(sql).give(
      { id: anId(), userId, clientId, sessionId, clientName: "A client", scopes: ["crm:read"], resources: [RESOURCE] },
      anAudit("consent.given"),
    );
  /** Another user who has given the same client the same consent. */
  const another = async (scene: Scene): Promise<Scene> => {
    const userId = (await aUser(sql)).id;
    const other = { ...scene, userId, sessionId: await aSession(userId) };
    await aConsent(other);
    return other;
  };
  const idOf = async (clientId: string): Promise<string> =>
    (await managedClients(sql).list({ search: clientId }, { limit: 1 })).items[0]?.id ?? "";
  const issuing = (scenes: readonly Scene[]) => {
    const codes = authorizationCodes(sql);
    return scenes.map((scene) => codes.issue(aHash(), aBinding(scene), 60, anAudit("code.issued")));
  };
  const close = (userId: string) => accountClosing(sql).close(userId, undefined, { ...MESSAGE }, anAudit("user.deleted"));

  test.for(rounds(12))("issuing codes in many sessions while their user signs out everywhere, round %i", async (round) => {
    const scene = await aScene(sql);
    const scenes = await times(MANY, async () => ({ ...scene, sessionId: await aSession(scene.userId) }));
    await allAtOnce([
      ...issuing(shuffled(scenes, round)),
      ...issuing(shuffled(scenes, round + 100)),
      sessions(sql).endOthers(scene.sessionId, scene.userId, anAudit("session.ended")),
      sessions(sql).endAll(scene.userId, anAudit("session.ended")),
    ]);
  });

  test.for(
    rounds(16).flatMap((round) => (["a new password", "the deletion of the account"] as const).map((what) => [what, round] as const)),
  )("issuing codes in many sessions beside %s in the last of them, round %i", async ([what, round]) => {
    const scene = await aScene(sql);
    const provedBy = aHash();
    const scenes = await times(MANY, async () => ({ ...scene, sessionId: await aSession(scene.userId) }));
    const last = { id: `ffffffff-ffff-7fff-bfff-${randomBytes(6).toString("hex")}`, hash: provedBy, userId: scene.userId, ttl: 3_600 };
    await sessions(sql).start(last, anAudit("session.started"));
    scenes.push({ ...scene, sessionId: last.id });
    const audits = { change: anAudit("password.changed"), session: anAudit("session.started") };
    const session = { id: anId(), hash: aHash(), userId: scene.userId, ttl: 3_600 };
    const act = () =>
      what === "a new password"
        ? passwordChanges(sql).change({ provedBy, passwordHash: "$argon2id$x", session }, MESSAGE, audits)
        : accountClosing(sql).close(scene.userId, last.id, { ...MESSAGE }, anAudit("user.deleted"));
    await allAtOnce([...issuing(shuffled(scenes, round)), act(), ...issuing(shuffled(scenes, round + 100))]);
  });

  test.for(rounds(12))("issuing codes for many users of a client while it is deleted, round %i", async (round) => {
    const scene = await aScene(sql);
    const scenes = await times(MANY, () => another(scene));
    const id = await idOf(scene.clientId);
    await allAtOnce([
      ...issuing(shuffled(scenes, round)),
      ...issuing(shuffled(scenes, round + 100)),
      managedClients(sql).delete(id, { kind: "all" }, anAudit("client.deleted")),
    ]);
  });

  test.for(rounds(12))("redeeming codes in two processes while their user signs out and the client is deleted, round %i", async (round) => {
    const scene = await aScene(sql);
    const codes = await times(MANY, () => aCode(sql, scene));
    const id = await idOf(scene.clientId);
    const redeeming = (order: typeof codes) => {
      const process = authorizationCodes(sql);
      return order.map((code) => process.redeem(code, aGrant(scene), aFamily(), anAudit("token.issued")));
    };
    await allAtOnce([
      ...redeeming([...shuffled(codes, round)]),
      ...redeeming([...shuffled(codes, round + 100)]),
      sessions(sql).endAll(scene.userId, anAudit("session.ended")),
      consents(sql).revoke(scene.consentId, scene.userId, anAudit("consent.revoked")),
      managedClients(sql).delete(id, { kind: "all" }, anAudit("client.deleted")),
    ]);
  });

  test.for(rounds(12))("rotating many refresh tokens while their user signs out everywhere, round %i", async (round) => {
    const scene = await aScene(sql);
    const ids = Array.from({ length: MANY }, anId).toSorted().toReversed();
    const open = await times(MANY, (at) => anOpenFamily(sql, scene, { id: ids[at] ?? anId() }));
    const families = refreshFamilies(sql);
    await allAtOnce([
      ...shuffled(open, round).map(({ family }) =>
        families.rotate(family.id, family.tokenHash, { hash: aHash(), ttl: 60 }, anAudit("token.issued")),
      ),
      sessions(sql).endAll(scene.userId, anAudit("session.ended")),
    ]);
  });

  test.for(rounds(25))("requesting a password reset while the previous link is used, round %i", async () => {
    const user = await aUser(sql);
    const changes = passwordChanges(sql);
    const ask = (tokenHash = aHash()) =>
      changes.issueReset(user.email, { tokenHash, ttl: 600 }, MESSAGE, anAudit("password.reset_requested"));
    const tokenHash = aHash();
    await ask(tokenHash);
    await allAtOnce([ask(), changes.reset(tokenHash, "$argon2id$x", MESSAGE, anAudit("password.changed")), ask()]);
  });

  test.for(rounds(25))("requesting a verification mail while the previous link is used, round %i", async () => {
    const user = await aUser(sql);
    const tokenHash = aHash();
    const mail = { to: user.email, ...MESSAGE };
    await users(sql).issueVerification(user.id, { tokenHash, ttl: 600 }, mail);
    await allAtOnce([
      users(sql).verifyEmail(tokenHash, {}),
      users(sql).issueVerification(user.id, { tokenHash: aHash(), ttl: 600 }, mail),
      users(sql).verifyEmail(tokenHash, {}),
    ]);
  });

  const endings = rounds(16).flatMap((round) => [["removed", round] as const, ["deleted with its user", round] as const]);
  test.for(endings)("signing in again by a passkey while it is %s, round %i", async ([ending, round]) => {
    const scene = await aScene(sql);
    const { userId, sessionId, sessionHash } = scene;
    const passkey = {
      ...{ id: anId(), userId, counter: 0, credentialId: aHash(), publicKey: aHash(), transports: [] },
      ...{ backedUp: false, aaguid: "00000000-0000-0000-0000-000000000000", name: "Laptop" },
    };
    await passkeys(sql).add(passkey, sessionId, MESSAGE, anAudit("passkey.added"));
    const again = async () => {
      for (let statements = 0; statements < round; statements += 1) await users(sql).byId(userId);
      await sessions(sql).start(
        { id: anId(), hash: aHash(), userId, ttl: 60, replaces: sessionHash, passkey: passkey.id },
        anAudit("session.started"),
      );
    };
    const remove = () => passkeys(sql).remove(passkey.id, userId, sessionId, MESSAGE, anAudit("passkey.removed"));
    const end = () => (ending === "removed" ? remove() : close(userId));
    await allAtOnce([again(), end(), again(), end(), again(), end()]);
  });

  const takings = rounds(16).flatMap((round) =>
    (["is deleted", "gets the former address back", "gets its first reset", "unlinks the identity"] as const).map(
      (taking) => [taking, round] as const,
    ),
  );
  test.for(takings)("signing in again by a provider while the account %s, round %i", async ([taking, round]) => {
    const { id: userId, email } = await aUser(sql, { emailVerified: taking !== "gets its first reset" });
    const [own, issuer, subject] = [{ id: anId(), userId, hash: aHash(), ttl: 3_600 }, `https://${anId()}.example.test`, anId()];
    await sessions(sql).start(own, anAudit("session.started"));
    await connectProvider(sql, issuer, `acme-${anId()}`);
    const links = identityLinks(sql);
    const link = () => ({ tokenHash: aHash(), ttl: 600, mail: MESSAGE });
    const [proof, stop, tokenHash] = [link(), link(), aHash()];
    await addressChanges(sql).request({ session: own, email: `${anId()}@example.test`, proof, stop }, anAudit("address.change_requested"));
    const names = { email: undefined, emailVerified: false, firstName: undefined, lastName: undefined };
    const identity = { issuer, subject, ...names, acr: undefined, amr: [], sid: undefined };
    await links.link(own, identity, MESSAGE, anAudit("identity.linked"));
    await passwordChanges(sql).issueReset(email, { tokenHash, ttl: 600 }, MESSAGE, anAudit("password.reset_requested"));
    const again = async () => {
      for (let statements = 0; statements < round; statements += 1) await users(sql).byId(userId);
      const upstream = { issuer, subject, sid: undefined };
      await sessions(sql).start({ id: anId(), hash: aHash(), userId, ttl: 60, replaces: own.hash, upstream }, anAudit("session.started"));
    };
    const take = {
      "is deleted": () => close(userId),
      "gets the former address back": () => addressChanges(sql).stop(stop.tokenHash, anAudit("address.change_stopped")),
      "gets its first reset": () => passwordChanges(sql).reset(tokenHash, "$argon2id$x", MESSAGE, anAudit("password.changed")),
      "unlinks the identity": () => links.unlink(own, identity, MESSAGE, anAudit("identity.unlinked")),
    }[taking];
    await allAtOnce([again(), take(), again(), again(), again()]);
  });

  const others = rounds(16).flatMap((round) =>
    (["signs out its other sessions", "is signed out by its provider"] as const).map((ending) => [ending, round] as const),
  );
  test.for(others)("changing the password in one session while another %s, round %i", async ([ending, round]) => {
    const { id: userId } = await aUser(sql);
    const [issuer, subject] = [`https://${anId()}.example.test`, anId()];
    const ids = await times(8, () => aSession(userId));
    for (const id of ids)
      await runText(sql, "insert into upstream_sessions (session_id, issuer, subject) values ($1::uuid, $2, $3)", [id, issuer, subject]);
    const provedBy = aHash();
    const own = { id: anId(), hash: provedBy, userId, ttl: 3_600 };
    await sessions(sql).start(own, anAudit("session.started"));
    await runText(sql, "insert into upstream_sessions (session_id, issuer, subject) values ($1::uuid, $2, $3)", [own.id, issuer, subject]);
    const end = async () => {
      for (let statements = 0; statements < round; statements += 1) await users(sql).byId(userId);
      const logout = { jti: anId(), subject, sid: undefined, remember: 60 };
      if (ending === "is signed out by its provider") await identityLinks(sql).endSessions(issuer, logout, anAudit("session.ended"));
      else await sessions(sql).endOthers(ids[0] ?? "", userId, anAudit("session.ended"));
    };
    const session = { id: anId(), hash: aHash(), userId, ttl: 3_600 };
    const audits = { change: anAudit("password.changed"), session: anAudit("session.started") };
    const change = passwordChanges(sql).change({ provedBy, passwordHash: "$argon2id$x", session }, MESSAGE, audits);
    await allAtOnce([end(), change, end()]);
  });

  test.for(rounds(16))("signing in again by a password while the account gets its first reset, round %i", async (round) => {
    const { id: userId, email } = await aUser(sql);
    const [own, tokenHash] = [{ id: anId(), userId, hash: aHash(), ttl: 3_600 }, aHash()];
    await sessions(sql).start(own, anAudit("session.started"));
    await passwordChanges(sql).issueReset(email, { tokenHash, ttl: 600 }, MESSAGE, anAudit("password.reset_requested"));
    const again = async () => {
      for (let statements = 0; statements < round; statements += 1) await users(sql).byId(userId);
      const session = { id: anId(), hash: aHash(), userId, ttl: 60, replaces: own.hash, generation: 0 };
      await sessions(sql).start(session, anAudit("session.started"));
    };
    const reset = passwordChanges(sql).reset(tokenHash, "$argon2id$x", MESSAGE, anAudit("password.changed"));
    await allAtOnce([again(), reset, again(), again(), again()]);
  });

  test.for(rounds(16))("completing sign-ins by a second factor while the account is deleted, round %i", async (round) => {
    const { id: userId } = await aUser(sql);
    const own = { id: anId(), userId, hash: aHash(), ttl: 3_600 };
    await sessions(sql).start(own, anAudit("session.started"));
    const halves = await times(4, async () => {
      const half = aHash();
      const proof = { userId, generation: 0, upstream: null };
      await proofChallenges(sql).put(half, "second_factor", proof, 300, { holder: anId(), limit: 5 });
      return half;
    });
    const complete = async (half: (typeof halves)[number]) => {
      for (let statements = 0; statements < round; statements += 1) await users(sql).byId(userId);
      const session = { id: anId(), hash: aHash(), userId, ttl: 60, generation: 0, replaces: own.hash, half };
      await sessions(sql).start(session, anAudit("session.started"));
    };
    await allAtOnce([...halves.map(complete), close(userId)]);
  });

  /** A user with an app and recovery codes, one session by the password alone and one in which they change it. */
  async function withFactor() {
    const { id: userId } = await aUser(sql);
    const [own, setUp] = [aHash(), aHash()].map((hash) => ({ id: anId(), userId, hash, ttl: 3_600 })) as [
      NewSessionRecord,
      NewSessionRecord,
    ];
    const names = { email: undefined, emailVerified: false, firstName: undefined, lastName: undefined };
    const identity = { issuer: "https://idp.example.test", subject: anId(), ...names, acr: undefined, amr: [], sid: undefined };
    await connectProvider(sql, identity.issuer, "idp");
    for (const session of [own, setUp]) await sessions(sql).start(session, anAudit("session.started"));
    const [apps, codes] = [secondFactors(sql), Array.from({ length: 4 }, aHash)];
    await apps.begin(setUp, "sealed");
    await apps.confirm(setUp, { secret: "sealed", step: 1 }, codes, MESSAGE, anAudit("second_factor.added"));
    await identityLinks(sql).link(setUp, identity, MESSAGE, anAudit("identity.linked"));
    const factors: FactorUse[] = [
      ...codes.map((code) => ({ kind: "recovery", code, message: MESSAGE, audit: anAudit("recovery_code.used") }) as const),
      { kind: "otp", step: 2 },
    ];
    /** Enters by each factor: raises the session, starts one by the password, and one by the provider. */
    const enter = (round: number): readonly Promise<unknown>[] =>
      factors.map(async (factor, at) => {
        for (let statements = 0; statements < round + at; statements += 1) await users(sql).byId(userId);
        const session = { id: anId(), hash: aHash(), userId, ttl: 60, acr: TWO_FACTOR_ACR, factor };
        const audit = anAudit("session.started");
        const ways = [
          () => sessions(sql).start({ ...session, replaces: own.hash, raises: true }, audit),
          () => sessions(sql).start({ ...session, generation: 0 }, audit),
          () => sessions(sql).start({ ...session, upstream: { ...identity, sid: undefined } }, audit),
        ];
        await ways[(round + at) % ways.length]?.();
      });
    return { userId, setUp, apps, identity, enter };
  }

  test.for(rounds(32))("using second factors while the account is deleted, round %i", async (round) => {
    const { userId, enter } = await withFactor();
    await allAtOnce([...enter(round), close(userId)]);
  });

  test.for(rounds(32))("using second factors while codes are replaced and app and identity removed, round %i", async (round) => {
    const { userId, setUp, apps, identity, enter } = await withFactor();
    const later = async (statements: number, change: () => Promise<unknown>) => {
      for (let done = 0; done < statements; done += 1) await users(sql).byId(userId);
      return change();
    };
    await allAtOnce([
      ...enter(round % 8),
      later(round % 5, () => apps.replaceCodes(setUp, [aHash(), aHash()], anAudit("recovery_codes.replaced"))),
      later(round % 7, () => identityLinks(sql).unlink(setUp, identity, MESSAGE, anAudit("identity.unlinked"))),
      later(round % 11, () => apps.remove(userId, setUp.id, MESSAGE, anAudit("second_factor.removed"))),
    ]);
  });

  test.for(rounds(16))(
    "closing an account while identity assertions about its address are redeemed for the first time, round %i",
    async () => {
      const scene = await aScene(sql);
      const { id: userId, email } = await aUser(sql);
      await runText(sql, "update users set email_verified = true where id = $1::uuid", [userId]);
      const redeem = () => {
        const { userId: _, ...grant } = aGrant(scene);
        const about = { issuer: "https://idp.example.test", subject: anId(), verifiedEmail: email, realmId: DEFAULT_REALM_ID };
        const identity = { ...about, newUserId: anId(), jti: anId(), remember: 60 };
        return identityAssertions(sql).accept(identity, grant, anAudit("token.issued"));
      };
      await allAtOnce([...Array.from({ length: 4 }, redeem), close(userId)]);
    },
  );

  test.for(rounds(12))("closing an account while an operator disables it and deletes its client, round %i", async () => {
    const scene = await aScene(sql);
    const client = await aClient(sql, { ownerId: scene.userId });
    const own = { ...scene, clientId: client.clientId };
    await aConsent(own);
    await times(4, () => anOpenFamily(sql, own));
    await allAtOnce([
      managedUsers(sql).setEnabled(scene.userId, false, anAudit("user.changed")),
      close(scene.userId),
      managedClients(sql).delete(client.id, { kind: "all" }, anAudit("client.deleted")),
      ...issuing([scene, own]),
    ]);
  });

  test.for(rounds(12))("closing the accounts of two users of each other's clients, round %i", async () => {
    const [one, other] = [await aScene(sql), await aScene(sql)];
    const ofOne = (await aClient(sql, { ownerId: one.userId })).clientId;
    const ofOther = (await aClient(sql, { ownerId: other.userId })).clientId;
    for (const scene of [one, other])
      for (const clientId of [ofOne, ofOther]) {
        await aConsent({ ...scene, clientId });
        await times(3, () => anOpenFamily(sql, { ...scene, clientId }));
        await times(3, () => aCode(sql, { ...scene, clientId }));
      }
    await allAtOnce([close(one.userId), close(other.userId)]);
  });

  test.for(rounds(12))(
    "applying a provisioning file while operators close their accounts and clients are deleted, round %i",
    async (round) => {
      const scene = await aScene(sql);
      const [operators, leaving] = [
        await times(2, () => aUser(sql, { role: "operator" })),
        await times(2, () => aUser(sql, { role: "operator" })),
      ];
      const clients = await times(2, () => aClient(sql));
      const users = await times(2, () => aUser(sql));
      for (const [at, { id: userId }] of users.entries()) {
        const own = { ...scene, userId, clientId: clients[at]?.clientId ?? "", sessionId: await aSession(userId) };
        await aConsent(own);
        await anOpenFamily(sql, own);
      }
      const file = parseProvisionFile(
        JSON.stringify({
          users: shuffled([...operators, ...users], round).map(({ email }) => ({
            email,
            password: "a password of this test",
            lastName: `R${round}`,
          })),
          clients: shuffled(clients, round).map(({ clientId }) => ({
            clientId,
            name: `round ${round}`,
            redirectUris: ["https://client.example.test/cb"],
            scopes: ["openid"],
            grantTypes: ["authorization_code"],
            tokenEndpointAuthMethod: "none",
          })),
        }),
      );
      const provision = provisioner(
        sql,
        { hash: async () => "$argon2id$y", verify: async () => ({ kind: "wrong" }) },
        { issuer: "https://id.example.test", box: A_SECRET_BOX },
      );
      await allAtOnce([
        provision.apply(file),
        ...leaving.map(({ id }) => close(id)),
        ...clients.map(({ id }) => managedClients(sql).delete(id, { kind: "all" }, anAudit("client.deleted"))),
      ]);
    },
  );

  test("publishing the same new keys from cores that list them in different orders", async () => {
    for (const round of rounds(12)) {
      const keys = Array.from({ length: MANY }, (_, at) => ({ kty: "OKP", kid: `key-${round}-${at}`, crv: "Ed25519", x: "x" }));
      await allAtOnce(
        [keys, keys.toReversed(), shuffled(keys, round)].map((order) => keyRegister(sql, 3_600).publish([...order] as never, [])),
      );
    }
  });
});
