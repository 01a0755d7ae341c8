import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { clientDirectory } from "../../src/store/clients.ts";
import { consents } from "../../src/store/consents.ts";
import { grants } from "../../src/store/grants.ts";
import type { Database } from "../../src/store/orm.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { sessions } from "../../src/store/sessions.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { aHash, anAudit, anId, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { aBinding, aCode, aFamily, aGrant, aScene, RESOURCE, type Scene } from "../support/grants.ts";

const issued = anAudit("token.issued");

describe.for(databaseKinds)("authorization codes on $name", ({ name, fresh }) => {
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
  const codes = () => authorizationCodes(database.sql);

  test("a code is found with its binding, its user and the database's time", async () => {
    const code = aHash();
    const binding = aBinding(scene, { nonce: "n-0S6_WzA2Mj" });
    expect(await codes().issue(code, binding, 60, anAudit("code.issued", { userId: scene.userId }))).toBe(true);
    const state = await codes().byHash(code);
    expect(state).toMatchObject({
      ...binding,
      grantId: null,
      subject: { userId: scene.userId, enabled: true, firstName: "Ada", lastName: null },
    });
    expect(Math.abs((state?.expiresAt ?? 0) - (state?.now ?? 0) - 60)).toBeLessThanOrEqual(2);
    expect(await auditOf(database.sql, "code.issued")).toContainEqual(expect.objectContaining({ user_id: scene.userId }));
    expect(await codes().byHash(aHash())).toBeUndefined();
  });

  const refusals: readonly [string, (scene: Scene) => Promise<unknown>][] = [
    ["the session has ended", (s) => sessions(database.sql).endOne(s.sessionId, s.userId, anAudit("session.ended"))],
    ["the session has expired", (s) => run("update sessions set expires_at = now() where id = $1::uuid", s.sessionId)],
    ["the user is disabled", (s) => run("update users set enabled = false where id = $1::uuid", s.userId)],
    ["the client is disabled", (s) => run("update clients set enabled = false where client_id = $1", s.clientId)],
    ["the client is deleted", (s) => run("delete from clients where client_id = $1", s.clientId)],
    ["the consent is revoked", (s) => consents(database.sql).revoke(s.consentId, s.userId, anAudit("consent.revoked"))],
  ];
  test("32 concurrent issues of one code store one code with one audit record, which is redeemed once", async () => {
    const [codeHash, binding] = [aHash(), aBinding(scene)];
    const before = (await auditOf(database.sql, "code.issued")).length;
    const shared = codes();
    const issues = Array.from({ length: 32 }, (_, n) =>
      (n % 2 === 0 ? shared : codes()).issue(codeHash, binding, 60, anAudit("code.issued")),
    );
    expect(new Set(await Promise.all(issues))).toEqual(new Set([true]));
    expect((await auditOf(database.sql, "code.issued")).length).toBe(before + 1);
    const redeem = () => codes().redeem(codeHash, aGrant(scene), aFamily(), issued);
    expect(await redeem()).toBe(true);
    expect(await codes().issue(codeHash, binding, 60, anAudit("code.issued"))).toBe(true);
    expect(await redeem()).toBe(false);
  });

  test.for(refusals)("no code is issued when %s", async ([, change]) => {
    await change(scene);
    const before = (await auditOf(database.sql, "code.issued")).length;
    expect(await codes().issue(aHash(), aBinding(scene), 60, anAudit("code.issued"))).toBe(false);
    expect((await auditOf(database.sql, "code.issued")).length).toBe(before);
  });

  test("refuses a code whose scopes or resources exceed the consent", async () => {
    const wider = aBinding(scene, { scopes: ["crm:read", "crm:write"] });
    const elsewhere = aBinding(scene, { resources: [RESOURCE, "https://other.example.test/"] });
    expect(await codes().issue(aHash(), wider, 60, issued)).toBe(false);
    expect(await codes().issue(aHash(), elsewhere, 60, issued)).toBe(false);
  });

  test("redemption creates a grant and a refresh family, and its sealed record updates the last use of the client and the consent", async () => {
    const code = await aCode(database.sql, scene);
    const [grant, family] = [aGrant(scene), aFamily()];
    const actor = { type: "user", id: scene.userId } as const;
    const named = { actor, userId: scene.userId, clientId: scene.clientId, grantId: grant.id };
    expect(await codes().redeem(code, grant, family, anAudit("token.issued", named))).toBe(true);
    expect(await codes().byHash(code)).toMatchObject({ grantId: grant.id });
    expect(await refreshFamilies(database.sql).holding(family.tokenHash)).toMatchObject({
      familyId: family.id,
      grantId: grant.id,
      clientId: scene.clientId,
      scopes: ["crm:read"],
      audience: [RESOURCE],
      authTime: 1_790_000_000,
      usedAt: null,
      revoked: false,
    });
    expect((await auditOf(database.sql, "token.issued")).filter(({ grant_id }) => grant_id === grant.id)).toHaveLength(1);
    await auditSealer(database.sql, undefined, 500).seal();
    const [consent] = await consents(database.sql).ofUser(scene.userId);
    expect(consent?.lastUsedAt).not.toBeNull();
    expect((await clientDirectory(database.sql).byClientId(scene.clientId))?.lastUsedAt).not.toBeNull();
  });

  test("a client without the refresh_token grant gets a grant but no refresh family", async () => {
    const grant = aGrant(scene);
    expect(await codes().redeem(await aCode(database.sql, scene), grant, undefined, issued)).toBe(true);
    const reference = { jti: anId(), clientId: scene.clientId, grantId: grant.id, userId: scene.userId };
    expect(await tokenStates(database.sql).of(reference)).toMatchObject({ grantLives: true });
  });

  test.for([20, 64])(
    "%i parallel redemptions: exactly one succeeds, and revoking its grant leaves no live refresh family",
    async (callers) => {
      const code = await aCode(database.sql, scene);
      const tries = Array.from({ length: callers }, () => ({ grant: aGrant(scene), family: aFamily() }));
      const verdicts = await Promise.all(
        // Half of them use separate stores, as other processes would.
        tries.map(({ grant, family }, n) => (n % 2 === 0 ? codes() : authorizationCodes(database.sql)).redeem(code, grant, family, issued)),
      );
      expect(verdicts.filter(Boolean)).toHaveLength(1);
      const winner = tries[verdicts.indexOf(true)]!;
      expect(await codes().byHash(code)).toMatchObject({ grantId: winner.grant.id });
      await grants(database.sql).revoke(winner.grant.id, anAudit("code.replayed"));
      const held = await Promise.all(tries.map(({ family }) => refreshFamilies(database.sql).holding(family.tokenHash)));
      expect(held.filter((state) => state !== undefined && !state.revoked)).toEqual([]);
      expect(
        await refreshFamilies(database.sql).rotate(winner.family.id, winner.family.tokenHash, { hash: aHash(), ttl: 60 }, issued),
      ).toBe(false);
    },
  );

  test("64 parallel redemptions that revoke on replay: exactly one succeeds, and no refresh family stays live", async () => {
    const rounds = name === "postgresql" ? 100 : 5;
    for (let round = 0; round < rounds; round++) {
      const code = await aCode(database.sql, scene);
      const tries = Array.from({ length: 64 }, () => ({ grant: aGrant(scene), family: aFamily() }));
      const shared = codes();
      const verdicts = await Promise.all(
        tries.map(async ({ grant, family }, n) => {
          const store = n % 4 === 0 ? codes() : shared;
          const won = await store.redeem(code, grant, family, issued);
          const winner = won ? null : (await store.byHash(code))?.grantId;
          if (winner) await grants(database.sql).revoke(winner, anAudit("code.replayed"));
          return won;
        }),
      );
      expect(verdicts.filter(Boolean)).toHaveLength(1);
      const held = await Promise.all(tries.map(({ family }) => refreshFamilies(database.sql).holding(family.tokenHash)));
      expect(held.filter((state) => state !== undefined && !state.revoked)).toEqual([]);
    }
  }, 120_000);

  test("64 parallel redemptions of 16 codes through one store: exactly one succeeds per code", async () => {
    const all = await Promise.all(Array.from({ length: 16 }, () => aCode(database.sql, scene)));
    const store = codes();
    const verdicts = await Promise.all(Array.from({ length: 64 }, (_, n) => store.redeem(all[n % 16]!, aGrant(scene), aFamily(), issued)));
    const perCode = all.map((_, code) => verdicts.filter((won, n) => won && n % 16 === code).length);
    expect(perCode).toEqual(all.map(() => 1));
  });

  test("a row that cannot be written fails alone, and the rest of its batch succeeds", async () => {
    const [good, bad] = [await aCode(database.sql, scene), await aCode(database.sql, scene)];
    const taken = aFamily();
    expect(await codes().redeem(await aCode(database.sql, scene), aGrant(scene), taken, issued)).toBe(true);
    const store = codes();
    const [first, second] = await Promise.allSettled([
      store.redeem(good, aGrant(scene), aFamily(), issued),
      store.redeem(bad, aGrant(scene), aFamily({ id: taken.id }), issued),
    ]);
    expect(first).toEqual({ status: "fulfilled", value: true });
    expect(second.status).toBe("rejected");
    expect(await codes().byHash(bad)).toMatchObject({ grantId: null });
  });

  const endings: readonly [string, (scene: Scene) => Promise<unknown>][] = [
    ["it has expired", (s) => run("update authorization_codes set expires_at = now() where user_id = $1::uuid", s.userId)],
    ["the user is disabled", (s) => run("update users set enabled = false where id = $1::uuid", s.userId)],
    ["the client is disabled", (s) => run("update clients set enabled = false where client_id = $1", s.clientId)],
    ["the consent has been revoked", (s) => consents(database.sql).revoke(s.consentId, s.userId, anAudit("consent.revoked"))],
    ["the user has signed out everywhere", (s) => sessions(database.sql).endAll(s.userId, anAudit("session.ended"))],
  ];
  test.for(endings)("a code is not redeemed when %s", async ([, change]) => {
    const code = await aCode(database.sql, scene);
    await change(scene);
    const [grant, family] = [aGrant(scene), aFamily()];
    expect(await codes().redeem(code, grant, family, issued)).toBe(false);
    expect(await refreshFamilies(database.sql).holding(family.tokenHash)).toBeUndefined();
  });

  test("another client's redemption fails and leaves the code redeemable", async () => {
    const code = await aCode(database.sql, scene);
    const other = await aScene(database.sql);
    expect(await codes().redeem(code, aGrant({ ...scene, clientId: other.clientId }), aFamily(), issued)).toBe(false);
    expect(await codes().redeem(code, aGrant(scene), aFamily(), issued)).toBe(true);
  });
});
