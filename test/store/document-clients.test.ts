import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Client } from "../../src/clients/client.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { documentHistory, documentVersions, KEPT_VERSIONS, managedClients } from "../../src/store/clients.ts";
import { consentRepository, consents } from "../../src/store/consents.ts";
import { consumedIds } from "../../src/store/consumed-ids.ts";
import type { Database } from "../../src/store/orm.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { statement } from "../../src/store/sql.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { aHash, anAudit, anId } from "../support/accounts.ts";
import { databaseKinds } from "../support/database.ts";
import { aBinding, aFamily, aGrant, aNewClient, aScene, RESOURCE, type Scene } from "../support/grants.ts";

const issued = anAudit("token.issued");

describe.for(databaseKinds)("clients of metadata documents on $name", ({ fresh }) => {
  let database: Database;
  let scene: Scene;
  let client: Client;

  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    const clientId = `https://client.example.test/${anId()}`;
    scene = { ...(await aScene(database.sql)), clientId, consentId: anId() };
    client = {
      ...aNewClient({ id: clientId, clientId, origin: "metadata_document", name: "Döcument 🔑", jwks: { keys: [{ kty: "OKP", x: "x" }] } }),
      alternativeAuthMethods: ["private_key_jwt"],
      createdAt: 1_790_000_000,
      updatedAt: null,
      lastUsedAt: null,
    };
    await give();
  });

  const give = (scopes = ["crm:read"]) =>
    consents(database.sql).give(
      { ...scene, id: scene.consentId, clientId: client.clientId, clientName: client.name, scopes, resources: [RESOURCE] },
      anAudit("consent.given"),
    );
  const issue = (clientFingerprint = "mark", code = aHash()) =>
    authorizationCodes(database.sql).issue(
      code,
      aBinding(scene, { documentClient: client, clientFingerprint }),
      60,
      anAudit("code.issued"),
    );
  const opened = async () => {
    const [code, grant, family] = [aHash(), aGrant(scene), aFamily()];
    expect(await issue("mark", code)).toBe(true);
    expect(await authorizationCodes(database.sql).redeem(code, grant, family, issued)).toBe(true);
    return { code, grant, family };
  };

  test("documents of a client with a consent are stored when they differ, the newest 20 of them", async () => {
    const [versions, history] = [documentVersions(database.sql), documentHistory(database.sql)];
    expect(await versions.store(`${client.clientId}/stranger`, "{}")).toBe(false);
    const first = JSON.stringify({ client_name: "Döcument 🔑" });
    expect([await versions.store(client.clientId, first), await versions.store(client.clientId, first)]).toEqual([true, true]);
    const digest = createHash("sha256").update(first).digest("hex");
    expect(await history.of(client.clientId)).toMatchObject([{ version: 1, document: first, digest, size: Buffer.byteLength(first) }]);
    for (let count = 2; count <= KEPT_VERSIONS + 1; count++) expect(await versions.store(client.clientId, `{"a":${count}}`)).toBe(true);
    const kept = await history.of(client.clientId);
    expect([kept.length, kept[0]?.document, kept.at(-1)?.version]).toEqual([KEPT_VERSIONS, `{"a":${KEPT_VERSIONS + 1}}`, 2]);
  });

  test("of two processes that store a document at once one does", async () => {
    const { store } = documentVersions(database.sql);
    await Promise.all(Array.from({ length: 8 }, () => store(client.clientId, '{"raced":true}')));
    expect(await documentHistory(database.sql).of(client.clientId)).toHaveLength(1);
  });

  test("a code and its refresh family keep the client as its metadata document described it, without a row in clients", async () => {
    const code = aHash();
    expect(await issue("mark", code)).toBe(true);
    expect((await authorizationCodes(database.sql).byHash(code))?.documentClient).toEqual(client);
    const [grant, family] = [aGrant(scene), aFamily()];
    expect(await authorizationCodes(database.sql).redeem(code, grant, family, issued)).toBe(true);
    const next = aHash();
    expect((await refreshFamilies(database.sql).holding(family.tokenHash))?.documentClient).toEqual(client);
    expect(await refreshFamilies(database.sql).rotate(family.id, family.tokenHash, { hash: next, ttl: 3_600 }, issued)).toBe(true);
    expect((await refreshFamilies(database.sql).holding(next))?.documentClient).toEqual(client);
  });

  test("a client with neither a row nor a metadata document gets no code", async () => {
    expect(await authorizationCodes(database.sql).issue(aHash(), aBinding(scene), 60, anAudit("code.issued"))).toBe(false);
  });

  test("the state of its tokens reports the grant as live for that client only", async () => {
    const { grant } = await opened();
    const reference = { jti: "j", clientId: client.clientId, grantId: grant.id, userId: scene.userId };
    expect(await tokenStates(database.sql).of(reference)).toMatchObject({ grantLives: true, clientEnabled: true, revoked: false });
    expect(await tokenStates(database.sql).of({ ...reference, clientId: "https://other.example.test/x" })).toMatchObject({
      grantLives: false,
      clientEnabled: false,
    });
  });

  test("registering a disabled client under its id disables its tokens, codes and refresh family", async () => {
    const { grant, family } = await opened();
    const waiting = aHash();
    expect(await issue("mark", waiting)).toBe(true);
    await managedClients(database.sql).register(aNewClient({ clientId: client.clientId, enabled: false }), anAudit("client.registered"));
    const reference = { jti: "j", clientId: client.clientId, grantId: grant.id, userId: scene.userId };
    expect((await tokenStates(database.sql).of(reference)).clientEnabled).toBe(false);
    expect(await refreshFamilies(database.sql).rotate(family.id, family.tokenHash, { hash: aHash(), ttl: 3_600 }, issued)).toBe(false);
    expect(await authorizationCodes(database.sql).redeem(waiting, aGrant(scene), aFamily(), issued)).toBe(false);
    expect(await issue()).toBe(false);
  });

  describe("consents", () => {
    const allowed = (mark?: string) => consentRepository(database.sql).of(scene.userId, client.clientId, mark);

    test("a consent is bound to the client's fingerprint at its first use", async () => {
      expect(await issue("one")).toBe(true);
      expect(await issue("one")).toBe(true);
      expect(await issue("two")).toBe(false);
      expect((await allowed("one"))?.scopes).toEqual(["crm:read"]);
    });

    test("another fingerprint voids a consent that is already bound, but the consent stays listed and can be given again", async () => {
      await give(["crm:write"]);
      expect(await issue("one")).toBe(true);
      expect(await allowed("two")).toEqual({ scopes: [], allowed: {} });
      expect(await allowed("one")).toEqual({ scopes: [], allowed: {} });
      expect(await consents(database.sql).ofUser(scene.userId)).toContainEqual(
        expect.objectContaining({ id: scene.consentId, scopes: [] }),
      );
      await give(["crm:read"]);
      expect(await allowed("two")).toEqual({ scopes: ["crm:read"], allowed: { [RESOURCE]: ["crm:read"] } });
      expect(await issue("two")).toBe(true);
    });

    test("the consent of a registered client has no fingerprint", async () => {
      const registered = await aScene(database.sql);
      const codes = authorizationCodes(database.sql);
      for (let round = 0; round < 2; round++)
        expect(await codes.issue(aHash(), aBinding(registered), 60, anAudit("code.issued"))).toBe(true);
      expect((await consentRepository(database.sql).of(registered.userId, registered.clientId))?.scopes).toEqual(["crm:read"]);
    });

    test("16 concurrent first uses bind a consent to one fingerprint", async () => {
      const marks = Array.from({ length: 16 }, (_, index) => (index % 2 === 0 ? "even" : "odd"));
      const answers = await Promise.all(marks.map((mark) => issue(mark)));
      const [row] = await database.sql.query<{ client_fingerprint: string }>(
        statement("test_mark", "select client_fingerprint from consents where id = $1::uuid"),
        [scene.consentId],
      );
      expect(["even", "odd"]).toContain(row?.client_fingerprint);
      expect(answers.some((answer) => answer)).toBe(true);
    });
  });

  describe("single-use identifiers", () => {
    const consume = (issuer: string, id: string, kind: "client_assertion" | "identity_assertion" = "client_assertion") =>
      consumedIds(database.sql).consume(kind, issuer, id, 360);

    test("64 concurrent uses of one identifier: exactly one succeeds", async () => {
      const id = anId();
      const answers = await Promise.all(Array.from({ length: 64 }, () => consume("robot", id)));
      expect(answers.filter((first) => first)).toHaveLength(1);
      expect(await consume("robot", id)).toBe(false);
    });

    test("64 uses of two identifiers in one batch: exactly one succeeds per identifier", async () => {
      const store = consumedIds(database.sql);
      const [id, other] = [anId(), anId()];
      const answers = await Promise.all(
        Array.from({ length: 64 }, (_, n) => store.consume("client_assertion", "robot", n % 2 === 0 ? id : other, 360)),
      );
      expect(answers).toEqual(answers.map((_, n) => n < 2));
    });

    test("isConsumed does not consume an identifier", async () => {
      const [store, id] = [consumedIds(database.sql), anId()];
      const isConsumed = (issuer: string) => store.isConsumed("client_assertion", issuer, id);
      expect([await isConsumed("robot"), await consume("robot", id)]).toEqual([false, true]);
      expect([await isConsumed("robot"), await isConsumed("robot2")]).toEqual([true, false]);
      expect(await store.isConsumed("identity_assertion", "robot", id)).toBe(false);
    });

    test("an identifier is distinguished by issuer and kind", async () => {
      const id = anId();
      expect([await consume("robot", id), await consume("robot2", id), await consume("robot", id, "identity_assertion")]).toEqual([
        true,
        true,
        true,
      ]);
      expect([await consume("ab", `c${id}`), await consume("a", `bc${id}`)]).toEqual([true, true]);
      expect(await consume("x".repeat(3_000), `\0\ud800${id}`)).toBe(true);
    });

    test("an identifier expires after its time by the database's clock", async () => {
      const id = anId();
      await consume("robot", id);
      const [row] = await database.sql.query<{ left: number }>(
        statement("test_left", "select extract(epoch from max(expires_at) - now())::float8 as left from consumed_ids"),
        [],
      );
      expect(row?.left).toBeGreaterThan(350);
      expect(row?.left).toBeLessThanOrEqual(360);
    });
  });
});
