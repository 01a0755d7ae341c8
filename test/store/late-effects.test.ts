import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AuditEntry } from "../../src/audit.ts";
import { auditLog } from "../../src/store/audit-log.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { consumedIds } from "../../src/store/consumed-ids.ts";
import { delegations } from "../../src/store/delegations.ts";
import { grants } from "../../src/store/grants.ts";
import { identityAssertions } from "../../src/store/identity-assertions.ts";
import type { Database } from "../../src/store/orm.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { aHash, anAudit, anId, DEFAULT_REALM_ID } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { aBinding, aClient, aCode, aFamily, aGrant, anOpenFamily, aScene, RESOURCE, type Scene } from "../support/grants.ts";

const TABLES = [
  "audit_records",
  "authorization_codes",
  "grants",
  "refresh_families",
  "refresh_tokens",
  "delegations",
  "consumed_ids",
  "users",
];
const late = { code: "temporarily_unavailable" };

describe.for(databaseKinds)("calls after their deadline have no effect on $name", ({ fresh, name }) => {
  let database: Database;
  let scene: Scene;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  beforeEach(async () => {
    scene = await aScene(database.sql);
  });

  const databaseTime = async () =>
    (await runText<{ now: number }>(database.sql, "select extract(epoch from clock_timestamp())::float8 as now"))[0]?.now ?? 0;
  /** All rows that a call could write, as text. */
  const everything = () =>
    Promise.all(
      TABLES.map(async (table) => [
        table,
        await runText(database.sql, `select md5(string_agg(t::text, '' order by t::text)) as all from ${table} t`),
      ]),
    );

  type Effect = (audit: AuditEntry) => Promise<unknown>;
  const effects: readonly (readonly [string, () => Promise<Effect>])[] = [
    ["a code is not issued", async () => (audit) => authorizationCodes(database.sql).issue(aHash(), aBinding(scene), 60, audit)],
    [
      "a code is not redeemed",
      async () => {
        const code = await aCode(database.sql, scene);
        return (audit) => authorizationCodes(database.sql).redeem(code, aGrant(scene), aFamily(), audit);
      },
    ],
    [
      "a refresh token is not rotated",
      async () => {
        const { family } = await anOpenFamily(database.sql, scene);
        return (audit) => refreshFamilies(database.sql).rotate(family.id, family.tokenHash, { hash: aHash(), ttl: 3_600 }, audit);
      },
    ],
    [
      "a replayed family is not revoked",
      async () => {
        const { family } = await anOpenFamily(database.sql, scene);
        return (audit) => refreshFamilies(database.sql).revoke(family.id, audit);
      },
    ],
    [
      "a replayed grant is not revoked",
      async () => {
        const { grant } = await anOpenFamily(database.sql, scene);
        return (audit) => grants(database.sql).revoke(grant.id, audit);
      },
    ],
    ["a sign-in creates no grant", async () => (audit) => grants(database.sql).open(aGrant(scene), aFamily(), scene.sessionId, audit)],
    [
      "an exchange is not stored",
      async () => {
        const { grant } = await anOpenFamily(database.sql, scene);
        const { clientId: actor } = await aClient(database.sql, { isAgent: true });
        const parent = { jti: anId(), clientId: scene.clientId, userId: scene.userId, grantId: grant.id };
        const what = { id: anId(), kind: "access_token", jti: anId(), parent, grantId: grant.id, userId: scene.userId, actor } as const;
        const granted = { scopes: ["crm:read"], audience: [RESOURCE], expiresAt: Math.floor(Date.now() / 1_000) + 600 };
        return (audit) => delegations(database.sql).record({ ...what, ...granted }, audit);
      },
    ],
    [
      "an identity assertion is not accepted",
      async () => (audit) => {
        const who = { issuer: "https://idp.example.test", subject: anId(), verifiedEmail: undefined, realmId: DEFAULT_REALM_ID };
        const { userId: _, ...grant } = aGrant(scene);
        return identityAssertions(database.sql).accept({ ...who, newUserId: anId(), jti: anId(), remember: 300 }, grant, audit);
      },
    ],
    ["an audit record of an issued token is not written", async () => (audit) => auditLog(database.sql).recordIssue(audit)],
    [
      "a single-use identifier is not consumed",
      async () => {
        const id = anId();
        return ({ notAfter }) => consumedIds(database.sql).consume("client_assertion", "robot", id, 60, notAfter);
      },
    ],
  ];
  test.for(effects)("%s", async ([, prepare]) => {
    const effect = await prepare();
    const before = await everything();
    const audit = anAudit("token.issued", { clientId: scene.clientId });
    await expect(effect({ ...audit, notAfter: (await databaseTime()) - 0.001 })).rejects.toMatchObject(late);
    expect(await everything()).toEqual(before);
    expect(await effect({ ...audit, notAfter: (await databaseTime()) + 30 })).not.toBe(false);
    expect(await everything()).not.toEqual(before);
  });

  if (name !== "embedded")
    test("a rotation that waited for a row lock past its deadline is rolled back", async () => {
      const { family } = await anOpenFamily(database.sql, scene);
      const next = aHash();
      let rotated: Promise<unknown> | undefined;
      await database.sql.transaction(async (tx) => {
        await tx.query({ name: "test_hold", text: "select 1 from refresh_families where id = $1::uuid for update" }, [family.id]);
        const audit = anAudit("token.issued", { notAfter: (await databaseTime()) + 0.1 });
        rotated = refreshFamilies(database.sql).rotate(family.id, family.tokenHash, { hash: next, ttl: 3_600 }, audit);
        rotated.catch(() => undefined);
        await new Promise((resolve) => setTimeout(resolve, 250));
      });
      await expect(rotated).rejects.toMatchObject(late);
      expect(await refreshFamilies(database.sql).holding(next)).toBeUndefined();
      expect(await refreshFamilies(database.sql).holding(family.tokenHash)).toMatchObject({ usedAt: null, revoked: false });
    });
});
