import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Figure } from "../../src/management/ports.ts";
import { auditLog } from "../../src/store/audit-log.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { managedClients } from "../../src/store/clients.ts";
import { figures } from "../../src/store/figures.ts";
import type { Database } from "../../src/store/orm.ts";
import { sweep } from "../../src/store/sweep.ts";
import { anAudit, anId } from "../support/accounts.ts";
import { aClient } from "../support/builders.ts";
import { databaseKinds, runText } from "../support/database.ts";
import { addUser, DEFAULT_REALM } from "../support/management.ts";

describe.for(databaseKinds)("figures on $name", ({ fresh }) => {
  let database: Database;
  let owner: string;
  beforeAll(async () => {
    database = await fresh();
    owner = await addUser(database, "owner@example.test");
  });
  afterAll(() => database.close());

  const aRegistered = async (origin: "developer" | "dynamic"): Promise<string> => {
    const clientId = anId();
    const client = aClient({ id: anId(), clientId, origin, realmId: DEFAULT_REALM, ownerId: origin === "dynamic" ? null : owner });
    return (await managedClients(database.sql).register(client, anAudit("client.registered", { clientId }))).clientId;
  };
  const record = (entry: ReturnType<typeof anAudit>) => auditLog(database.sql).record(entry);
  /** Seals as several processes would, until nothing is left. */
  const seal = async (): Promise<void> => {
    const counts = await Promise.all(Array.from({ length: 4 }, () => auditSealer(database.sql, undefined, 7).seal()));
    if (counts.some((count) => count > 0)) await seal();
  };
  /** Sums by kind and reason; the hour may turn within a test. */
  const sums = (found: readonly Figure[]) => {
    const all: Record<string, number> = {};
    for (const { kind, reason, count } of found) all[`${kind} ${reason}`.trim()] = (all[`${kind} ${reason}`.trim()] ?? 0) + count;
    return all;
  };
  const ofClient = async (clientId: string, span: "hour" | "day" = "hour") =>
    sums(
      await runText<Figure>(database.sql, "select kind, reason, n::int as count from figures where client_id = $1 and span = $2", [
        clientId,
        span,
      ]),
    );

  test("each record is counted once, by hour and by day", async () => {
    const clientId = await aRegistered("developer");
    const issued = anAudit("token.issued", { clientId, grantType: "client_credentials" });
    const refused = anAudit("token.refused", { clientId, outcome: "failure", reason: "code_expired", error: "invalid_grant" });
    await Promise.all([
      ...Array.from({ length: 40 }, () => record(issued)),
      ...Array.from({ length: 5 }, () => record(refused)),
      seal(),
      seal(),
    ]);
    await seal();
    const counted = { "issued client_credentials": 40, "refused invalid_grant": 5 };
    expect(await ofClient(clientId)).toEqual(counted);
    expect(await ofClient(clientId, "day")).toEqual(counted);
    expect(sums(await figures(database.sql).ofOwner("hour", owner))).toMatchObject(counted);
    expect(sums(await figures(database.sql).ofOwner("hour", anId()))).toEqual({});
    expect(sums(await figures(database.sql).ofRealms("hour"))).toMatchObject({ "refused code_expired": 5 });
  });

  test("a client that registered itself counts in its realm alone, and realms sum up to all of them", async () => {
    const before = sums(await figures(database.sql).ofRealms("day", DEFAULT_REALM));
    const clientId = await aRegistered("dynamic");
    await record(anAudit("token.issued", { clientId, grantType: "authorization_code" }));
    await seal();
    expect(await ofClient(clientId)).toEqual({});
    const after = sums(await figures(database.sql).ofRealms("day", DEFAULT_REALM));
    expect(after).toEqual({ ...before, "issued authorization_code": 1 + (before["issued authorization_code"] ?? 0) });
    expect(sums(await figures(database.sql).ofRealms("day"))).toEqual(after);
    expect(await figures(database.sql).ofRealms("day", anId())).toEqual([]);
  });

  test("a second use of a refresh token is a race within ten seconds of the refresh or within the grace, and else a replay", async () => {
    const clientId = await aRegistered("developer");
    const [raced, replayed] = [anId(), anId()];
    const refresh = { clientId, grantType: "refresh_token" };
    await record(anAudit("token.issued", { ...refresh, grantId: raced }));
    await record(anAudit("token.issued", { ...refresh, grantId: raced, reason: "refresh_token_repeated" }));
    for (const grantId of [raced, replayed])
      await record(
        anAudit("refresh_token.replayed", {
          ...refresh,
          grantId,
          outcome: "failure",
          reason: "refresh_token_replayed",
          error: "invalid_grant",
        }),
      );
    await record(anAudit("code.replayed", { clientId, outcome: "failure", reason: "code_replayed", error: "invalid_grant" }));
    await seal();
    expect(await ofClient(clientId)).toEqual({
      "issued refresh_token": 2,
      raced: 2,
      "replayed invalid_grant": 2,
    });
  });

  test("records that stand for several requests count them", async () => {
    const clientId = await aRegistered("developer");
    await record(anAudit("token.refused", { clientId, outcome: "failure", reason: "agent_unproven", error: "invalid_client", repeats: 8 }));
    await record(
      anAudit("workload.refused", { clientId, outcome: "failure", reason: "token_expired", error: "invalid_grant", repeats: 2 }),
    );
    await seal();
    expect(await ofClient(clientId)).toEqual({ "refused invalid_client": 8, "refused invalid_grant": 3 });
  });

  test("hours are kept for two days, and days for three months", async () => {
    const old = (span: string, age: string) =>
      runText(
        database.sql,
        `insert into figures values ('swept', '${span}', now() - interval '${age}', '${DEFAULT_REALM}', 'issued', '', 1)`,
      );
    for (const [span, age] of [
      ["hour", "50 hours"],
      ["hour", "47 hours"],
      ["day", "89 days"],
      ["day", "92 days"],
    ] as const)
      await old(span, age);
    await sweep(database.sql);
    expect([await ofClient("swept"), await ofClient("swept", "day")]).toEqual([{ issued: 1 }, { issued: 1 }]);
    const left = await runText<{ n: number }>(database.sql, "select count(*)::int as n from figures where client_id = 'swept'");
    expect(left).toEqual([{ n: 2 }]);
  });
});
