import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { AccountPorts } from "../../src/accounts/account-ports.ts";
import { passkeyOptions } from "../../src/accounts/authenticators/passkey.ts";
import type { Caller } from "../../src/accounts/caller.ts";
import type { SecondFactors } from "../../src/accounts/factors.ts";
import { MAX_PASSKEYS, type NewPasskey, type Passkeys } from "../../src/accounts/factors.ts";
import type { FactorUse, NewSessionRecord } from "../../src/accounts/ports.ts";
import { appSecretPlace, confirmApp, SECOND_FACTOR_WRONG, SIGN_IN_OVER } from "../../src/accounts/second-factor.ts";
import { signIn, signInByPasskey } from "../../src/accounts/sign-in.ts";
import { systemClock } from "../../src/clock.ts";
import { TWO_FACTOR_ACR } from "../../src/protocol/authentication-context.ts";
import { hashSecret } from "../../src/random.ts";
import type { Database } from "../../src/store/orm.ts";
import { passkeys } from "../../src/store/passkeys.ts";
import { proofChallenges } from "../../src/store/proof-challenges.ts";
import { secondFactors, useFactor } from "../../src/store/second-factors.ts";
import { sessions } from "../../src/store/sessions.ts";
import { users } from "../../src/store/users.ts";
import { aHash, anAudit, anId, aSessionOf, aUser, auditOf, OPEN_SIGN_UP } from "../support/accounts.ts";
import { anAuthenticator, SYNCHRONISED } from "../support/authenticator.ts";
import { codeOf } from "../support/authenticator-app.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { A_SECRET_BOX } from "../support/secret-box.ts";

const mail = { subject: "news", text: "t", html: "h" };
const unnamed = { userId: null, generation: null, upstream: null };
const bound = { holder: "address 192.0.2.1", limit: 3 };
const many = <Result>(work: () => Promise<Result>) => Promise.all(Array.from({ length: 64 }, work));

const recovery = (code = aHash()): FactorUse => ({ kind: "recovery", code, message: mail, audit: anAudit("recovery_code.used") });

const aPasskey = (userId: string, counter = 0): NewPasskey => ({
  ...{ id: anId(), userId, counter, credentialId: aHash(), publicKey: aHash(), transports: ["internal"] },
  ...{ backedUp: false, aaguid: "00000000-0000-0000-0000-000000000000", name: "Laptop" },
});

const use = (counter: number) => ({ counter, backedUp: false });

describe.for(databaseKinds)("ways to sign in on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  describe("challenges", () => {
    test("64 concurrent uses of one challenge: exactly one gets it", async () => {
      const [store, id] = [proofChallenges(database.sql), aHash()];
      await store.put(id, "passkey_sign_in", unnamed, 60, bound);
      expect(await store.take(id, "second_factor")).toBeUndefined();
      const taken = await many(() => store.take(id, "passkey_sign_in"));
      expect(taken.filter((one) => one !== undefined)).toEqual([unnamed]);
    });

    test("an expired challenge and the oldest above the holder's limit cannot be used", async () => {
      const [store, ids] = [proofChallenges(database.sql), [aHash(), aHash(), aHash(), aHash()]];
      const holder = { holder: `user ${anId()}`, limit: 3 };
      for (const id of ids) await store.put(id, "passkey_sign_in", unnamed, 60, holder);
      expect(await Promise.all(ids.map((id) => store.byId(id, "passkey_sign_in")))).toEqual([undefined, unnamed, unnamed, unnamed]);
      const late = aHash();
      await store.put(late, "passkey_sign_in", unnamed, 0, holder);
      expect(await store.take(late, "passkey_sign_in")).toBeUndefined();
    });
  });

  const sessionOf = async ({ id }: { readonly id: string }) => (await aSessionOf(database.sql, id)).id;

  describe("passkeys", () => {
    test("a passkey is found with its user, counts upwards only, and makes phr reachable", async () => {
      const [store, user] = [passkeys(database.sql), await aUser(database.sql)];
      const passkey = aPasskey(user.id, 5);
      expect(await store.add(passkey, await sessionOf(user), mail, anAudit("passkey.added", { userId: user.id }))).toBe(true);
      expect(await store.add(passkey, await sessionOf(user), mail, anAudit("passkey.added"))).toBe(false);
      expect(await store.byCredential(passkey.credentialId)).toMatchObject({ id: passkey.id, user: { id: user.id } });
      expect(await many(() => store.use(passkey.id, use(6))).then((uses) => uses.filter(Boolean))).toHaveLength(1);
      expect([await store.use(passkey.id, use(6)), await store.use(passkey.id, use(0)), await store.use(passkey.id, use(7))]).toEqual([
        false,
        false,
        true,
      ]);
      const hash = aHash();
      await sessions(database.sql).start({ id: anId(), hash, userId: user.id, ttl: 60 }, anAudit("session.started"));
      expect((await sessions(database.sql).byHash(hash))?.session.reachableAcr).toBe("phr");
      expect((await auditOf(database.sql, "passkey.added")).filter(({ user_id }) => user_id === user.id)).toHaveLength(1);
    });

    test("a passkey of which a copy was reported is refused from then on, and the user gets one mail", async () => {
      const [store, user] = [passkeys(database.sql), await aUser(database.sql)];
      const passkey = aPasskey(user.id, 5);
      await store.add(passkey, await sessionOf(user), mail, anAudit("passkey.added"));
      for (const _ of [1, 2]) await store.reportCopy(passkey.id, user.id, mail, anAudit("passkey.refused"));
      expect(await store.use(passkey.id, use(100))).toBe(false);
      expect(await store.ofUser(user.id)).toMatchObject([{ copiedAt: expect.any(Number) }]);
      const mails = await runText<{ n: number }>(
        database.sql,
        "select count(*)::int as n from outbox where user_id = $1::uuid and about = 'notice'",
        [user.id],
      );
      expect(mails).toEqual([{ n: 2 }]);
    });

    test("a new name is recorded, and the name that a passkey has already is not", async () => {
      const [store, user] = [passkeys(database.sql), await aUser(database.sql)];
      const passkey = aPasskey(user.id);
      await store.add(passkey, await sessionOf(user), mail, anAudit("passkey.added"));
      const rename = () => store.rename(passkey.id, user.id, "Phone", anAudit("passkey.changed", { userId: user.id }));
      expect([await rename(), await rename()]).toEqual([true, true]);
      expect(await store.ofUser(user.id)).toMatchObject([{ name: "Phone" }]);
      expect((await auditOf(database.sql, "passkey.changed")).filter(({ user_id }) => user_id === user.id)).toHaveLength(1);
    });

    test("another user's passkey cannot be renamed or removed, and the last way to sign in stays, also in a race", async () => {
      const [store, user, other] = [passkeys(database.sql), await aUser(database.sql), await aUser(database.sql)];
      const [one, two] = [aPasskey(user.id), aPasskey(user.id)];
      for (const each of [one, two]) await store.add(each, await sessionOf({ id: each.userId }), mail, anAudit("passkey.added"));
      const audit = anAudit("passkey.removed");
      expect([await store.rename(one.id, other.id, "x", audit), await store.remove(one.id, other.id, undefined, mail, audit)]).toEqual([
        false,
        "unknown",
      ]);
      await runText(database.sql, "delete from credentials where user_id = $1::uuid", [user.id]);
      const outcomes = await Promise.all([one, two].map(({ id }) => store.remove(id, user.id, undefined, mail, audit)));
      expect(outcomes.toSorted()).toEqual(["last", "removed"]);
    });

    test("a passkey signs in as what it is then, and one that is removed while it signs in starts no session, so that none outlives a sign-out of all after it", async () => {
      const { sql } = database;
      const [store, user, caller] = [passkeys(sql), await aUser(sql), { limitKey: "192.0.2.1", userAgent: "", language: "en" } as Caller];
      const relyingParty = { id: "id.example.test", origin: "https://id.example.test" };
      const credentialId = aHash();
      const authenticator = anAuthenticator(relyingParty, user.id, credentialId);
      const passkey = { ...aPasskey(user.id), credentialId, publicKey: authenticator.publicKey };
      await store.add(passkey, await sessionOf(user), mail, anAudit("passkey.added"));
      const signIn = async (use: Passkeys["use"], flags?: string) => {
        const ports = {
          ...{ relyingParty, clock: systemClock, randomBytes, sessionTtl: 60, signUpPolicy: OPEN_SIGN_UP, sessions: sessions(sql) },
          ...{ passkeys: { ...store, use }, challenges: proofChallenges(sql), challengeRate: { hit: async () => 0 } },
          refusals: { record: async () => undefined },
        } as unknown as AccountPorts;
        const { challenge } = await passkeyOptions(relyingParty, "browser", ports, caller);
        return signInByPasskey({ response: authenticator.answer(challenge, { flags }), browser: "browser" }, ports, caller);
      };
      expect(await signIn(store.use)).toMatchObject({ session: { userId: user.id, acr: "phr", amr: ["hwk", "user"] } });
      expect(await store.ofUser(user.id)).toMatchObject([{ backedUp: false }]);
      expect(await signIn(store.use, SYNCHRONISED)).toMatchObject({ session: { amr: ["swk", "user"] } });
      expect(await store.ofUser(user.id)).toMatchObject([{ backedUp: true }]);
      const removed = signIn(async (id, at) => {
        const used = await store.use(id, at);
        await store.remove(id, user.id, undefined, mail, anAudit("passkey.removed"));
        await sessions(sql).endAll(user.id, anAudit("session.ended"));
        return used;
      });
      await expect(removed).rejects.toMatchObject({ code: "unauthenticated", reason: "passkey_unknown" });
      expect(await sessions(sql).ofUser(user.id)).toEqual([]);
    });

    test("a challenge outlives those of many other users behind the same address", async () => {
      const [relyingParty, caller] = [{ id: "id.example.test", origin: "https://id.example.test" }, { limitKey: "192.0.2.7" } as Caller];
      const [store, rate] = [proofChallenges(database.sql), { hit: async () => 0 }];
      const ports = { challenges: store, challengeRate: rate, randomBytes } as unknown as AccountPorts;
      const { challenge } = await passkeyOptions(relyingParty, "browser", ports, caller);
      for (let n = 0; n < 900; n++) await passkeyOptions(relyingParty, `other ${n}`, ports, caller);
      expect(await store.take(hashSecret(`${challenge} browser`), "passkey_sign_in")).toBeDefined();
    });

    test("a user has at most so many passkeys, also when they are added at once", async () => {
      const [store, user] = [passkeys(database.sql), await aUser(database.sql)];
      const session = await sessionOf(user);
      const added = await Promise.all(
        Array.from({ length: MAX_PASSKEYS + 5 }, () => store.add(aPasskey(user.id), session, mail, anAudit("passkey.added"))),
      );
      expect(added.filter(Boolean)).toHaveLength(MAX_PASSKEYS);
    });
  });

  describe("authenticator apps and recovery codes", () => {
    const withApp = async (codes = [aHash(), aHash()]) => {
      const [store, user] = [secondFactors(database.sql), await aUser(database.sql)];
      const session = await aSessionOf(database.sql, user.id);
      await store.begin(session, "sealed");
      const confirm = (step: number) => store.confirm(session, { secret: "sealed", step }, codes, mail, anAudit("second_factor.added"));
      return { store, user, session, codes, confirm };
    };

    test("64 confirmations at once: exactly one, with one mail; a confirmed app is not replaced", async () => {
      const { store, user, session, confirm } = await withApp();
      expect(await many(() => confirm(100)).then((all) => all.filter(Boolean))).toHaveLength(1);
      expect(await store.begin(session, "another")).toBe(false);
      expect(await store.appOf(user.id)).toMatchObject({ secret: "sealed", confirmed: true });
      expect(await store.stateOf(user.id)).toEqual({ appAddedAt: expect.any(Number), recoveryCodes: 2 });
    });

    test("a password that is proved while an app is confirmed starts no session, and the sign-in waits for a code", async () => {
      const { user, confirm } = await withApp();
      const { sql } = database;
      const [refused, verdicts]: [unknown[], unknown[]] = [[], []];
      const ports = {
        ...{ clock: systemClock, randomBytes, sessionTtl: 60, signUpPolicy: OPEN_SIGN_UP, sessions: sessions(sql), users: users(sql) },
        attempts: {
          async run<Outcome extends { verdict: string }>(_email: string, _caller: Caller, attempt: (lane: string) => Promise<Outcome>) {
            const outcome = await attempt("lane");
            verdicts.push(outcome.verdict);
            return outcome;
          },
        },
        passwords: { verify: async () => ((await confirm(100)) ? { kind: "right", outdated: false } : { kind: "wrong" }) },
        refusals: { record: async (entry: unknown) => void refused.push(entry) },
      } as unknown as AccountPorts;
      const caller = { limitKey: "192.0.2.1", userAgent: "" } as Caller;
      const before = await sessions(sql).ofUser(user.id);
      const outcome = await signIn({ email: user.email, password: "right" }, ports, caller);
      expect(outcome).toEqual({ userId: user.id, generation: expect.any(Number), upstream: null });
      expect(await sessions(sql).ofUser(user.id)).toEqual(before);
      expect([refused, verdicts]).toEqual([[], ["none"]]);
    });

    test("an app that was begun again while its first code was checked is not confirmed by that code", async () => {
      const [store, user] = [secondFactors(database.sql), await aUser(database.sql)];
      const secret = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP";
      const another = A_SECRET_BOX.seal("KRSXG5CTMVRXEZLUKRSXG5CTMVRXEZLU", appSecretPlace(user.id));
      const session = await aSessionOf(database.sql, user.id);
      await store.begin(session, A_SECRET_BOX.seal(secret, appSecretPlace(user.id)));
      const secondFactorsOfTwoTabs: SecondFactors = {
        ...store,
        async appOf(id) {
          const found = await store.appOf(id);
          await store.begin(session, another);
          return found;
        },
      };
      const ports = { secondFactors: secondFactorsOfTwoTabs, box: A_SECRET_BOX, randomBytes, issuer: "https://auth.example.test" };
      const brandings = { of: () => ({}) };
      const confirming = confirmApp(
        { user, session },
        codeOf(secret),
        { ...ports, brandings } as unknown as AccountPorts,
        { language: "en" } as Caller,
      );
      await expect(confirming).rejects.toMatchObject({ reason: "first_code_wrong" });
      expect(await store.appOf(user.id)).toMatchObject({ secret: another, confirmed: false });
    });

    test("64 uses of one time step or one recovery code at once: exactly one each; no step counts after a later one", async () => {
      const { store, user, codes, confirm } = await withApp();
      const used = (userId: string, factor: FactorUse) =>
        database.sql
          .transaction((tx) => useFactor(tx, userId, factor))
          .then(
            () => true,
            (error: unknown) => {
              expect(error).toMatchObject({ code: "unauthenticated", reason: SECOND_FACTOR_WRONG });
              return false;
            },
          );
      const useStep = (step: number) => used(user.id, { kind: "otp", step });
      expect(await useStep(101)).toBe(false);
      await confirm(100);
      expect(await many(() => useStep(101)).then((all) => all.filter(Boolean))).toHaveLength(1);
      expect([await useStep(100), await useStep(102)]).toEqual([false, true]);
      expect(await many(() => used(user.id, recovery(codes[0]))).then((all) => all.filter(Boolean))).toHaveLength(1);
      const other = await aUser(database.sql);
      expect(await used(other.id, recovery(codes[1]))).toBe(false);
      expect((await store.stateOf(user.id)).recoveryCodes).toBe(1);
    });

    test("a code is used up only by the session that it starts", async () => {
      const { store, user, codes, confirm } = await withApp();
      await confirm(100);
      const { sql } = database;
      const half = aHash();
      await proofChallenges(sql).put(half, "second_factor", { ...unnamed, userId: user.id, generation: 0 }, 300, bound);
      const start = (more: Partial<NewSessionRecord>) =>
        sessions(sql).start(
          { id: anId(), hash: aHash(), userId: user.id, ttl: 60, acr: TWO_FACTOR_ACR, factor: recovery(codes[0]), ...more },
          anAudit("session.started"),
        );
      const over = { code: "unauthenticated", reason: SIGN_IN_OVER };
      await expect(start({ raises: true, replaces: aHash() })).rejects.toMatchObject(over);
      await expect(start({ generation: 99, half })).rejects.toMatchObject(over);
      expect(await start({ half: aHash() })).toBeUndefined();
      expect((await store.stateOf(user.id)).recoveryCodes).toBe(2);
      // The sign-in still waits after a wrong code.
      await expect(start({ half, factor: recovery(aHash()) })).rejects.toMatchObject({ reason: SECOND_FACTOR_WRONG });
      expect(await start({ half })).toMatchObject({ userId: user.id });
      expect((await store.stateOf(user.id)).recoveryCodes).toBe(1);
    });

    test("an app that is removed takes its recovery codes with it, and new codes need an app", async () => {
      const { store, user, session, confirm } = await withApp();
      await confirm(100);
      expect(await store.replaceCodes(session, [aHash()], anAudit("recovery_codes.replaced"))).toBe(true);
      expect((await store.stateOf(user.id)).recoveryCodes).toBe(1);
      const removed = await many(() => store.remove(user.id, undefined, mail, anAudit("second_factor.removed")));
      expect(removed.filter(Boolean)).toHaveLength(1);
      expect(await store.stateOf(user.id)).toEqual({ appAddedAt: null, recoveryCodes: 0 });
      expect(await store.replaceCodes(session, [aHash()], anAudit("recovery_codes.replaced"))).toBe(false);
    });
  });
});
