import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Environment } from "../../src/clients/client.ts";
import { statement } from "../../src/store/sql.ts";
import { aNewId, type ManagementFront, managementUsers, startManagement } from "../support/management.ts";

let api: ManagementFront;
let ada: string;
let bob: string;

beforeAll(async () => {
  api = await startManagement();
  ({ ada, bob } = await managementUsers(api));
});
afterAll(() => api.close());

const created = async (): Promise<{ id: string; clientId: string }> =>
  (await api.call(ada, "POST", "/api/clients/", { name: "Notes", scopes: ["notes:read"] })).json();
const keyOf = async (id: string) => (await api.call(ada, "POST", `/api/clients/${id}/api-keys`, { name: "laptop" })).json();
const put = (id: string, environment: Environment | null) =>
  api.database.sql.query(statement("test_environment", "update clients set environment = $2 where id = $1::uuid"), [id, environment]);

const MEMBERS = ["clientId", "createdAt", "id", "last4", "lastUsedAt", "name", "prefix", "revokedAt"];

describe("POST /api/clients/{clientId}/api-keys", () => {
  test("returns 201 with the key, which is stored only as a hash", async () => {
    const { id } = await created();
    const answer = await api.call(ada, "POST", `/api/clients/${id}/api-keys`, { name: "laptop" });
    const key = await answer.json();
    expect([answer.status, Object.keys(key).sort()]).toEqual([201, [...MEMBERS, "key"].sort()]);
    expect(key.key).toMatch(/^csk_[0-9a-f]{16}_[0-9a-f]{64}$/);
    expect(key).toMatchObject({ clientId: id, name: "laptop", lastUsedAt: null, revokedAt: null });
    expect(key.key.startsWith(`${key.prefix}_`)).toBe(true);
    expect(key.key.endsWith(key.last4)).toBe(true);
    expect(key.last4).toHaveLength(4);
    const dump = JSON.stringify(
      await api.database.sql.query(
        statement("test_dump", "select api_keys::text as key from api_keys union all select audit_records::text from audit_records"),
        [],
      ),
    );
    expect(dump).not.toContain(key.key.slice(21));
  });

  test("returns 409 while the client has 100 valid keys; revoked ones do not count, and lists have the newest of them", async () => {
    const { id } = await created();
    const insert = `insert into api_keys (client_id, name, prefix, last4, key_hash, revoked_at)
      select $1::uuid, 'many', 'csk_many', '0000', sha256(concat($1::text, $2::text, n)::bytea), $2::timestamptz from generate_series(1, $3::int) as n`;
    const have = (count: number, revokedAt: string | null) =>
      api.database.sql.query(statement("test_many_keys", insert), [id, revokedAt, count]);
    await have(600, "2026-01-01");
    await have(99, null);
    const more = Array.from({ length: 8 }, () => api.call(ada, "POST", `/api/clients/${id}/api-keys`, { name: "more" }));
    const answers = await Promise.all(more);
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(409)]);
    const { id: last } = await answers.find(({ status }) => status === 201)!.json();
    const answer = await api.call(ada, "POST", `/api/clients/${id}/api-keys`, { name: "one more" });
    expect([answer.status, (await answer.json()).message]).toEqual([409, expect.stringContaining("Revoke one")]);
    const listed: { revokedAt: number | null }[] = await (await api.call(ada, "GET", `/api/clients/${id}/api-keys`))
      .json()
      .then(({ apiKeys }) => apiKeys);
    expect([listed.length, listed.filter(({ revokedAt }) => revokedAt === null).length]).toEqual([500, 100]);
    const kept = statement("test_kept_keys", "select count(*)::int as n from api_keys where client_id = $1::uuid");
    expect(await api.database.sql.query(kept, [id])).toEqual([{ n: 500 }]); // all others were revoked
    await api.call(ada, "DELETE", `/api/clients/${id}/api-keys/${last}`);
    expect((await api.call(ada, "POST", `/api/clients/${id}/api-keys`, { name: "one more" })).status).toBe(201);
  });

  test("requires a name of 1 to 255 characters and rejects other members", async () => {
    const { id } = await created();
    for (const body of [{}, { name: "" }, { name: "x".repeat(256) }, { name: "x", clientId: id }, { name: "x", key: "csk_" }, []]) {
      expect((await api.call(ada, "POST", `/api/clients/${id}/api-keys`, body)).status).toBe(400);
    }
    expect((await api.call(ada, "POST", `/api/clients/${id}/api-keys`, { name: "x".repeat(255) })).status).toBe(201);
  });

  test.for(["staging", "production", null] as const)(
    "abuse 66: returns 403 for a client in environment %s, whose existing keys are refused",
    async (environment) => {
      const { id } = await created();
      const { key } = await keyOf(id);
      await put(id, environment);
      const answer = await api.call(ada, "POST", `/api/clients/${id}/api-keys`, { name: "x" });
      expect([answer.status, (await answer.json()).statusCode]).toEqual([403, 403]);
      expect((await api.call(key, "GET", `/api/clients/${id}`)).status).toBe(401);
      await put(id, "development");
      expect((await api.call(key, "GET", `/api/clients/${id}`)).status).toBe(200);
    },
  );
});

describe("GET and DELETE", () => {
  test("the list contains active and revoked keys, without key and hash", async () => {
    const { id } = await created();
    const [first, second] = [await keyOf(id), await keyOf(id)];
    await api.call(ada, "DELETE", `/api/clients/${id}/api-keys/${first.id}`);
    const answer = await api.call(ada, "GET", `/api/clients/${id}/api-keys`);
    const { apiKeys, ...others } = await answer.json();
    expect([answer.status, others]).toEqual([200, {}]);
    expect(apiKeys.map((key: { id: string }) => key.id).sort()).toEqual([first.id, second.id].sort());
    for (const key of apiKeys) expect(Object.keys(key).sort()).toEqual(MEMBERS);
  });

  test("revoking returns the record and is idempotent, and concurrent calls return the same time", async () => {
    const { id, clientId } = await created();
    const key = await keyOf(id);
    const answers = await Promise.all([1, 2, 3, 4].map(() => api.call(ada, "DELETE", `/api/clients/${id}/api-keys/${key.id}`)));
    const bodies = await Promise.all(answers.map((answer) => answer.json()));
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    expect(Object.keys(bodies[0]).sort()).toEqual(MEMBERS);
    expect(bodies[0].revokedAt).toBeGreaterThan(0);
    expect(new Set(bodies.map((body) => JSON.stringify(body))).size).toBe(1);
    const { items } = await api.ports.auditTrail.list({ clientId }, { limit: 10 });
    expect(items.map(({ event }) => event)).toEqual(["api_key.revoked", "api_key.created", "client.registered"]);
  });

  test("DELETE returns 404 for a key of another client or developer, an unknown key and a malformed id", async () => {
    const [mine, other] = [await created(), await created()];
    const key = await keyOf(mine.id);
    const answers = [];
    for (const path of [
      `${other.id}/api-keys/${key.id}`,
      `${mine.id}/api-keys/${aNewId()}`,
      `${mine.id}/api-keys/x`,
      `${aNewId()}/api-keys/${key.id}`,
    ]) {
      answers.push(await api.call(ada, "DELETE", `/api/clients/${path}`));
    }
    answers.push(await api.call(bob, "DELETE", `/api/clients/${mine.id}/api-keys/${key.id}`));
    expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404]);
    expect((await api.call(key.key, "GET", `/api/clients/${mine.id}`)).status).toBe(200);
  });
});

describe("access with an API key", () => {
  test("reads its own client and updates lastUsedAt", async () => {
    const { id, clientId } = await created();
    const { key, id: keyId } = await keyOf(id);
    const answer = await api.call(key, "GET", `/api/clients/${id}`);
    expect([answer.status, (await answer.json()).clientId]).toEqual([200, clientId]);
    const { apiKeys } = await (await api.call(ada, "GET", `/api/clients/${id}/api-keys`)).json();
    expect(apiKeys.find((entry: { id: string }) => entry.id === keyId).lastUsedAt).toBeGreaterThan(0);
  });

  test("updates lastUsedAt at most once a minute", async () => {
    const { id } = await created();
    const { key, id: keyId } = await keyOf(id);
    const used = statement("test_used", "update api_keys set last_used_at = now() - make_interval(secs => $2::int) where id = $1::uuid");
    const age = statement(
      "test_used_age",
      "select extract(epoch from now() - last_used_at)::float8 as age from api_keys where id = $1::uuid",
    );
    const ageAfterUse = async (seconds: number) => {
      await api.database.sql.query(used, [keyId, seconds]);
      await api.call(key, "GET", `/api/clients/${id}`);
      return (await api.database.sql.query<{ age: number }>(age, [keyId]))[0]?.age;
    };
    expect(await ageAfterUse(50)).toBeGreaterThan(49);
    expect(await ageAfterUse(61)).toBeLessThan(10);
  });

  test("returns 404 for another client and 401 on every other route", async () => {
    const [mine, other] = [await created(), await created()];
    const { key, id: keyId } = await keyOf(mine.id);
    expect((await api.call(key, "GET", `/api/clients/${other.id}`)).status).toBe(404);
    for (const [method, path, body] of [
      ["GET", "/api/clients/"],
      ["POST", "/api/clients/", { name: "x" }],
      ["PATCH", `/api/clients/${mine.id}`, { name: "x" }],
      ["DELETE", `/api/clients/${mine.id}`],
      ["POST", `/api/clients/${mine.id}/regenerate-secret`],
      ["GET", `/api/clients/${mine.id}/api-keys`],
      ["DELETE", `/api/clients/${mine.id}/api-keys/${keyId}`],
    ] as const) {
      expect((await api.call(key, method, path, body)).status).toBe(401);
    }
  });

  test("abuse 66: returns 401 at once for a revoked or unknown key and for keys of a disabled or deleted client or a disabled developer", async () => {
    const { id } = await created();
    const { key, id: keyId } = await keyOf(id);
    const reads = async (bearer: string) => (await api.call(bearer, "GET", `/api/clients/${id}`)).status;
    const { key: second } = await keyOf(id);
    expect([await reads(key), await reads(second)]).toEqual([200, 200]);
    await api.call(ada, "DELETE", `/api/clients/${id}/api-keys/${keyId}`);
    expect([await reads(key), await reads(second)]).toEqual([401, 200]);
    await api.call(ada, "PATCH", `/api/clients/${id}`, { enabled: false });
    expect(await reads(second)).toBe(401);
    await api.call(ada, "PATCH", `/api/clients/${id}`, { enabled: true });
    const audit = { event: "user.changed", outcome: "success", actor: { type: "service", id: "test" } } as const;
    await api.ports.users.setEnabled(ada, false, audit);
    expect(await reads(second)).toBe(401);
    await api.ports.users.setEnabled(ada, true, audit);
    expect(await reads(second)).toBe(200);
    await api.call(ada, "DELETE", `/api/clients/${id}`);
    expect(await reads(second)).toBe(401);
    expect(await reads(`csk_${"0".repeat(16)}_${"0".repeat(64)}`)).toBe(401);
  });
});

test("no request of this file causes a fault", () => {
  expect(api.faults).toEqual([]);
});
