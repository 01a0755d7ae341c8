import { describe, expect, test } from "vitest";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { clientDirectory, managedClients } from "../../src/store/clients.ts";
import { consents } from "../../src/store/consents.ts";
import { delegationCuts } from "../../src/store/delegation-repository.ts";
import { grants } from "../../src/store/grants.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { sessions } from "../../src/store/sessions.ts";
import { managedUsers } from "../../src/store/users.ts";
import { aHash, anAudit } from "../support/accounts.ts";
import { databaseKinds } from "../support/database.ts";
import { racing, roundsOn } from "../support/deadlocks.ts";
import { aBinding, aCode, aFamily, aGrant, anOpenFamily, aScene } from "../support/grants.ts";

// Each of these statements locks more than one row; in different orders, two of them would deadlock.
describe.each(databaseKinds)("no deadlock on $name", ({ name, fresh }) => {
  const { database, allAtOnce } = racing(fresh);
  const rounds = roundsOn(name);

  test.for(rounds(25))("revoking one user's grants in all ways at once, round %i", async () => {
    const { sql } = database();
    const scene = await aScene(sql);
    const open = [await anOpenFamily(sql, scene), await anOpenFamily(sql, scene), await anOpenFamily(sql, scene)];
    const code = await aCode(sql, scene);
    const client = await clientDirectory(sql).byClientId(scene.clientId);
    const families = refreshFamilies(sql);
    const whose = { kind: "user", userId: scene.userId } as const;
    await allAtOnce([
      sessions(sql).endAll(scene.userId, anAudit("session.ended")),
      sessions(sql).endOne(scene.sessionId, scene.userId, anAudit("session.ended")),
      ...open.map(({ family }) => families.rotate(family.id, family.tokenHash, { hash: aHash(), ttl: 60 }, anAudit("token.issued"))),
      ...open.map(({ family }) => families.revoke(family.id, anAudit("token.revoked"))),
      ...open.map(({ grant }) => grants(sql).revoke(grant.id, anAudit("token.revoked"))),
      ...open.map(({ grant }) => delegationCuts(sql)(whose, { kind: "grant", id: grant.id }, anAudit("delegation.cut"))),
      authorizationCodes(sql).redeem(code, aGrant(scene), aFamily(), anAudit("token.issued")),
      authorizationCodes(sql).issue(aHash(), aBinding(scene), 60, anAudit("code.issued")),
      consents(sql).revoke(scene.consentId, scene.userId, anAudit("consent.revoked")),
      managedUsers(sql).setEnabled(scene.userId, false, anAudit("user.changed")),
      managedClients(sql).delete(client?.id ?? "", { kind: "all" }, anAudit("client.deleted")),
    ]);
    for (const { family } of open) expect(await families.holding(family.tokenHash)).toMatchObject({ revoked: true });
  });

  test("two processes that rotate the same refresh tokens in opposite order: each token is rotated exactly once", async () => {
    const { sql } = database();
    const scene = await aScene(sql);
    for (const _ of rounds(10)) {
      const open = await Promise.all(Array.from({ length: 24 }, () => anOpenFamily(sql, scene)));
      const [one, other] = [refreshFamilies(sql), refreshFamilies(sql)];
      const rotated = (at: typeof one, { family }: (typeof open)[number]) =>
        at.rotate(family.id, family.tokenHash, { hash: aHash(), ttl: 60 }, anAudit("token.issued"));
      const work = [...open.map((each) => rotated(one, each)), ...open.toReversed().map((each) => rotated(other, each))];
      await allAtOnce(work);
      const won = await Promise.all(work);
      expect(won.filter(Boolean)).toHaveLength(open.length);
    }
  });
});
