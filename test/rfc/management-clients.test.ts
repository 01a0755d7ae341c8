import { type AdminClient, createAdminClient } from "@countersign/admin";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { managedClients } from "../../src/store/clients.ts";
import { consents } from "../../src/store/consents.ts";
import { anAudit, aSessionOf } from "../support/accounts.ts";
import { aClient } from "../support/builders.ts";
import { runText } from "../support/database.ts";
import { addUser, aNewId, DEFAULT_REALM, type ManagementFront, managementUsers, startManagement } from "../support/management.ts";

let api: ManagementFront;
let ids: { readonly ada: string; readonly bob: string; readonly operator: string };
let ada: AdminClient;
let operator: AdminClient;
beforeAll(async () => {
  api = await startManagement();
  ids = await managementUsers(api);
  [ada, operator] = [ids.ada, ids.operator].map((token) => createAdminClient({ url: api.url, token })) as [AdminClient, AdminClient];
});
afterAll(() => api.close());

async function allow(userId: string, clientId: string): Promise<void> {
  const { id: sessionId } = await aSessionOf(api.database.sql, userId);
  const consent = { id: aNewId(), userId, sessionId, clientId, clientName: "Notes", scopes: ["notes:read"], resources: [] };
  await consents(api.database.sql).give(consent, anAudit("consent.given", { userId }));
}

/** A client that registered itself. */
async function registered(clientId: string): Promise<string> {
  const client = aClient({ id: aNewId(), clientId, realmId: DEFAULT_REALM, origin: "dynamic" });
  return (await managedClients(api.database.sql).register(client, anAudit("client.registered"))).id;
}
const usedAt = (id: string, interval: string) =>
  runText(api.database.sql, `update clients set last_used_at = now() - interval '${interval}' where id = $1::uuid`, [id]);
const madeAt = (id: string, interval: string) =>
  runText(api.database.sql, `update clients set created_at = now() - interval '${interval}' where id = $1::uuid`, [id]);

describe("consents of a client", () => {
  const clientId = "https://notes.example.test/client.json";

  test("operators see who allowed what, page by page, and revoke one", async () => {
    for (const name of ["eve", "fay", "gus"]) await allow(await addUser(api.database, `${name}@example.test`), clientId);
    await allow(ids.ada, "another");
    const first = await operator.operator.consents.ofClient.query({ clientId, limit: 2 });
    expect(first).toMatchObject({ total: 3, totalIsExact: true, consents: [{ scopes: ["notes:read"], lastUsedAt: null }, {}] });
    const second = await operator.operator.consents.ofClient.query({ clientId, limit: 2, cursor: first.nextCursor ?? "" });
    expect(second).toMatchObject({ nextCursor: null, total: null });
    const all = [...first.consents, ...second.consents];
    expect(all.map(({ email }) => email).sort()).toEqual(["eve@example.test", "fay@example.test", "gus@example.test"]);

    const found = await operator.operator.consents.ofClient.query({ clientId, search: "FAY@" });
    expect(found.consents.map(({ email }) => email)).toEqual(["fay@example.test"]);
    const { id, userId } = found.consents[0] ?? { id: "", userId: "" };
    await operator.operator.consents.revoke.mutate({ userId, id });
    expect(await operator.operator.consents.ofClient.query({ clientId })).toMatchObject({ total: 2 });
  });

  test("developers see how many there are, and how many were used lately", async () => {
    const client = await ada.clients.create.mutate({ name: "Counted" });
    expect(await ada.clients.consents.query({ id: client.id })).toEqual({ total: 0, totalIsExact: true, usedLately: 0 });
    await allow(ids.ada, client.clientId);
    await allow(ids.bob, client.clientId);
    await runText(api.database.sql, "update consents set last_used_at = now() where client_id = $1 and user_id = $2::uuid", [
      client.clientId,
      ids.bob,
    ]);
    expect(await ada.clients.consents.query({ id: client.id })).toEqual({ total: 2, totalIsExact: true, usedLately: 1 });
  });
});

describe("deletion of registrations without use", () => {
  const since = Date.now() - 30 * 86_400_000;

  test("the list has those that registered themselves and were never or long not used", async () => {
    const [fresh, never, long, lately] = [
      await registered("fresh"),
      await registered("never"),
      await registered("long"),
      await registered("lately"),
    ];
    for (const id of [never, long, lately]) await madeAt(id, "90 days");
    await usedAt(long, "40 days");
    await usedAt(lately, "1 day");
    const dead = await operator.operator.clients.list.query({ origin: "dynamic", unusedSince: since, sort: "lastUsed", order: "asc" });
    expect(dead.clients.map(({ id }) => id)).toEqual([never, long]);

    const own = await ada.clients.create.mutate({ name: "Ada's" });
    const builtIn = (await operator.operator.clients.list.query({ origin: "built_in", limit: 1 })).clients[0]?.id ?? "";
    const answer = await operator.operator.clients.deleteMany.mutate({
      ids: [never, never, lately, fresh, own.id, builtIn, aNewId(), "no id"],
      unusedSince: since,
    });
    expect(answer.deleted).toEqual([never]);
    expect(answer.refused.map(({ error }) => error)).toEqual(["conflict", "conflict", "conflict", "forbidden", "not_found", "not_found"]);
    expect(answer.refused[0]).toEqual({ id: lately, error: "conflict", message: "The client was used or registered since." });

    expect((await operator.operator.clients.deleteMany.mutate({ ids: [own.id, long] })).deleted).toEqual([own.id, long]);
    const { records } = await operator.operator.audit.list.query({ event: "client.deleted" });
    expect(records.map((each) => each.clientId).sort()).toEqual([own.clientId, "long", "never"].sort());
  });

  test("a call names at most 100 clients", async () => {
    const many = Array.from({ length: 101 }, () => aNewId());
    await expect(operator.operator.clients.deleteMany.mutate({ ids: many })).rejects.toMatchObject({ data: { error: "invalid_request" } });
  });
});

test("a developer has 1000 clients at most, also where several are made at once; another developer may make some", async () => {
  const client = { name: "Notes", scopes: ["openid"] };
  const many = await addUser(api.database, "many@example.test");
  const made = await api.call(many, "POST", "/api/clients/", client);
  const { id } = await made.json();
  const copy = `insert into clients select (jsonb_populate_record(clients, jsonb_build_object('id', uuid_v7(), 'client_id', 'many-' || n))).*
    from clients, generate_series(1, 998) as n where clients.id = $1::uuid`;
  await runText(api.database.sql, copy, [id]);
  const answers = await Promise.all(Array.from({ length: 6 }, () => api.call(many, "POST", "/api/clients/", client)));
  expect(answers.map(({ status }) => status).sort()).toEqual([201, 409, 409, 409, 409, 409]);
  const refused = await api.call(many, "POST", "/api/clients/", client);
  expect(await refused.json()).toMatchObject({ statusCode: 409, message: expect.stringContaining("at most 1000 clients") });
  expect((await api.call(ids.bob, "POST", "/api/clients/", client)).status).toBe(201);
  expect((await (await api.call(many, "GET", "/api/clients/")).json()).clients).toHaveLength(1_000);
  await api.call(many, "DELETE", `/api/clients/${id}`);
  expect((await api.call(many, "POST", "/api/clients/", client)).status).toBe(201);
});
