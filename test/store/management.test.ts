import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { mintApiKey } from "../../src/clients/api-key.ts";
import type { Client } from "../../src/clients/client.ts";
import type { ClientChange, ClientSort, Reach } from "../../src/clients/ports.ts";
import { Refusal } from "../../src/errors.ts";
import type { Part } from "../../src/paging.ts";
import { asSecretHash, hashSecret } from "../../src/random.ts";
import { apiKeyDirectory, apiKeys } from "../../src/store/api-keys.ts";
import { auditTrail } from "../../src/store/audit-trail.ts";
import { authorizationCodes } from "../../src/store/authorization-codes.ts";
import { clientDirectory, managedClients } from "../../src/store/clients.ts";
import type { Database } from "../../src/store/orm.ts";
import { managedRealms } from "../../src/store/realms.ts";
import { refreshFamilies } from "../../src/store/refresh-families.ts";
import { importedUsers, managedUsers } from "../../src/store/users.ts";
import { aClient } from "../support/builders.ts";
import { databaseKinds, overtaken, runText } from "../support/database.ts";
import { aCode, anOpenFamily, aScene } from "../support/grants.ts";
import { addUser, aNewId, DEFAULT_REALM } from "../support/management.ts";

const audit = { event: "client.changed", outcome: "success", actor: { type: "user", id: "someone" } } as const;
const all: Reach = { kind: "all" };
const renamed =
  (name: string) =>
  (client: Client): ClientChange => ({ settings: { ...client, name: `${client.name}${name}` }, secret: "kept" as const });

describe.for(databaseKinds)("management of clients, keys, users and realms on $name", ({ fresh }) => {
  let database: Database;
  let owner: string;
  let otherUser: Reach;
  let mine: Reach;
  beforeAll(async () => {
    database = await fresh();
    owner = await addUser(database, "owner@example.test");
    mine = { kind: "owner", userId: owner };
    otherUser = { kind: "owner", userId: await addUser(database, "stranger@example.test") };
  });
  afterAll(() => database.close());

  const stored = (members: Partial<Client> = {}) => {
    const {
      createdAt: _,
      updatedAt: __,
      lastUsedAt: ___,
      ...client
    } = aClient({ id: aNewId(), clientId: aNewId(), realmId: DEFAULT_REALM, ownerId: owner });
    return managedClients(database.sql).register(
      { ...client, environment: "development", ...members },
      { ...audit, event: "client.registered" },
    );
  };

  test("a user who does not own a client can neither read nor change it or its API keys", async () => {
    const clients = managedClients(database.sql);
    const keys = apiKeys(database.sql);
    const { id } = await stored();
    const { key: _, ...minted } = mintApiKey(randomBytes);
    const key = { ...minted, id: aNewId(), clientId: id, name: "k" };
    expect(await keys.create(key, mine, audit)).toMatchObject({ clientId: id });
    const decided = () => {
      throw new Error("the decision was called for a client out of reach");
    };
    expect([
      await clients.byId(id, otherUser),
      await clients.change(id, otherUser, decided, audit),
      await clients.replaceSecret(id, otherUser, hashSecret("x"), audit),
      await clients.delete(id, otherUser, audit),
      await keys.create({ ...key, id: aNewId(), hash: hashSecret("y") }, otherUser, audit),
      await keys.ofClient(id, otherUser),
      await keys.revoke(key.id, id, otherUser, audit),
    ]).toEqual([undefined, undefined, undefined, false, undefined, [], undefined]);
    expect(await clients.byId(id, mine)).toMatchObject({
      secretHash: asSecretHash((await clients.byId(id, all))?.secretHash ?? new Uint8Array()),
    });
    expect(await keys.ofClient(id, mine)).toHaveLength(1);
  });

  test("16 concurrent changes are applied one after another, and none is lost", async () => {
    const { id, name } = await stored();
    const clients = managedClients(database.sql);
    await Promise.all(Array.from({ length: 16 }, () => clients.change(id, mine, renamed("+"), audit)));
    expect((await clients.byId(id, mine))?.name).toBe(`${name}${"+".repeat(16)}`);
  });

  test("a change that is refused leaves the client unchanged and writes no audit record", async () => {
    const { id, clientId, name } = await stored();
    const clients = managedClients(database.sql);
    await clients.change(id, mine, renamed("+"), audit);
    const refuse = () => {
      throw new Refusal("invalid_request", "client_incoherent");
    };
    await expect(clients.change(id, mine, refuse, audit)).rejects.toMatchObject({ reason: "client_incoherent" });
    expect((await clients.byId(id, mine))?.name).toBe(`${name}+`);
    expect((await auditTrail(database.sql).list({ clientId }, { limit: 10 })).items).toHaveLength(1);
  });

  test("docs/protocol.md#client-management: disabling a client revokes its codes and refresh families, and enabling it again restores none", async () => {
    const { sql } = database;
    const scene = await aScene(sql);
    const { family } = await anOpenFamily(sql, scene);
    const [code, clients] = [await aCode(sql, scene), managedClients(sql)];
    const client = await clientDirectory(sql).byClientId(scene.clientId);
    for (const enabled of [false, true])
      await clients.change(
        client?.id ?? "",
        { kind: "all" },
        (settings) => ({ settings: { ...settings, enabled }, secret: "kept" }),
        audit,
      );
    expect(await refreshFamilies(sql).holding(family.tokenHash)).toMatchObject({ revoked: true });
    expect(await authorizationCodes(sql).byHash(code)).toBeUndefined();
  });

  test("8 concurrent deletions of a client: exactly one succeeds, with one audit record", async () => {
    const { id, clientId } = await stored();
    const clients = managedClients(database.sql);
    const found = await Promise.all(Array.from({ length: 8 }, () => clients.delete(id, mine, { ...audit, event: "client.deleted" })));
    expect(found.filter(Boolean)).toHaveLength(1);
    expect((await auditTrail(database.sql).list({ clientId, event: "client.deleted" }, { limit: 10 })).items).toHaveLength(1);
  });

  test("a revoked API key is no longer accepted, also while it is in use", async () => {
    const { id } = await stored();
    const { key: _, ...minted } = mintApiKey(randomBytes);
    const created = await apiKeys(database.sql).create({ ...minted, id: aNewId(), clientId: id, name: "k" }, mine, audit);
    const directory = apiKeyDirectory(database.sql);
    const uses = Array.from({ length: 8 }, () => directory.byHash(minted.hash));
    const revoked = await apiKeys(database.sql).revoke(created?.id ?? "", id, mine, audit);
    expect(await directory.byHash(minted.hash)).toBeUndefined();
    await Promise.all(uses);
    expect(revoked?.revokedAt).toBeTypeOf("number");
    expect(await directory.byHash(minted.hash)).toBeUndefined();
  });

  test("every attribute of a client is returned as it was stored", async () => {
    const jwks = { keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }] };
    const { id } = await stored();
    const settings = {
      environment: "staging",
      isAgent: true,
      maxAgentMode: "admin",
      audience: ["https://a.test/"],
      jwks,
      tokenEndpointAuthMethod: "private_key_jwt",
    } as const;
    const clients = managedClients(database.sql);
    const change = (client: Client) => ({ settings: { ...client, ...settings }, secret: "dropped" as const });
    expect(await clients.change(id, all, change, audit)).toMatchObject({ ...settings, secretHash: null, updatedAt: expect.any(Number) });
    const back = (client: Client) => ({
      settings: { ...client, jwks: null, audience: null, environment: null, maxAgentMode: null },
      secret: "dropped" as const,
    });
    expect(await clients.change(id, all, back, audit)).toMatchObject({ jwks: null, audience: null, environment: null, maxAgentMode: null });
    expect(await clients.replaceSecret(id, all, hashSecret("x"), audit)).toBeUndefined();
  });

  test("lists are sorted page by page and counted on the first page; a cursor of another order is refused", async () => {
    const user = await addUser(database, "sorter@example.test");
    for (const name of ["Alpha", "beta"]) await stored({ ownerId: user, name });
    const clients = managedClients(database.sql);
    const sorted = async (part: Partial<Part<ClientSort>>) => {
      const names: string[] = [];
      for (let cursor: string | undefined; ; ) {
        const page = await clients.list({ ownerId: user }, { limit: 1, cursor, count: cursor === undefined, ...part });
        expect(page.total).toBe(cursor === undefined ? 2 : null);
        names.push(...page.items.map(({ name }) => name));
        if (page.next === null) return names;
        cursor = page.next;
      }
    };
    expect(await sorted({ sort: "name" })).toEqual(["Alpha", "beta"]);
    expect(await sorted({ sort: "name", order: "desc" })).toEqual(["beta", "Alpha"]);
    expect(await sorted({ order: "asc" })).toEqual((await sorted({})).toReversed());
    expect((await sorted({ sort: "lastUsed" })).toSorted()).toEqual(["Alpha", "beta"]);
    const { next } = await clients.list({ ownerId: user }, { limit: 1, sort: "name" });
    for (const part of [{ sort: "name", order: "desc" }, { sort: "lastUsed" }, {}] as const) {
      const refused = clients.list({ ownerId: user }, { limit: 1, cursor: next ?? "", ...part });
      await expect(refused).rejects.toMatchObject({ code: "invalid_request", reason: "cursor_unusable" });
    }
    expect((await clients.list({ unusedSince: 4e9, search: "ALP" }, { limit: 5 })).items.map(({ name }) => name)).toContain("Alpha");
    expect((await clients.list({ ownerId: user, unusedSince: 5 }, { limit: 5, count: true })).total).toBe(0);
    for (const name of ["What? 'a' «0» $1", "What? 'b'"]) await stored({ ownerId: user, name });
    const odd = await clients.list({ search: "what? 'a' «0»" }, { limit: 5, count: true, sort: "name" });
    expect([odd.items.map(({ name }) => name), odd.total]).toEqual([["What? 'a' «0» $1"], 1]);
    const last = await clients.list({ ownerId: user }, { limit: 3, sort: "name" });
    const rest = await clients.list({ ownerId: user }, { limit: 3, sort: "name", cursor: last.next ?? "" });
    expect(rest.items.map(({ name }) => name)).toEqual(["What? 'b'"]);
    const [mine] = (await managedUsers(database.sql).list({ search: user }, { limit: 5, sort: "email" })).items;
    expect(mine?.id).toBe(user);
  });

  test("client lists are sorted newest first, paged and filtered", async () => {
    const user = await addUser(database, "lister@example.test");
    const made = [
      await stored({ ownerId: user, name: "Alpha" }),
      await stored({ ownerId: user, name: "beta", enabled: false, isAgent: true }),
    ];
    const clients = managedClients(database.sql);
    const first = await clients.list({ ownerId: user }, { limit: 1 });
    const second = await clients.list({ ownerId: user }, { limit: 1, cursor: first.next ?? undefined });
    expect([first.items.length, second.items.length, second.next]).toEqual([1, 1, null]);
    expect([...first.items, ...second.items].map(({ id }) => id).sort()).toEqual(made.map(({ id }) => id).sort());
    for (const filter of [{ enabled: false }, { isAgent: true }, { search: "BET" }]) {
      expect((await clients.list({ ownerId: user, ...filter }, { limit: 5 })).items.map(({ name }) => name)).toEqual(["beta"]);
    }
    expect((await clients.list({ ownerId: user, origin: "dynamic" }, { limit: 5 })).items).toEqual([]);
    expect((await clients.list({ ownerId: user, environment: "development" }, { limit: 5 })).items).toHaveLength(2);
    expect(await clients.ofOwner(user)).toHaveLength(2);
    expect(await clients.list({ search: "\0" }, { limit: 5 })).toEqual({ items: [], next: null, total: 0 });
  });

  test.for([
    ["disable", (id: string) => managedUsers(database.sql).setEnabled(id, false, { ...audit, event: "user.changed" })],
    ["demote", (id: string) => managedUsers(database.sql).setRole(id, "developer", { ...audit, event: "user.changed" })],
  ] as const)("of two operators who %s each other at once, one stays", async ([act, on]) => {
    const pair = await Promise.all(["one", "other"].map((name) => addUser(database, `${act}-${name}@example.test`, "operator")));
    const outcomes = await Promise.allSettled(pair.map(on));
    const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason.reason] : []));
    expect(refusals).toEqual(["last_operator"]);
    for (const id of pair) await runText(database.sql, "update users set role = 'developer' where id = $1::uuid", [id]);
  });

  test("an import that another account has overtaken stores no one, and can be tried again", async () => {
    const user = { emailVerified: true, firstName: null, lastName: null, role: "user", enabled: true } as const;
    const emails = ["import-1@example.test", "import-2@example.test"];
    const signsUp = `insert into users (realm_id, email, email_key) select realm_id, '${emails[1]}', '${emails[1]}' from users limit 1`;
    const imported = importedUsers(overtaken(database.sql, "import_taken", signsUp));
    const rows = emails.map((email) => ({ ...user, id: aNewId(), email }));
    await expect(imported.import(rows, [], false)).rejects.toMatchObject({ code: "temporarily_unavailable" });
    expect(await managedUsers(database.sql).list({ search: emails[0] }, { limit: 5, count: false })).toMatchObject({ items: [] });
  });

  test("changes of users and realms write an audit record", async () => {
    const id = await addUser(database, "Mixed@example.test");
    const users = managedUsers(database.sql);
    const entry = { ...audit, event: "user.changed", userId: id } as const;
    expect(await users.setEnabled(id, false, entry)).toMatchObject({ enabled: false });
    expect(await users.setRole(id, "operator", entry)).toMatchObject({ role: "operator", enabled: false });
    expect((await users.list({ search: "mixed@", role: "operator", enabled: false }, { limit: 5 })).items.map((user) => user.id)).toEqual([
      id,
    ]);
    const trail = auditTrail(database.sql);
    expect((await trail.list({ userId: id, event: "user.changed", since: 0, until: 4e9 }, { limit: 5 })).items).toHaveLength(2);
    const realms = managedRealms(database.sql);
    expect(await realms.change(DEFAULT_REALM, { dynamicRegistrationScopes: ["a", "b"] }, audit)).toMatchObject({
      dynamicRegistrationScopes: ["a", "b"],
    });
    expect(await realms.change(DEFAULT_REALM, { dynamicRegistrationScopes: null }, audit)).toMatchObject({
      dynamicRegistrationScopes: null,
    });
    expect(await realms.change(aNewId(), { dynamicRegistrationScopes: [] }, audit)).toBeUndefined();
    expect(await users.setEnabled("unknown", true, entry)).toBeUndefined();
  });
});
