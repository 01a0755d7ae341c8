import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AuditEntry } from "../../src/audit.ts";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { clientDirectory } from "../../src/store/clients.ts";
import { grants } from "../../src/store/grants.ts";
import type { Database } from "../../src/store/orm.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { sessions } from "../../src/store/sessions.ts";
import { tokenStates } from "../../src/store/token-states.ts";
import { aHash, anAudit, anId, auditOf } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { aFamily, aGrant, anOpenFamily, aScene, type Scene } from "../support/grants.ts";

describe.for(databaseKinds)("tokens on $name", ({ fresh }) => {
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
  const states = () => tokenStates(database.sql);
  const inAnHour = () => Math.floor(Date.now() / 1_000) + 3_600;

  describe("token states", () => {
    test("a user's token is live while it is not revoked, its grant is live, and its client and user are enabled", async () => {
      const { grant } = await anOpenFamily(database.sql, scene);
      const token = { jti: anId(), clientId: scene.clientId, grantId: grant.id, userId: scene.userId };
      const store = states();
      const alive = {
        revoked: false,
        grantLives: true,
        clientEnabled: true,
        subject: { userId: scene.userId, enabled: true, role: "developer" },
      };
      expect(await store.of(token)).toMatchObject(alive);
      await store.revoke(token, inAnHour(), anAudit("token.revoked", { clientId: scene.clientId }));
      await store.revoke(token, inAnHour(), anAudit("token.revoked", { clientId: scene.clientId }));
      expect(await store.of(token)).toMatchObject({ ...alive, revoked: true });
      expect((await auditOf(database.sql, "token.revoked")).filter(({ client_id }) => client_id === scene.clientId)).toHaveLength(1);
      await run("update users set enabled = false where id = $1::uuid", scene.userId);
      await run("update clients set enabled = false where client_id = $1", scene.clientId);
      await grants(database.sql).revoke(grant.id, anAudit("token.revoked"));
      expect(await store.of(token)).toMatchObject({ revoked: true, grantLives: false, clientEnabled: false, subject: { enabled: false } });
    });

    test("a token from client credentials has neither grant nor user", async () => {
      expect(await states().of({ jti: anId(), clientId: scene.clientId })).toEqual({
        now: expect.closeTo(Date.now() / 1_000, -2),
        revoked: false,
        agentPaused: false,
        grantLives: false,
        clientEnabled: true,
        subject: null,
        root: null,
      });
    });

    test("a grant of another client or user does not make a token live", async () => {
      const { grant } = await anOpenFamily(database.sql, scene);
      const other = await aScene(database.sql);
      const of = (more: object) => states().of({ jti: anId(), clientId: scene.clientId, grantId: grant.id, userId: scene.userId, ...more });
      expect(await of({ clientId: other.clientId })).toMatchObject({ grantLives: false, clientEnabled: true });
      expect(await of({ userId: other.userId })).toMatchObject({ grantLives: false });
      expect(await of({})).toMatchObject({ grantLives: true });
    });

    test.for(["", "\0", "\ud800", "not-a-uuid", "0".repeat(10_000)])("the identifier %j matches nothing", async (word) => {
      const nothing = {
        now: expect.any(Number),
        revoked: false,
        agentPaused: false,
        grantLives: false,
        clientEnabled: false,
        subject: null,
        root: null,
      };
      expect(await states().of({ jti: word, clientId: word, grantId: word, userId: word })).toEqual(nothing);
    });

    test("100 tokens looked up concurrently each get their own state", async () => {
      const store = states();
      const tokens = Array.from({ length: 100 }, (_, n) => ({ jti: anId(), clientId: n % 2 === 0 ? scene.clientId : "unknown" }));
      await store.revoke(tokens[0]!, inAnHour(), anAudit("token.revoked"));
      const answers = await Promise.all([...tokens, ...tokens].map((token) => store.of(token)));
      expect(answers.map(({ clientEnabled }) => clientEnabled)).toEqual(
        [...tokens, ...tokens].map(({ clientId }) => clientId === scene.clientId),
      );
      expect(answers.filter(({ revoked }) => revoked)).toHaveLength(2);
    });
  });

  describe("grants without an authorization code", () => {
    test("opening a grant for a signed-in user creates its refresh family", async () => {
      const [grant, family] = [aGrant(scene), aFamily()];
      expect(await grants(database.sql).open(grant, family, scene.sessionId, anAudit("token.issued", { grantId: grant.id }))).toBe(true);
      expect(await refreshFamilies(database.sql).holding(family.tokenHash)).toMatchObject({ grantId: grant.id, usedAt: null });
      expect((await auditOf(database.sql, "token.issued")).filter(({ grant_id }) => grant_id === grant.id)).toHaveLength(1);
    });

    const endings: readonly [string, (scene: Scene) => Promise<unknown>][] = [
      ["the session has ended", (s) => sessions(database.sql).endOne(s.sessionId, s.userId, anAudit("session.ended"))],
      ["the user is disabled", (s) => run("update users set enabled = false where id = $1::uuid", s.userId)],
      ["the client is disabled", (s) => run("update clients set enabled = false where client_id = $1", s.clientId)],
    ];
    test.for(endings)("refuses to open a grant when %s", async ([, change]) => {
      await change(scene);
      const family = aFamily();
      expect(await grants(database.sql).open(aGrant(scene), family, scene.sessionId, anAudit("token.issued"))).toBe(false);
      expect(await refreshFamilies(database.sql).holding(family.tokenHash)).toBeUndefined();
    });

    test("refuses to open a grant for another user's session or an unknown one", async () => {
      const other = await aScene(database.sql);
      for (const session of [other.sessionId, anId(), "not-a-uuid"]) {
        expect(await grants(database.sql).open(aGrant(scene), aFamily(), session, anAudit("token.issued"))).toBe(false);
      }
    });

    test("concurrent sign-in and sign-out everywhere leave no live refresh family", async () => {
      for (let round = 0; round < 15; round++) {
        const here = await aScene(database.sql);
        const families = [aFamily(), aFamily(), aFamily()];
        await Promise.all([
          ...families.map((family) => grants(database.sql).open(aGrant(here), family, here.sessionId, anAudit("token.issued"))),
          sessions(database.sql).endAll(here.userId, anAudit("session.ended")),
        ]);
        const held = await Promise.all(families.map(({ tokenHash }) => refreshFamilies(database.sql).holding(tokenHash)));
        expect(held.filter((state) => state !== undefined && !state.revoked)).toEqual([]);
      }
    });

    test("concurrent sign-in and end of its session leave no live refresh family", async () => {
      for (let round = 0; round < 15; round++) {
        const here = await aScene(database.sql);
        const family = aFamily();
        await Promise.all([
          grants(database.sql).open(aGrant(here), family, here.sessionId, anAudit("token.issued")),
          sessions(database.sql).endOne(here.sessionId, here.userId, anAudit("session.ended")),
        ]);
        const state = await refreshFamilies(database.sql).holding(family.tokenHash);
        expect(state === undefined || state.revoked).toBe(true);
      }
    });

    test("ending the other sessions revokes their refresh families and keeps those of the current session", async () => {
      const [here, elsewhere] = [await aScene(database.sql), aFamily()];
      const kept = aFamily();
      const other = await sessions(database.sql).start(
        { id: anId(), hash: aHash(), userId: here.userId, ttl: 60 },
        anAudit("session.started"),
      );
      await grants(database.sql).open(aGrant(here), kept, here.sessionId, anAudit("token.issued"));
      await grants(database.sql).open(aGrant(here), elsewhere, other?.id ?? "", anAudit("token.issued"));
      await sessions(database.sql).endOthers(here.sessionId, here.userId, anAudit("session.ended"));
      const [keptState, elsewhereState] = await Promise.all(
        [kept, elsewhere].map(({ tokenHash }) => refreshFamilies(database.sql).holding(tokenHash)),
      );
      expect([keptState?.revoked, elsewhereState?.revoked]).toEqual([false, true]);
    });

    test("signing out everywhere keeps the grant live, so that access tokens stay valid until they expire", async () => {
      const { grant } = await anOpenFamily(database.sql, scene);
      await sessions(database.sql).endAll(scene.userId, anAudit("session.ended"));
      expect(await states().of({ jti: anId(), clientId: scene.clientId, grantId: grant.id })).toMatchObject({ grantLives: true });
    });
  });

  describe("the audit log", () => {
    test("a record holds all members of its entry, with invalid characters replaced", async () => {
      const entry: AuditEntry = {
        event: "token.refused",
        outcome: "failure",
        reason: "code_expired",
        actor: { type: "client", id: scene.clientId },
        userId: scene.userId,
        clientId: `bad\0id\ud800'"\\`,
        grantType: "authorization_code",
        scope: "openid crm:read",
        resources: ["https://a.example.test", 'x,y{}"'],
        jti: anId(),
        grantId: anId(),
        actChain: ["agent-1", "agent-2"],
        address: "2001:db8::1",
        requestId: "r-1",
      };
      await auditLog(database.sql).record(entry);
      const [row] = await run(
        "select *, at <= now() as in_time from audit_records where user_id = $1 and event = 'token.refused'",
        scene.userId,
      );
      expect(row).toMatchObject({
        in_time: true,
        outcome: "failure",
        reason: "code_expired",
        actor_type: "client",
        actor_id: scene.clientId,
        client_id: "bad\ufffdid\ufffd'\"\\",
        grant_type: "authorization_code",
        scope: "openid crm:read",
        resources: entry.resources,
        jti: entry.jti,
        grant_id: entry.grantId,
        act_chain: ["agent-1", "agent-2"],
        address: "2001:db8::1",
        request_id: "r-1",
      });
    });

    test("100 concurrent issues write 100 records, and sealing them updates the client's last use at most once a minute", async () => {
      const log = auditLog(database.sql);
      const seal = () => auditSealer(database.sql, undefined, 500).seal();
      const entry = anAudit("token.issued", { clientId: scene.clientId });
      await Promise.all(Array.from({ length: 100 }, () => log.recordIssue(entry)));
      expect((await auditOf(database.sql, "token.issued")).filter(({ client_id }) => client_id === scene.clientId)).toHaveLength(100);
      const directory = clientDirectory(database.sql);
      await seal();
      expect((await directory.byClientId(scene.clientId))?.lastUsedAt).not.toBeNull();
      await run("update clients set last_used_at = now() - interval '30 seconds' where client_id = $1", scene.clientId);
      const before = (await directory.byClientId(scene.clientId))?.lastUsedAt;
      await log.recordIssue(entry);
      await seal();
      expect((await directory.byClientId(scene.clientId))?.lastUsedAt).toBe(before);
      await run("update clients set last_used_at = now() - interval '2 minutes' where client_id = $1", scene.clientId);
      await log.recordIssue(entry);
      await seal();
      expect((await directory.byClientId(scene.clientId))?.lastUsedAt).toBeGreaterThan(before as number);
    });

    test("a refused token request is found by its request id, with its rule; other events are not", async () => {
      const log = auditLog(database.sql);
      const refusal = { outcome: "failure", clientId: scene.clientId, grantType: "refresh_token", reason: "because" } as const;
      await log.record(anAudit("token.refused", { ...refusal, requestId: "refused-1", rule: "scope", error: "invalid_scope" }));
      await log.record(anAudit("token.refused", { ...refusal, requestId: "refused-2" }));
      await log.record(anAudit("session.refused", { outcome: "failure", requestId: "refused-3" }));
      await log.record(anAudit("token.issued", { ...refusal, outcome: "success", requestId: "refused-4" }));
      const { clientId, grantType, reason } = refusal;
      expect(await log.refusalOf("refused-1")).toEqual({
        ...{ clientId, grantType, reason, rule: "scope", error: "invalid_scope", workloadIssuer: null },
        at: expect.any(Number),
      });
      expect(await log.refusalOf("refused-2")).toMatchObject({ reason, rule: null, error: null });
      for (const other of ["refused-3", "refused-4", "refused", "\0"]) expect(await log.refusalOf(other)).toBeUndefined();
    });

    test("a refusal alone does not update the client's last use", async () => {
      await auditLog(database.sql).record(anAudit("token.refused", { outcome: "failure", clientId: scene.clientId }));
      await auditSealer(database.sql, undefined, 500).seal();
      expect((await clientDirectory(database.sql).byClientId(scene.clientId))?.lastUsedAt).toBeNull();
    });
  });
});
