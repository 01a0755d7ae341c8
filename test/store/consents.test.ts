import { setTimeout } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { managedClients } from "../../src/store/clients.ts";
import { consentRepository, consents } from "../../src/store/consents.ts";
import type { Database } from "../../src/store/orm.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import type { Sql } from "../../src/store/sql.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { aHash, anAudit, anId, auditOf } from "../support/accounts.ts";
import { databaseKinds } from "../support/database.ts";
import { aBinding, aClient, aCode, aFamily, aGrant, anOpenFamily, aScene, RESOURCE, type Scene } from "../support/grants.ts";

describe.for(databaseKinds)("consents on $name", ({ fresh }) => {
  let database: Database;
  let scene: Scene;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    scene = await aScene(database.sql);
  });
  const store = () => consents(database.sql);
  const book = () => consentRepository(database.sql);
  const revoked = anAudit("consent.revoked");

  test("a consent is listed for its user and visible to the core", async () => {
    expect(await store().ofUser(scene.userId)).toEqual([
      expect.objectContaining({
        id: scene.consentId,
        userId: scene.userId,
        clientId: scene.clientId,
        clientName: "A client",
        scopes: ["crm:read"],
        resources: [RESOURCE],
        updatedAt: null,
        lastUsedAt: null,
      }),
    ]);
    expect(await book().of(scene.userId, scene.clientId)).toEqual({
      scopes: ["crm:read"],
      allowed: { [RESOURCE]: ["crm:read"] },
    });
    expect(await book().of(scene.userId, "another")).toBeUndefined();
    expect(await book().of(anId(), scene.clientId)).toBeUndefined();
  });

  test("a second consent adds its scopes once, in order, and keeps the id", async () => {
    await store().give(
      {
        id: anId(),
        userId: scene.userId,
        clientId: scene.clientId,
        clientName: "New name",
        scopes: ["openid", "crm:read"],
        resources: [],
        sessionId: scene.sessionId,
      },
      anAudit("consent.given", { userId: scene.userId }),
    );
    const [consent, ...rest] = await store().ofUser(scene.userId);
    expect(rest).toEqual([]);
    expect(consent).toMatchObject({ id: scene.consentId, clientName: "New name", scopes: ["crm:read", "openid"], resources: [RESOURCE] });
    expect(consent?.updatedAt).not.toBeNull();
    // Scopes that are given without a resource are given for the client itself, not for the resource.
    const allowed = (await book().of(scene.userId, scene.clientId))?.allowed;
    expect(Object.keys(allowed ?? {}).sort()).toEqual(["", RESOURCE]);
    expect(allowed?.[RESOURCE]).toEqual(["crm:read"]);
    expect(allowed?.[""]?.toSorted()).toEqual(["crm:read", "openid"]);
  });

  test("a consent given while its client is deleted, or later, is gone: another client of its client_id has none", async () => {
    const { userId } = scene;
    const client = await aClient(database.sql);
    const { clientId } = client;
    const remove = () => managedClients(database.sql).delete(client.id, { kind: "all" }, anAudit("client.deleted"));
    const give = (sql: Pick<Sql, "query">) =>
      consents(sql as Sql).give(
        { id: anId(), userId, clientId, clientName: client.name, scopes: ["crm:read"], resources: [], sessionId: scene.sessionId },
        anAudit("consent.given", { clientId }),
      );
    const removed = await database.sql.transaction(async (tx) => {
      await give(tx);
      const removing = remove();
      await Promise.race([removing, setTimeout(200)]); // it waits for this transaction, or is done
      return { removing };
    });
    expect(await removed.removing).toBe(true);
    expect(await book().of(userId, clientId)).toBeUndefined();
    await give(database.sql);
    expect(await book().of(userId, clientId)).toBeUndefined();
    expect((await auditOf(database.sql, "consent.given")).filter(({ client_id }) => client_id === clientId)).toHaveLength(1);
  });

  test("20 concurrent consents of one user for one client lose no scope", async () => {
    const words = Array.from({ length: 20 }, (_, n) => `scope:${n}`);
    await Promise.all(
      words.map((word) =>
        store().give(
          {
            id: anId(),
            userId: scene.userId,
            clientId: scene.clientId,
            clientName: "A client",
            scopes: [word],
            resources: [],
            sessionId: scene.sessionId,
          },
          anAudit("consent.given"),
        ),
      ),
    );
    const view = await book().of(scene.userId, scene.clientId);
    expect(new Set(view?.scopes)).toEqual(new Set(["crm:read", ...words]));
    expect(new Set(view?.allowed[""])).toEqual(new Set(words));
  });

  const give = (resources: readonly string[], scopes: readonly string[]) =>
    store().give(
      { id: anId(), userId: scene.userId, clientId: scene.clientId, clientName: "A client", scopes, resources, sessionId: scene.sessionId },
      anAudit("consent.given", { userId: scene.userId }),
    );

  test("a consent that is not full takes all that one request can ask", async () => {
    const scopes = Array.from({ length: 200 }, (_, n) => `scope-${n}-${"x".repeat(24)}`);
    const resources = Array.from({ length: 10 }, (_, n) => `https://${n}.example.test/mcp`);
    expect(await give(resources, scopes)).toBe(true);
    const view = await book().of(scene.userId, scene.clientId);
    expect(JSON.stringify(view?.allowed).length).toBeGreaterThan(65_536);
    expect(Object.keys(view?.allowed ?? {})).toEqual(expect.arrayContaining(resources));
    expect(await give(["https://more.example.test/mcp"], scopes)).toBe(false);
  });

  test("a consent that is full takes no further resource, and still takes what it holds", async () => {
    const place = (n: number) => `https://${n}.example.test/${"x".repeat(3_900)}`;
    let held = 0;
    while (await give([place(held)], ["crm:read"])) held += 1;
    expect(held).toBe(17); // the last one goes beyond 65,536 characters
    const before = await book().of(scene.userId, scene.clientId);
    const places = [RESOURCE, ...Array.from({ length: held }, (_, n) => place(n))];
    expect((await store().ofUser(scene.userId)).map(({ resources }) => resources)).toEqual([places]);
    expect(Object.keys(before?.allowed ?? {}).toSorted()).toEqual(places.toSorted());
    expect(await give([place(held)], ["crm:read"])).toBe(false);
    expect(await give([place(0)], ["crm:read"])).toBe(true);
    expect(await book().of(scene.userId, scene.clientId)).toEqual(before);
    const given = (await auditOf(database.sql, "consent.given")).filter(({ user_id }) => user_id === scene.userId);
    expect(given).toHaveLength(held + 1);
  });

  test("revoking a consent revokes all grants of that user to that client, and no others", async () => {
    const mine = await anOpenFamily(database.sql, scene);
    const code = await aCode(database.sql, scene);
    const other = await aScene(database.sql);
    const theirs = await anOpenFamily(database.sql, other);
    expect(await store().revoke(scene.consentId, scene.userId, anAudit("consent.revoked", { userId: scene.userId }))).toBe(true);
    expect(await store().ofUser(scene.userId)).toEqual([]);
    expect(await book().of(scene.userId, scene.clientId)).toBeUndefined();
    expect(await refreshFamilies(database.sql).holding(mine.family.tokenHash)).toMatchObject({ revoked: true });
    const reference = { jti: anId(), clientId: scene.clientId, grantId: mine.grant.id, userId: scene.userId };
    expect(await tokenStates(database.sql).of(reference)).toMatchObject({ grantLives: false });
    expect(await authorizationCodes(database.sql).byHash(code)).toBeUndefined();
    expect(await refreshFamilies(database.sql).holding(theirs.family.tokenHash)).toMatchObject({ revoked: false });
    expect((await auditOf(database.sql, "consent.revoked")).filter(({ user_id }) => user_id === scene.userId)).toHaveLength(1);
  });

  test.for(["not-a-uuid", "\0", ""])("%j matches no consent", async (id) => {
    expect(await store().revoke(id, scene.userId, revoked)).toBe(false);
    expect(await store().ofUser(id)).toEqual([]);
    expect(await book().of(id, "\0")).toBeUndefined();
  });

  test("only its owner can revoke a consent; 10 concurrent revocations: exactly one succeeds", async () => {
    const other = await aScene(database.sql);
    expect(await store().revoke(scene.consentId, other.userId, revoked)).toBe(false);
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => store().revoke(scene.consentId, scene.userId, revoked)));
    expect(outcomes.filter(Boolean)).toHaveLength(1);
  });

  test("concurrent revocation, issue and redemption leave no live code or refresh family", async () => {
    for (let round = 0; round < 15; round++) {
      const here = await aScene(database.sql);
      const codes = authorizationCodes(database.sql);
      const [early, late] = [await aCode(database.sql, here), aHash()];
      const tries = [
        { grant: aGrant(here), family: aFamily() },
        { grant: aGrant(here), family: aFamily() },
      ] as const;
      await Promise.all([
        codes.redeem(early, tries[0].grant, tries[0].family, anAudit("token.issued")),
        authorizationCodes(database.sql).issue(late, aBinding(here), 60, anAudit("code.issued")),
        store().revoke(here.consentId, here.userId, revoked),
      ]);
      expect(await codes.redeem(late, tries[1].grant, tries[1].family, anAudit("token.issued"))).toBe(false);
      const held = await Promise.all(tries.map(({ family }) => refreshFamilies(database.sql).holding(family.tokenHash)));
      expect(held.filter((state) => state !== undefined && !state.revoked)).toEqual([]);
    }
  });
});
