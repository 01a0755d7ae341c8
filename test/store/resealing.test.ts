import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { appSecretPlace } from "../../src/accounts/second-factor.ts";
import { secretBox } from "../../src/secret-box.ts";
import type { Database } from "../../src/store/orm.ts";
import { reseal } from "../../src/store/resealing.ts";
import { secretPlace } from "../../src/upstream/connection.ts";
import { anId, aUser, DEFAULT_REALM_ID } from "../support/accounts.ts";
import { databaseKinds, runText } from "../support/database.ts";

const key = (fill: number) => Buffer.alloc(32, fill).toString("base64");
const [OLD, NEW, LOST] = [key(1), key(2), key(3)];
const boxOf = (current: string, ...others: readonly string[]) => secretBox(() => current, others);

describe.for(databaseKinds)("a new VAULT_KEY on $name", ({ fresh }) => {
  let database: Database;
  beforeAll(async () => {
    database = await fresh();
  });
  afterAll(() => database.close());
  const apps = () => runText<{ user_id: string; secret: string }>(database.sql, "select user_id::text, secret from authenticator_apps");

  test("encrypts what earlier keys have encrypted, once of four processes, and reports what no key opens", async () => {
    const { sql } = database;
    for (let n = 0; n < 230; n++) {
      const { id } = await aUser(sql);
      const by = n === 0 ? LOST : n === 1 ? NEW : OLD;
      const secret = boxOf(by).seal(`secret of ${id}`, appSecretPlace(id));
      await runText(sql, "insert into authenticator_apps (user_id, secret) values ($1::uuid, $2)", [id, secret]);
    }
    const connection = anId();
    await runText(
      sql,
      `insert into connections (id, realm_id, name, title, protocol, issuer, client_id, auth_method, scopes, secret)
       values ($1::uuid, $2::uuid, 'acme', 'Acme', 'oidc', 'https://login.acme.test', 'us', 'client_secret', '{openid}', $3)`,
      [connection, DEFAULT_REALM_ID, boxOf(OLD).seal("client secret", secretPlace(connection))],
    );
    const box = boxOf(NEW, OLD);
    const { signal } = new AbortController();
    const done = await Promise.all(Array.from({ length: 4 }, () => reseal(sql, box, signal)));
    expect(done.reduce((sum, { replaced }) => sum + replaced, 0)).toBe(229);
    expect(done.map(({ unreadable }) => unreadable)).toEqual([1, 1, 1, 1]);
    const withoutOld = boxOf(NEW);
    const opened = (await apps()).filter(({ secret }) => secret.startsWith(withoutOld.prefix()));
    expect(opened.map(({ user_id, secret }) => withoutOld.open(secret, appSecretPlace(user_id)))).toEqual(
      opened.map(({ user_id }) => `secret of ${user_id}`),
    );
    expect(opened).toHaveLength(229);
    const [{ secret } = { secret: "" }] = await runText<{ secret: string }>(sql, "select secret from connections");
    expect(withoutOld.open(secret, secretPlace(connection))).toBe("client secret");
    expect(await reseal(sql, box, signal)).toEqual({ replaced: 0, unreadable: 1 });
  });
});
