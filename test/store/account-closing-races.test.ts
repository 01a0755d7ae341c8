import { beforeAll, describe, expect, test } from "vitest";
import { accountClosing } from "../../src/store/account-closing.ts";
import { agentPauses } from "../../src/store/agent-pauses.ts";
import { apiKeys } from "../../src/store/api-keys.ts";
import { managedClients } from "../../src/store/clients.ts";
import { consents } from "../../src/store/consents.ts";
import { delegationCuts } from "../../src/store/delegation-repository.ts";
import { delegations } from "../../src/store/delegations.ts";
import { grants } from "../../src/store/grants.ts";
import { passwordChanges } from "../../src/store/password-changes.ts";
import { sessions } from "../../src/store/sessions.ts";
import type { Sql } from "../../src/store/sql.ts";
import { sweep } from "../../src/store/sweep.ts";
import { users } from "../../src/store/users.ts";
import { linkedWallets, walletLinks } from "../../src/store/wallet-links.ts";
import { aHash, anAudit, anId, aSessionOf, aUser } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { faultsOf, racing, roundsOn, shuffled } from "../support/deadlocks.ts";
import { delegating } from "../support/delegation-rows.ts";
import { aClient, aFamily, aGrant, aNewClient, aScene, RESOURCE } from "../support/grants.ts";

const MESSAGE = { subject: "s", text: "t", html: "h" };

// Closing an account deletes rows that concurrent statements are about to reference.
describe.each(databaseKinds)("no deadlock on $name", ({ name, fresh }) => {
  const { database, allAtOnce } = racing(fresh);
  const rounds = roundsOn(name);
  let sql: Sql;
  beforeAll(() => {
    ({ sql } = database());
  });
  const close = (userId: string) => accountClosing(sql).close(userId, undefined, MESSAGE, anAudit("user.deleted"));
  const its = delegating(() => sql);

  test.for(rounds(20))("closing an account while its delegations are extended, cut and swept, round %i", async (round) => {
    const { scene, grantId, agent, token, first, second, third } = await its.aChain();
    const parents = [token, its.tokenOf(first), its.tokenOf(second), its.tokenOf(third)];
    const process = [delegations(sql), delegations(sql)];
    const exchanges = (seed: number) =>
      shuffled([...parents, ...parents, ...parents, ...parents], seed).map((parent) => {
        const below = its.below(scene, grantId, agent, parent);
        return (process[seed % 2] ?? delegations(sql)).record(below, anAudit("token.issued", { jti: below.jti }));
      });
    const reach = { kind: "user", userId: scene.userId } as const;
    await allAtOnce([
      ...exchanges(2 * round),
      close(scene.userId),
      ...exchanges(2 * round + 1),
      delegationCuts(sql)(reach, { kind: "agent", clientId: agent }, anAudit("delegation.cut")),
      delegationCuts(sql)(reach, { kind: "delegation", id: second.id }, anAudit("delegation.cut")),
      sweep(sql),
    ]);
  });

  test.for(rounds(20))("closing an account while wallets are linked to it and unlinked, round %i", async () => {
    const user = await aUser(sql);
    const session = await aSessionOf(sql, user.id);
    const links = walletLinks(sql);
    const aLink = () => ({ handleHash: aHash(), stateHash: aHash() });
    const start = (link = aLink()) =>
      links.start({ ...link, userId: user.id, sessionId: session.id, sameDevice: false, ttl: 300 }, anAudit("wallet.link_started"));
    for (let at = 0; at < 16; at += 1) await start();
    const presented = async (subject: string) => {
      const link = aLink();
      await start(link);
      await links.answer(link.stateHash);
      await links.present(link.stateHash, { issuer: "https://issuer.example.test", subject }, undefined);
      return link.handleHash;
    };
    const [one, other] = [await presented(anId()), await presented(anId())];
    const complete = (handleHash: typeof one) => links.complete(handleHash, () => anAudit("wallet.linked"));
    await complete(one);
    await allAtOnce([
      start(),
      start(),
      complete(other),
      close(user.id),
      linkedWallets(sql).unlink(session, anAudit("wallet.unlinked")),
      start(),
      start(),
    ]);
  });

  test.for(rounds(20))("closing an account while records of every kind are added to it leaves none of them, round %i", async () => {
    const scene = await aScene(sql);
    const { userId, sessionId } = scene;
    const email = (await users(sql).byId(userId))?.email ?? "";
    const agent = (await aClient(sql, { isAgent: true })).clientId;
    const own = await aClient(sql, { ownerId: userId, environment: "development" });
    const consent = { userId, sessionId, clientId: agent, clientName: "An agent", scopes: ["crm:read"], resources: [RESOURCE] };
    const key = { clientId: own.id, name: "a key", prefix: "csk", last4: "abcd" };
    const all = () => [
      consents(sql).give({ id: anId(), ...consent }, anAudit("consent.given")),
      agentPauses(sql).pause({ kind: "user", userId }, agent, anAudit("agent.paused")),
      agentPauses(sql).resume({ kind: "user", userId }, agent, anAudit("agent.resumed")),
      managedClients(sql).register(aNewClient({ ownerId: userId, origin: "developer" }), anAudit("client.registered")),
      apiKeys(sql).create({ id: anId(), hash: aHash(), ...key }, { kind: "all" }, anAudit("api_key.created")),
      sessions(sql).start({ id: anId(), hash: aHash(), userId, ttl: 60 }, anAudit("session.started")),
      sessions(sql).start({ id: anId(), hash: aHash(), userId, ttl: 60, generation: 0 }, anAudit("session.started")),
      grants(sql).open(aGrant(scene), aFamily(), sessionId, anAudit("token.issued")),
      users(sql).issueVerification(userId, { tokenHash: aHash(), ttl: 600 }, { to: email, ...MESSAGE }),
      passwordChanges(sql).issueReset(email, { tokenHash: aHash(), ttl: 600 }, MESSAGE, anAudit("password.reset_requested")),
      managedClients(sql).replaceSecret(own.id, { kind: "all" }, aHash(), anAudit("client.secret_replaced")),
    ];
    await allAtOnce([...all(), close(userId), ...all()]);
    expect(await faultsOf(all())).toEqual([]);
    expect(await runText(sql, "select 1 as one from users where id = $1::uuid", [userId])).toEqual([]);
  });
});
