import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { consents } from "../../src/store/consents.ts";
import { grants } from "../../src/store/grants.ts";
import type { Database } from "../../src/store/orm.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { sessions } from "../../src/store/sessions.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { aHash, anAudit, anId, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { anOpenFamily, aScene, type Scene } from "../support/grants.ts";

const issued = anAudit("token.issued");
const replayed = anAudit("refresh_token.replayed", { outcome: "failure" });

describe.for(databaseKinds)("refresh families on $name", ({ fresh, name }) => {
  let database: Database;
  let scene: Scene;
  const run = (text: string, id: string) => runText(database.sql, text, [id]);
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    scene = await aScene(database.sql);
  });
  const families = () => refreshFamilies(database.sql);

  test("a rotation makes the new token current and marks the old one as used", async () => {
    const { family } = await anOpenFamily(database.sql, scene);
    const next = aHash();
    expect(await families().rotate(family.id, family.tokenHash, { hash: next, ttl: 3_600 }, issued)).toBe(true);
    expect(await families().holding(next)).toMatchObject({
      familyId: family.id,
      usedAt: null,
    });
    const old = await families().holding(family.tokenHash);
    expect(old).toMatchObject({ familyId: family.id, usedAt: expect.any(Number), revoked: false });
    expect((old?.now ?? 0) - (old?.usedAt ?? 0)).toBeLessThanOrEqual(2);
    const after = aHash();
    expect(await families().rotate(family.id, next, { hash: after, ttl: 3_600 }, issued)).toBe(true);
    expect(await families().holding(family.tokenHash)).toMatchObject({ usedAt: expect.any(Number) });
    expect(await families().holding(next)).toMatchObject({ usedAt: expect.any(Number) });
  });

  test("a rotation binds a family that is bound to no key, once", async () => {
    const { family } = await anOpenFamily(database.sql, scene);
    const [first, second, third] = [aHash(), aHash(), aHash()];
    expect(await families().rotate(family.id, family.tokenHash, { hash: first, ttl: 3_600 }, issued)).toBe(true);
    expect(await families().holding(first)).toMatchObject({ cnf: null });
    expect(await families().rotate(family.id, first, { hash: second, ttl: 3_600, cnf: { jkt: "one" } }, issued)).toBe(true);
    expect(await families().holding(second)).toMatchObject({ cnf: { jkt: "one" } });
    expect(await families().rotate(family.id, second, { hash: third, ttl: 3_600, cnf: { jkt: "other" } }, issued)).toBe(true);
    expect(await families().holding(third)).toMatchObject({ cnf: { jkt: "one" } });
  });

  test("32 uses of a token that stays current all succeed, and extend the family", async () => {
    const { family } = await anOpenFamily(database.sql, scene);
    const before = await families().holding(family.tokenHash);
    const store = families();
    const uses = await Promise.all(Array.from({ length: 32 }, () => store.keep(family.id, family.tokenHash, 50_000, issued)));
    expect(uses).toEqual(Array(32).fill(true));
    const after = await families().holding(family.tokenHash);
    expect(after).toMatchObject({ usedAt: null, revoked: false });
    expect(after?.expiresAt).toBeGreaterThan(before?.expiresAt ?? 0);
    expect(await store.keep(family.id, aHash(), 60, issued)).toBe(false);
    await store.revoke(family.id, replayed);
    expect(await store.keep(family.id, family.tokenHash, 60, issued)).toBe(false);
  });

  test("a rotation with a used proof of possession is undone, with others of its batch unharmed", async () => {
    const open = () => anOpenFamily(database.sql, scene);
    const [bound, other, third] = [await open(), await open(), await open()];
    const proof = { id: Buffer.from(aHash()).toString("hex"), ttl: 60 };
    const store = families();
    const next = aHash();
    expect(await store.rotate(other.family.id, other.family.tokenHash, { hash: aHash(), ttl: 3_600 }, { ...issued, proof })).toBe(true);
    const [refused, unharmed] = await Promise.allSettled([
      store.rotate(bound.family.id, bound.family.tokenHash, { hash: next, ttl: 3_600 }, { ...issued, proof }),
      store.rotate(third.family.id, third.family.tokenHash, { hash: aHash(), ttl: 3_600 }, issued),
    ]);
    expect(refused).toMatchObject({ status: "rejected", reason: { code: "invalid_dpop_proof", reason: "dpop_proof_used" } });
    expect(unharmed).toMatchObject({ value: true });
    expect(await store.holding(bound.family.tokenHash)).toMatchObject({ usedAt: null, revoked: false });
    expect(await store.holding(next)).toBeUndefined();
    expect(await store.rotate(bound.family.id, bound.family.tokenHash, { hash: next, ttl: 3_600 }, issued)).toBe(true);
  });

  test("of 32 rotations of as many families with one proof of possession one takes effect", async () => {
    const opened = await Promise.all(Array.from({ length: 32 }, () => anOpenFamily(database.sql, scene)));
    const proof = { id: Buffer.from(aHash()).toString("hex"), ttl: 60 };
    const stores = [families(), families()];
    const rotations = opened.map(({ family }, n) =>
      stores[n % 2]?.rotate(family.id, family.tokenHash, { hash: aHash(), ttl: 3_600 }, { ...issued, proof }),
    );
    const settled = await Promise.allSettled(rotations);
    expect(settled.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  test("a family keeps its sender constraint across rotations", async () => {
    const grant = { id: anId(), clientId: scene.clientId, userId: scene.userId, scopes: ["openid"], audience: [], authTime: 1_000 };
    const cnf = { jkt: "thumbprint" };
    const [first, second] = [aHash(), aHash()];
    const family = { id: anId(), tokenHash: first, ttl: 3_600, maxAge: 7_200, cnf };
    expect(await grants(database.sql).open(grant, family, scene.sessionId, issued)).toBe(true);
    expect(await families().holding(first)).toMatchObject({ cnf });
    expect(await families().rotate(family.id, first, { hash: second, ttl: 3_600 }, issued)).toBe(true);
    expect(await families().holding(second)).toMatchObject({ cnf });
  });

  test("an unknown token or family cannot be found, rotated or revoked", async () => {
    expect(await families().holding(aHash())).toBeUndefined();
    expect(await families().rotate("no uuid", aHash(), { hash: aHash(), ttl: 60 }, issued)).toBe(false);
    expect(await families().rotate(anId(), aHash(), { hash: aHash(), ttl: 60 }, issued)).toBe(false);
    await families().revoke("no uuid", replayed);
  });

  test("a rotation does not extend the family beyond its maximum age", async () => {
    const { family } = await anOpenFamily(database.sql, scene, { ttl: 3_600, maxAge: 1_000 });
    const first = await families().holding(family.tokenHash);
    expect((first?.expiresAt ?? 0) - (first?.now ?? 0)).toBeLessThanOrEqual(1_000);
    const next = aHash();
    expect(await families().rotate(family.id, family.tokenHash, { hash: next, ttl: 50_000 }, issued)).toBe(true);
    expect((await families().holding(next))?.expiresAt).toBe(first?.expiresAt);
  });

  test.for([20, 64])(
    "%i parallel rotations: exactly one succeeds, and the losers' revocation leaves no live token or grant",
    async (callers) => {
      const { grant, family } = await anOpenFamily(database.sql, scene);
      const nexts = Array.from({ length: callers }, () => aHash());
      const shared = families();
      const verdicts = await Promise.all(
        nexts.map(async (next, n) => {
          const store = n % 2 === 0 ? shared : families(); // as another process would
          const won = await store.rotate(family.id, family.tokenHash, { hash: next, ttl: 3_600 }, issued);
          if (!won) await store.revoke(family.id, replayed);
          return won;
        }),
      );
      expect(verdicts.filter(Boolean)).toHaveLength(1);
      const successor = nexts[verdicts.indexOf(true)]!;
      expect(await families().holding(successor)).toMatchObject({ revoked: true });
      expect(await families().rotate(family.id, successor, { hash: aHash(), ttl: 3_600 }, issued)).toBe(false);
      const reference = { jti: anId(), clientId: scene.clientId, grantId: grant.id, userId: scene.userId };
      expect(await tokenStates(database.sql).of(reference)).toMatchObject({ grantLives: false });
    },
  );

  test("64 rotations of 16 families through one store: exactly one succeeds per family, with one audit record", async () => {
    const opened = await Promise.all(Array.from({ length: 16 }, () => anOpenFamily(database.sql, scene)));
    const before = (await auditOf(database.sql, "token.issued")).length;
    const store = families();
    const verdicts = await Promise.all(
      Array.from({ length: 64 }, (_, n) =>
        store.rotate(opened[n % 16]!.family.id, opened[n % 16]!.family.tokenHash, { hash: aHash(), ttl: 3_600 }, issued),
      ),
    );
    expect(opened.map((_, one) => verdicts.filter((won, n) => won && n % 16 === one).length)).toEqual(opened.map(() => 1));
    expect((await auditOf(database.sql, "token.issued")).length).toBe(before + 16);
  });

  test("64 parallel rotations that revoke on replay: exactly one succeeds, and no token stays live", async () => {
    const rounds = name === "postgresql" ? 100 : 5;
    for (let round = 0; round < rounds; round++) {
      const { family } = await anOpenFamily(database.sql, scene);
      const nexts = Array.from({ length: 64 }, () => aHash());
      const shared = families();
      const verdicts = await Promise.all(
        nexts.map(async (next, n) => {
          const store = n % 4 === 0 ? families() : shared;
          const won = await store.rotate(family.id, family.tokenHash, { hash: next, ttl: 3_600 }, issued);
          if (!won) await store.revoke(family.id, replayed);
          return won;
        }),
      );
      expect(verdicts.filter(Boolean)).toHaveLength(1);
      const held = await Promise.all(nexts.map((next) => shared.holding(next)));
      expect(held.filter((state) => state !== undefined && !state.revoked)).toEqual([]);
    }
  }, 120_000);

  const endings: readonly [string, (scene: Scene, grantId: string) => Promise<unknown>][] = [
    ["its grant is revoked", (_, grantId) => grants(database.sql).revoke(grantId, anAudit("token.revoked"))],
    ["the user has signed out everywhere", (s) => sessions(database.sql).endAll(s.userId, anAudit("session.ended"))],
    ["the consent is revoked", (s) => consents(database.sql).revoke(s.consentId, s.userId, anAudit("consent.revoked"))],
    ["the user is disabled", (s) => run("update users set enabled = false where id = $1::uuid", s.userId)],
    ["the client is disabled", (s) => run("update clients set enabled = false where client_id = $1", s.clientId)],
    ["the client is deleted", (s) => run("delete from clients where client_id = $1", s.clientId)],
    ["it has expired", (_, id) => run("update refresh_families set expires_at = now() where grant_id = $1::uuid", id)],
  ];
  test.for(endings)("a family does not rotate when %s", async ([, change]) => {
    const { grant, family } = await anOpenFamily(database.sql, scene);
    await change(scene, grant.id);
    expect(await families().rotate(family.id, family.tokenHash, { hash: aHash(), ttl: 60 }, issued)).toBe(false);
  });

  test("concurrent rotation and sign-out everywhere leave no live family", async () => {
    for (let round = 0; round < 10; round++) {
      const { family } = await anOpenFamily(database.sql, await aScene(database.sql));
      const state = await families().holding(family.tokenHash);
      const next = aHash();
      await Promise.all([
        families().rotate(family.id, family.tokenHash, { hash: next, ttl: 60 }, issued),
        sessions(database.sql).endAll(state?.subject.userId ?? "", anAudit("session.ended")),
      ]);
      const held = await Promise.all([family.tokenHash, next].map((hash) => families().holding(hash)));
      expect(held.filter((one) => one !== undefined && !one.revoked)).toEqual([]);
    }
  });

  test("every replay writes an audit record, though the family is revoked once", async () => {
    const { family } = await anOpenFamily(database.sql, scene);
    const mine = anAudit("refresh_token.replayed", { outcome: "failure", userId: scene.userId });
    await families().revoke(family.id, mine);
    await families().revoke(family.id, mine);
    expect((await auditOf(database.sql, "refresh_token.replayed")).filter(({ user_id }) => user_id === scene.userId)).toHaveLength(2);
  });
});
