import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { auditTrail } from "../../src/store/audit-trail.ts";
import { clientDirectory } from "../../src/store/client-directory.ts";
import type { Database } from "../../src/store/orm.ts";
import { statement } from "../../src/store/sql.ts";
import { sweep } from "../../src/store/sweep.ts";
import { databaseKinds } from "../support/database.ts";
import { aClient } from "../support/grants.ts";
import { addUser } from "../support/management.ts";

describe.for(databaseKinds)("open registrations that nothing hangs on go: $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());

  const AGE = statement(
    "test_age",
    `update clients set created_at = now() - make_interval(hours => $2::int),
       last_used_at = case when $3::int is null then null else now() - make_interval(days => $3::int) end where client_id = $1`,
  );
  const GRANT = statement(
    "test_grant",
    `with given as (insert into grants (client_id, user_id, scopes, audience, auth_time) values ($1, $2::uuid, '{}', '{}', now()) returning id)
     insert into refresh_families (grant_id, current_hash, expires_at, ends_at)
     select id, $3::bytea, now() + interval '1 day', now() + interval '1 day' from given`,
  );
  const registered = async (origin: "dynamic" | "developer", hours: number, usedDaysAgo: number | null): Promise<string> => {
    const { clientId } = await aClient(database.sql, { origin });
    await database.sql.query(AGE, [clientId, hours, usedDaysAgo]);
    return clientId;
  };

  test("never used after a day, idle ones later; never one with a living family, never a managed one", async () => {
    const person = await addUser(database, "sweep@example.test");
    const unused = await registered("dynamic", 25, null);
    const idle = await registered("dynamic", 24 * 200, 100);
    const young = await registered("dynamic", 23, null);
    const used = await registered("dynamic", 24 * 200, 1);
    const granted = await registered("dynamic", 24 * 200, 100);
    await database.sql.query(GRANT, [granted, person, new Uint8Array(32)]);
    const managed = await registered("developer", 24 * 200, null);

    await Promise.all([sweep(database.sql), sweep(database.sql)]);
    const directory = clientDirectory(database.sql);
    const left = await Promise.all(
      [unused, idle, young, used, granted, managed].map(async (id) => (await directory.byClientId(id)) !== undefined),
    );
    expect(left).toEqual([false, false, true, true, true, true]);
    const { items } = await auditTrail(database.sql).list({ event: "client.deleted" }, 10);
    expect(items.map(({ clientId, actor }) => [clientId, actor.type]).sort()).toEqual(
      [
        [unused, "service"],
        [idle, "service"],
      ].sort(),
    );
  });
});
