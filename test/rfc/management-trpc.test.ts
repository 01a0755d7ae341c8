import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { createAdminClient } from "@countersign/admin";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProvisionFile } from "../../src/management/provision.ts";
import { auditSealer } from "../../src/store/audit-sealer.ts";
import { refusedWith } from "../support/admin.ts";
import { eitherScheme } from "../support/challenges.ts";
import { addUser, aNewId, DEFAULT_REALM, type ManagementFront, managementUsers, startManagement } from "../support/management.ts";

let api: ManagementFront;
let ada: string;
let bob: string;
let operator: string;
const admin = (token: string) => createAdminClient({ url: api.url, token });

beforeAll(async () => {
  api = await startManagement();
  ({ ada, bob, operator } = await managementUsers(api));
});
afterAll(() => api.close());

const created = () => admin(ada).clients.create.mutate({ name: "Notes", grantTypes: ["client_credentials"] });
const EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";

describe("developers", () => {
  test("create, change and delete a client and its API key", async () => {
    const client = await created();
    expect(client.clientSecret).toMatch(/^[\w-]{43}$/);
    const changed = await admin(ada).clients.update.mutate({ id: client.id, patch: { description: "d" } });
    expect(changed.description).toBe("d");
    const key = await admin(ada).apiKeys.create.mutate({ clientId: client.id, key: { name: "laptop" } });
    expect((await admin(key.key).clients.get.query({ id: client.id })).id).toBe(client.id);
    expect((await admin(ada).apiKeys.revoke.mutate({ clientId: client.id, keyId: key.id })).revokedAt).toBeTypeOf("number");
    expect((await admin(ada).clients.regenerateSecret.mutate({ id: client.id })).clientSecret).not.toBe(client.clientSecret);
    await admin(ada).clients.delete.mutate({ id: client.id });
    expect(await refusedWith(admin(ada).clients.get.query({ id: client.id }))).toMatchObject({ error: "not_found", httpStatus: 404 });
  });

  test("get not_found for another developer's client and forbidden for operator procedures", async () => {
    const { id } = await created();
    const foreign = await refusedWith(admin(bob).clients.get.query({ id }));
    expect(foreign).toEqual(await refusedWith(admin(bob).clients.get.query({ id: aNewId() })));
    expect(foreign).toMatchObject({ error: "not_found" });
    for (const refusal of [
      admin(ada).operator.clients.list.query({}),
      admin(ada).operator.users.setRole.mutate({ id: ada, role: "operator" }),
      admin(ada).operator.audit.list.query({}),
      admin(ada).operator.provision.mutate({}),
      admin(ada).operator.previewProvision.mutate({}),
      admin(ada).operator.signingKeys.list.query(),
      admin(ada).operator.signingKeys.withdraw.mutate({ kid: "k" }),
    ].map(refusedWith)) {
      expect(await refusal).toMatchObject({ error: "forbidden", httpStatus: 403 });
    }
  });

  test("get the path of the invalid member", async () => {
    const refusal = await refusedWith(admin(ada).clients.create.mutate({ name: "x", redirectUris: ["http://x.test/"] }));
    expect(refusal).toMatchObject({ error: "invalid_request", httpStatus: 400, issues: [{ path: "redirectUris.0" }] });
    expect(JSON.stringify(refusal)).not.toContain("x.test");
  });
});

test("a client that manages clients for an operator is refused operator procedures", async () => {
  const bearer = { userId: operator.slice(3), clientId: "assistant", scopes: ["server:manage"], role: "operator" } as const;
  const front = await startManagement({ bearers: { judge: async () => bearer } });
  const assistant = createAdminClient({ url: front.url, token: "t" });
  expect(await assistant.clients.list.query()).toEqual({ clients: [] });
  expect(await refusedWith(assistant.operator.users.list.query({}))).toMatchObject({ error: "forbidden" });
  await front.close();
});

describe("tRPC over HTTP", () => {
  const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${api.url}/trpc/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${ada}`, ...headers },
      body: typeof body === "string" ? body : JSON.stringify(body),
    });

  test("each call of a batch has its own result, and a batch of 21 returns 400", async () => {
    const batch = (count: number) => {
      const paths = Array.from({ length: count }, (_, index) => (index === 1 ? "operator.realms.list" : "clients.list")).join(",");
      return fetch(`${api.url}/trpc/${paths}?batch=1&input=%7B%7D`, { headers: { authorization: `Bearer ${ada}` } });
    };
    const answers = await (await batch(20)).json();
    expect(answers.map((answer: object) => "error" in answer)).toEqual(Array.from({ length: 20 }, (_, index) => index === 1));
    const tooMany = await batch(21);
    expect([tooMany.status, tooMany.headers.get("content-type")]).toEqual([400, "application/json"]);
    expect((await tooMany.json()).error).toMatchObject({ message: "A batch holds at most 20 calls.", data: { error: "invalid_request" } });
  });

  test.for([
    ["a caller without a token", () => ({}), 401],
    ["a developer", () => ({ authorization: `Bearer ${ada}` }), 403],
  ] as const)("%s is refused a provisioning file before its body arrives", async ([, credential, status]) => {
    const headers = { "content-type": "application/json", "content-length": 1_000_000, ...credential() };
    const request = httpRequest(`${api.url}/trpc/operator.provision`, { method: "POST", headers });
    request.flushHeaders();
    const [answer] = await once(request, "response");
    request.destroy();
    expect(answer.statusCode).toBe(status);
  });

  test("an operator sends a provisioning file of more than 64 KiB", async () => {
    const answer = await post("operator.provision", " ".repeat(70_000), { authorization: `Bearer ${operator}` });
    expect([answer.status, (await answer.json()).error.message]).toEqual([400, "The body is not valid JSON."]);
  });

  test("lists need no input", async () => {
    for (const path of ["clients", "users", "audit"]) {
      const answer = await fetch(`${api.url}/trpc/operator.${path}.list`, { headers: { authorization: `Bearer ${operator}` } });
      expect([path, answer.status]).toEqual([path, 200]);
    }
  });

  test("a missing token returns 401 with a challenge, an invalid one 401 invalid_token", async () => {
    const bare = await fetch(`${api.url}/trpc/clients.list`);
    expect([bare.status, bare.headers.get("www-authenticate")]).toEqual([401, eitherScheme("http://localhost:3000")]);
    const bad = await fetch(`${api.url}/trpc/clients.list`, { headers: { authorization: "Bearer x" } });
    expect([bad.status, bad.headers.get("www-authenticate")]).toEqual([401, 'Bearer realm="http://localhost:3000", error="invalid_token"']);
    expect((await bad.json()).error.data).toMatchObject({ error: "invalid_token", httpStatus: 401 });
  });

  test("RFC 6750 §3: a malformed Authorization header returns 400 with a challenge, an invalid input 400 without", async () => {
    for (const path of ["/trpc/clients.list", "/api/clients/"]) {
      const malformed = await fetch(`${api.url}${path}`, { headers: { authorization: "Bearer a b" } });
      expect([path, malformed.status, malformed.headers.get("www-authenticate")]).toEqual([
        path,
        400,
        'Bearer realm="http://localhost:3000", error="invalid_request"',
      ]);
    }
    const invalid = await post("clients.create", {}, { authorization: `Bearer ${operator}` });
    expect([invalid.status, invalid.headers.get("www-authenticate")]).toEqual([400, null]);
  });

  test("unsupported media types, codings, sizes, methods and paths return 4xx without a fault", async () => {
    const answers = [
      await post("clients.create", "name=x", { "content-type": "application/x-www-form-urlencoded" }),
      await post("clients.create", "{}", { "content-encoding": "gzip" }),
      await post("clients.create", { name: "x".repeat(70_000) }),
      await post("clients.create", "{"),
      await post("clients.create", '{"name":"a\\u0000"}'),
      await post("clients.create", { name: "x", __proto__x: 1 }),
      await post("clients.list", {}),
      await fetch(`${api.url}/trpc/clients.create?input=%7B%7D`),
      await post("clients.nothing", {}),
      await fetch(`${api.url}/trpc/clients.get?input=%7B`, { headers: { authorization: `Bearer ${ada}` } }),
      await fetch(`${api.url}/trpc/clients.list?access_token=${ada}`),
    ];
    expect(answers.map(({ status }) => status)).toEqual([415, 415, 413, 400, 400, 400, 405, 405, 404, 400, 400]);
    expect(answers.map(({ headers }) => headers.get("allow")).filter((allow) => allow !== null)).toEqual(["GET, HEAD", "POST"]);
    for (const answer of answers) {
      expect(answer.headers.get("cache-control")).toBe("no-store");
      expect(await answer.text()).not.toMatch(/stack|\.ts|node_modules/);
    }
    expect(api.faults).toEqual([]);
  });

  test.for([
    ["%7B", "The input in the query is not valid JSON."],
    ["%22%5Cu0000%22", "The input in the query contains a character that cannot be stored."],
  ])("the input %s of a query is refused as that", async ([input, message]) => {
    const answer = await fetch(`${api.url}/trpc/clients.get?input=${input}`, { headers: { authorization: `Bearer ${ada}` } });
    expect([answer.status, (await answer.json()).error.message]).toEqual([400, message]);
  });

  test("times and texts that the database cannot store return 400 without a fault", async () => {
    const { audit, clients, explain } = admin(operator).operator;
    const beyond = 253_402_300_800_000; // the year 10000
    const refusals = await Promise.all(
      [
        audit.list.query({ since: beyond }),
        audit.list.query({ until: beyond }),
        clients.list.query({ unusedSince: beyond }),
        explain.refusal.query({ requestId: "a\0b" }),
        explain.refusal.query({ requestId: "a\ud800" }),
      ].map(refusedWith),
    );
    for (const refusal of refusals) expect(refusal).toMatchObject({ error: "invalid_request", httpStatus: 400 });
    expect(api.faults).toEqual([]);
  });

  test("a fault is reported once and returns server_error without details", async () => {
    const broken = await startManagement();
    await broken.ports.users.byId(aNewId());
    const faulty = {
      ...broken.ports,
      clients: {
        ...broken.ports.clients,
        ofOwner: async () => {
          throw new Error("the password of the database is hunter2");
        },
      },
    };
    await broken.close();
    const front = await startManagement(faulty);
    const answer = await fetch(`${front.url}/trpc/clients.list`, { headers: { authorization: `Bearer ${ada}` } });
    const text = await answer.text();
    expect([answer.status, JSON.parse(text).error.data.error]).toEqual([500, "server_error"]);
    expect(text).not.toContain("hunter2");
    expect(front.faults).toHaveLength(1);
    expect((await front.call(ada, "GET", "/api/clients/")).status).toBe(500);
    expect(front.faults).toHaveLength(2);
    await front.close();
  });
});

describe("operators", () => {
  const jwks = { keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" }] };

  test("set the members that only operators may set, validated on the merged record", async () => {
    const { id } = await created();
    const ops = admin(operator).operator.clients;
    const patch = {
      environment: "production" as const,
      isAgent: true,
      maxAgentMode: "admin" as const,
      audience: ["https://crm.example.test/mcp", "other-client"],
      jwks,
      grantTypes: ["client_credentials", EXCHANGE] as ("client_credentials" | typeof EXCHANGE)[],
      tokenEndpointAuthMethod: "private_key_jwt" as const,
    };
    expect(await ops.update.mutate({ id, patch })).toMatchObject(patch);
    expect(await ops.get.query({ id })).toMatchObject({ ...patch, origin: "developer", ownerId: ada });
    expect(await refusedWith(ops.update.mutate({ id, patch: { jwksUri: "https://keys.example.test/" } }))).toMatchObject({
      issues: [{ path: "jwksUri" }],
    });
    expect(await ops.update.mutate({ id, patch: { jwks: null, jwksUri: "https://keys.example.test/" } })).toMatchObject({ jwks: null });
    expect(await refusedWith(ops.update.mutate({ id, patch: { tokenEndpointAuthMethod: "none" } }))).toMatchObject({
      error: "invalid_request",
    });
    for (const bad of [
      { jwks: { keys: [{ kty: "oct", k: "c2VjcmV0" }] } },
      { jwks: { keys: [{ kty: "OKP", d: "x" }] } },
      { jwksUri: "http://keys.example.test/" },
      { audience: ["https://a.test/#f"] },
      { audience: [] },
    ]) {
      expect(await refusedWith(ops.update.mutate({ id, patch: bad }))).toMatchObject({ error: "invalid_request", httpStatus: 400 });
    }
    expect((await admin(ada).clients.get.query({ id })).grantTypes).toEqual(["client_credentials", EXCHANGE]);
    expect(await refusedWith(admin(ada).apiKeys.create.mutate({ clientId: id, key: { name: "k" } }))).toMatchObject({ error: "forbidden" });
  });

  test("create clients with any client_id, and get conflict for a duplicate", async () => {
    const ops = admin(operator).operator.clients;
    const input = { name: "CRM", clientId: "urn:example:crm", grantTypes: ["client_credentials" as const], scopes: ["clients:manage"] };
    const made = await ops.create.mutate(input);
    expect(made).toMatchObject({
      clientId: "urn:example:crm",
      origin: "operator",
      environment: null,
      ownerId: null,
      staticApiKeysAllowed: false,
    });
    expect(made.clientSecret).toBeTypeOf("string");
    const taken = { error: "conflict", httpStatus: 409, message: "There is already a client with this client_id." };
    expect(await refusedWith(ops.create.mutate(input))).toMatchObject(taken);
    expect(await refusedWith(ops.create.mutate({ ...input, clientId: "x", ownerId: aNewId() }))).toMatchObject({
      error: "invalid_request",
    });
  });

  test("cannot change or delete built-in clients", async () => {
    const ops = admin(operator).operator.clients;
    const { clients } = await ops.list.query({ origin: "built_in" });
    const id = clients[0]?.id ?? "";
    expect(clients.map(({ clientId }) => clientId)).toEqual(["countersign-console", "countersign-cli", "countersign"]);
    expect(await refusedWith(ops.update.mutate({ id, patch: { enabled: false } }))).toMatchObject({ error: "forbidden" });
    expect(await refusedWith(ops.delete.mutate({ id }))).toMatchObject({ error: "not_found" });
  });

  test("list clients and users by filter and page", async () => {
    const ops = admin(operator).operator;
    const mine = await Promise.all(["Ärger one", "ärger two", "Ärger three"].map((name) => admin(bob).clients.create.mutate({ name })));
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await ops.clients.list.query({ ownerId: bob, search: "GER T", limit: 1, cursor });
      seen.push(...page.clients.map(({ id }) => id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen.sort()).toEqual([mine[1]?.id, mine[2]?.id].sort());
    expect((await ops.clients.list.query({ ownerId: bob, enabled: false })).clients).toEqual([]);
    const { users, nextCursor } = await ops.users.list.query({ search: "BOB@" });
    expect([users.map(({ id }) => id), nextCursor]).toEqual([[bob], null]);
  });

  test("disable and promote users, but not themselves", async () => {
    const ops = admin(operator).operator.users;
    const carol = await addUser(api.database, "carol@example.test");
    expect(await ops.disable.mutate({ id: carol })).toMatchObject({ enabled: false });
    expect(await ops.enable.mutate({ id: carol })).toMatchObject({ enabled: true });
    expect(await ops.setRole.mutate({ id: carol, role: "operator" })).toMatchObject({ role: "operator" });
    const self = operator.slice(3);
    expect(await refusedWith(ops.disable.mutate({ id: self }))).toMatchObject({ error: "conflict" });
    expect(await refusedWith(ops.setRole.mutate({ id: self, role: "developer" }))).toMatchObject({ error: "conflict" });
    expect(await refusedWith(ops.get.query({ id: "unknown" }))).toMatchObject({ error: "not_found" });
  });

  test("get payload_too_large for input that is too long", async () => {
    const long = admin(operator).operator.explain.tokenRequest.mutate({ parameters: { assertion: "a".repeat(100_000) } });
    expect(await refusedWith(long)).toMatchObject({ error: "payload_too_large", httpStatus: 413 });
  });

  test("set the scopes of open registration", async () => {
    const ops = admin(operator).operator.realms;
    const { realms } = await ops.list.query();
    const id = realms[0]?.id ?? "";
    expect(await ops.update.mutate({ id, dynamicRegistrationScopes: ["openid", "notes:read"] })).toMatchObject({
      dynamicRegistrationScopes: ["openid", "notes:read"],
    });
    expect(await ops.update.mutate({ id, dynamicRegistrationScopes: [] })).toMatchObject({ dynamicRegistrationScopes: [] });
    expect(await ops.update.mutate({ id, dynamicRegistrationScopes: null })).toMatchObject({ dynamicRegistrationScopes: null });
    expect(await refusedWith(ops.update.mutate({ id, dynamicRegistrationScopes: ["a b"] }))).toMatchObject({ error: "invalid_request" });
  });

  test("change nothing without an audit record", async () => {
    const ops = admin(operator).operator;
    const named = { realmId: DEFAULT_REALM, resource: "https://same.example.test/mcp" };
    const [issuer, redirectUris] = ["https://platform.example.test", ["https://a.test/", "https://b.test/"]];
    const { id } = await admin(bob).clients.create.mutate({ name: "Same", redirectUris });
    const keyed = await admin(bob).clients.create.mutate({ name: "Keyed", redirectUris });
    await ops.clients.update.mutate({ id: keyed.id, patch: { jwks, tokenEndpointAuthMethod: "private_key_jwt" } });
    await ops.resources.create.mutate({ ...named, name: "Same", scopes: [{ name: "same:read", title: { en: "Read" } }] });
    await ops.connections.create.mutate({ name: "same", issuer: "https://same.example.test", clientId: "us", clientSecret: "s" });
    await ops.workloadIssuers.create.mutate({ issuer, kind: "oidc" });
    await ops.realms.update.mutate({ id: DEFAULT_REALM, dynamicRegistrationScopes: ["openid"] });
    await ops.realms.setBranding.mutate({ id: DEFAULT_REALM, branding: { name: "Acme", accent: "#0044aa" } });
    const calls = [
      () => admin(bob).clients.update.mutate({ id, patch: {} }),
      () => ops.clients.update.mutate({ id, patch: { name: "Same", redirectUris, enabled: true } }),
      () => ops.clients.update.mutate({ id: keyed.id, patch: { jwks } }),
      () => ops.resources.update.mutate({ ...named, scopes: [{ title: { en: "Read" }, name: "same:read" }], enabled: true }),
      () => ops.connections.update.mutate({ name: "same", clientSecret: "s", domains: [] }),
      () => ops.workloadIssuers.update.mutate({ issuer, singleUse: false }),
      () => ops.realms.update.mutate({ id: DEFAULT_REALM, dynamicRegistrationScopes: ["openid"] }),
      () => ops.realms.setRequiredAcr.mutate({ id: DEFAULT_REALM, requiredAcr: null }),
      () => ops.realms.setBranding.mutate({ id: DEFAULT_REALM, branding: { accent: "#0044aa", support: null } }),
      () => ops.users.enable.mutate({ id: bob }),
      () => ops.users.setRole.mutate({ id: bob, role: "developer" }),
    ];
    const shown = await Promise.all(calls.map((call) => call()));
    const since = (await ops.audit.list.query({ limit: 1 })).records[0]?.id;
    for (const [index, call] of calls.entries()) expect(await call()).toEqual(shown[index]);
    const { records } = await ops.audit.list.query({ limit: calls.length + 1 });
    const after = records.slice(
      0,
      records.findIndex(({ id }) => id === since),
    );
    expect(after.map(({ event }) => event)).toEqual([]);
    await ops.realms.update.mutate({ id: DEFAULT_REALM, dynamicRegistrationScopes: null });
    await ops.realms.setBranding.mutate({ id: DEFAULT_REALM, branding: { name: null, accent: null } });
  });

  test("read audit records by filter, newest first", async () => {
    const before = Date.now() - 2000;
    const client = await created();
    await admin(ada).clients.update.mutate({ id: client.id, patch: { enabled: false } });
    const { audit } = admin(operator).operator;
    const { records } = await audit.list.query({ clientId: client.clientId, actorId: ada, outcome: "success", since: before });
    expect(records.map(({ event }) => event)).toEqual(["client.changed", "client.registered"]);
    expect(records[0]).toMatchObject({ actor: { type: "user", id: ada }, depth: 0, actChain: [], ip: "127.0.0.1" });
    expect(records[0]?.at).toBeGreaterThan(before);
    const first = await audit.list.query({ clientId: client.clientId, limit: 1 });
    const second = await audit.list.query({ clientId: client.clientId, limit: 1, cursor: first.nextCursor ?? undefined });
    expect([first.records[0]?.event, second.records[0]?.event, second.nextCursor]).toEqual(["client.changed", "client.registered", null]);
    expect((await audit.list.query({ clientId: client.clientId, until: before })).records).toEqual([]);
  });

  test("read who gave which client what at a resource, and what each change was", async () => {
    const { clients, audit } = admin(operator).operator;
    const payroll = "https://payroll.example.test/mcp";
    const { id, clientId } = await clients.create.mutate({ name: "Agent", grantTypes: ["client_credentials"], scopes: ["notes:read"] });
    await clients.update.mutate({ id, patch: { scopes: ["notes:read", "payroll:read"], audience: [payroll] } });
    await clients.update.mutate({ id, patch: { enabled: false } });
    await clients.update.mutate({ id, patch: { scopes: ["payroll:read"] } });
    await clients.update.mutate({ id, patch: { audience: null, tokenEndpointAuthMethod: "none", grantTypes: ["authorization_code"] } });
    const { records } = await audit.list.query({ clientId });
    expect(records.map(({ event, reason, scope, resources }) => [event, reason, scope, resources])).toEqual([
      ["client.changed", "grantTypes responseTypes tokenEndpointAuthMethod audience secret", "payroll:read", [payroll]],
      ["client.changed", "scopes", "payroll:read", [payroll]],
      ["client.changed", "disabled", undefined, undefined],
      ["client.changed", "scopes audience", "notes:read payroll:read", [payroll]],
      ["client.registered", undefined, "notes:read", undefined],
    ]);
    const named = [records[3]?.id, records[1]?.id, records[0]?.id];
    const inOrder = async () => (await audit.follow.query({ resource: payroll, limit: 10 })).records.map((record) => record.id);
    await auditSealer(api.database.sql, undefined).seal();
    expect(await inOrder()).toEqual(named);
    expect((await audit.list.query({ resource: payroll })).records.map((record) => record.id)).toEqual(named.toReversed());
    expect((await audit.list.query({ resource: payroll, outcome: "failure" })).records).toEqual([]);
    expect((await audit.list.query({ resource: "https://payroll.example.test" })).records).toEqual([]);
  });

  test("find the records of a resource without a path in both spellings", async () => {
    const { clients, audit } = admin(operator).operator;
    const [bare, root] = ["https://root.example.test", "https://root.example.test/"];
    const settings = { name: "Agent", grantTypes: ["client_credentials" as const], scopes: ["notes:read"] };
    for (const resource of [bare, root]) await clients.create.mutate({ ...settings, audience: [resource] });
    await auditSealer(api.database.sql, undefined).seal();
    for (const resource of [bare, root]) {
      const named = [[bare], [root]];
      expect((await audit.follow.query({ resource, limit: 10 })).records.map(({ resources }) => resources)).toEqual(named);
      expect((await audit.list.query({ resource })).records.map(({ resources }) => resources)).toEqual(named.toReversed());
    }
  });

  test("apply a provisioning file", async () => {
    const file: Partial<ProvisionFile> = {
      realms: [{ name: "other" }],
      clients: [{ clientId: "from-file", name: "F", grantTypes: ["client_credentials"], tokenEndpointAuthMethod: "client_secret_basic" }],
    };
    const { provision } = admin(operator).operator;
    expect(await provision.mutate(file)).toMatchObject({ realms: { created: 1 }, clients: { created: 1 } });
    expect(await provision.mutate(file)).toMatchObject({ realms: { unchanged: 1 }, clients: { unchanged: 1 } });
    const { records } = await admin(operator).operator.audit.list.query({ clientId: "from-file" });
    expect(records.map(({ event, actor }) => [event, actor])).toEqual([["client.registered", { type: "user", id: operator.slice(3) }]]);
  });

  test("list the signing keys", async () => {
    expect(await admin(operator).operator.signingKeys.list.query()).toEqual({ signingKeys: [] });
  });
});

test("no request of this file causes a fault", () => {
  expect(api.faults).toEqual([]);
});
