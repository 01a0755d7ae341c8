import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { hashSecret } from "../../src/random.ts";
import { clientDirectory } from "../../src/store/clients.ts";
import { eitherScheme } from "../support/challenges.ts";
import { addUser, aNewId, type ManagementFront, managementUsers, startManagement } from "../support/management.ts";

let api: ManagementFront;
let ada: string;
let bob: string;
let operator: string;

beforeAll(async () => {
  api = await startManagement();
  ({ ada, bob, operator } = await managementUsers(api));
});
afterAll(() => api.close());

const json = async (response: Response) => ({ status: response.status, body: await response.json() });
const created = async (members: object = {}, owner = ada) =>
  (await api.call(owner, "POST", "/api/clients/", { name: "Notes", grantTypes: ["authorization_code"], ...members })).json();

const MEMBERS = [
  "clientId",
  "createdAt",
  "description",
  "enabled",
  "environment",
  "grantTypes",
  "id",
  "lastUsedAt",
  "name",
  "redirectUris",
  "requirePkce",
  "responseTypes",
  "scopes",
  "staticApiKeysAllowed",
  "tokenEndpointAuthMethod",
  "updatedAt",
];

describe("POST /api/clients/", () => {
  test("returns 201 with exactly the members of a client and, only this once, the secret", async () => {
    const before = Date.now();
    const { status, body } = await json(
      await api.call(ada, "POST", "/api/clients/", {
        name: "Notes",
        description: null,
        redirectUris: ["https://notes.example.test/cb"],
        scopes: ["openid", "notes:read"],
        grantTypes: ["authorization_code", "refresh_token"],
        responseTypes: ["code"],
        tokenEndpointAuthMethod: "client_secret_post",
      }),
    );
    expect(status).toBe(201);
    expect(Object.keys(body).sort()).toEqual([...MEMBERS, "clientSecret"].sort());
    expect(body).toMatchObject({
      environment: "development",
      staticApiKeysAllowed: true,
      requirePkce: true,
      enabled: true,
      lastUsedAt: null,
    });
    expect(body.createdAt).toBeGreaterThan(before - 2000);
    expect(body.updatedAt).toBe(body.createdAt);
    const again = await (await api.call(ada, "GET", `/api/clients/${body.id}`)).json();
    expect(Object.keys(again).sort()).toEqual(MEMBERS);
  });

  test("requires only a name and fills in the rest", async () => {
    const { status, body } = await json(await api.call(ada, "POST", "/api/clients", { name: "Bare" }));
    expect(status).toBe(201);
    expect(body).toMatchObject({
      description: null,
      redirectUris: [],
      scopes: [],
      grantTypes: ["authorization_code"],
      responseTypes: ["code"],
      tokenEndpointAuthMethod: "client_secret_basic",
    });
  });

  test("returns no secret for public and private_key_jwt clients", async () => {
    expect(await created({ tokenEndpointAuthMethod: "none" })).not.toHaveProperty("clientSecret");
    expect(await created({ tokenEndpointAuthMethod: "private_key_jwt" })).not.toHaveProperty("clientSecret");
  });

  test("counts the characters of a description, not their UTF-16 units", async () => {
    const description = "\u{1f30d}".repeat(2000);
    expect(await json(await api.call(ada, "POST", "/api/clients/", { name: "x", description }))).toMatchObject({
      status: 201,
      body: { description },
    });
  });

  test("derives omitted response types from the grants", async () => {
    expect((await created({ grantTypes: ["client_credentials"] })).responseTypes).toEqual([]);
  });

  test("keeps a response type that none of the grants uses", async () => {
    const client = await created({ grantTypes: ["client_credentials"], responseTypes: ["code"] });
    expect(client).toMatchObject({ grantTypes: ["client_credentials"], responseTypes: ["code"] });
    const patch = { grantTypes: ["refresh_token"], responseTypes: ["code"] };
    expect(await json(await api.call(ada, "PATCH", `/api/clients/${client.id}`, patch))).toMatchObject({ status: 200, body: patch });
  });

  test.for([
    ["no name", {}, "name"],
    ["an empty name", { name: "" }, "name"],
    ["a blank name", { name: " \u00a0\u200b" }, "name"],
    ["a name with a control character", { name: "a\u0007" }, "name"],
    ["a name with a bidirectional control character", { name: "a\u202eb" }, "name"],
    ["a long name", { name: "x".repeat(256) }, "name"],
    ["a long description", { name: "x", description: "x".repeat(2001) }, "description"],
    ["a long description of rare characters", { name: "x", description: "\u{1f30d}".repeat(2001) }, "description"],
    ["no grant", { name: "x", grantTypes: [] }, "grantTypes"],
    ["a grant that only operators may set", { name: "x", grantTypes: ["urn:ietf:params:oauth:grant-type:token-exchange"] }, "grantTypes.0"],
    ["another response type", { name: "x", responseTypes: ["token"] }, "responseTypes.0"],
    ["authorization_code without its response type", { name: "x", responseTypes: [] }, "responseTypes"],
    ["an unknown method", { name: "x", tokenEndpointAuthMethod: "client_secret_jwt" }, "tokenEndpointAuthMethod"],
    [
      "a public client with client_credentials",
      { name: "x", grantTypes: ["client_credentials"], tokenEndpointAuthMethod: "none" },
      "tokenEndpointAuthMethod",
    ],
    ["a malformed scope", { name: "x", scopes: ["a b"] }, "scopes.0"],
    ["a member that only operators may set", { name: "x", isAgent: true }, ""],
    ["keys", { name: "x", jwks: { keys: [] } }, ""],
    ["an environment", { name: "x", environment: "development" }, ""],
    ["a client_id", { name: "x", clientId: "mine" }, ""],
  ] as const)("returns 400 with the path of the invalid member for %s", async ([, body, path]) => {
    const answer = await json(await api.call(ada, "POST", "/api/clients/", body));
    expect([answer.status, answer.body.statusCode, answer.body.error]).toEqual([400, 400, "Bad Request"]);
    expect(answer.body.issues.map((issue: { path: string }) => issue.path)).toContain(path);
    expect(JSON.stringify(answer.body.issues)).not.toMatch(/Invalid|Too|Unrecognized|received/);
  });

  test("returns different messages for malformed and forbidden redirect URIs", async () => {
    const redirectUris = ["nonsense", "https://a.test/#f", "http://a.test/cb"];
    const { body } = await json(await api.call(ada, "POST", "/api/clients/", { name: "x", redirectUris }));
    expect(body.issues).toEqual([
      { path: "redirectUris.0", message: "is not an absolute URI without fragment and wildcard" },
      { path: "redirectUris.1", message: "is not an absolute URI without fragment and wildcard" },
      { path: "redirectUris.2", message: "must be https, or http on localhost, 127.0.0.1 or [::1]" },
    ]);
  });

  test.for([
    "javascript:alert(1)",
    "JaVaScRiPt:alert(1)",
    " https://notes.example.test/cb",
    "https://notes.example.test/\u0001cb",
    "data:text/html,x",
    "http://notes.example.test/cb",
    "https://notes.example.test/cb#f",
    "https://u@notes.example.test/cb",
  ])("abuse 5: the redirect URI %j is refused at creation and at change", async (uri) => {
    expect((await api.call(ada, "POST", "/api/clients/", { name: "x", redirectUris: [uri] })).status).toBe(400);
    const { id } = await created();
    expect((await api.call(ada, "PATCH", `/api/clients/${id}`, { redirectUris: [uri] })).status).toBe(400);
  });

  test("returns 400 for a body that is not a JSON object or contains NUL, and 415 for another media type", async () => {
    for (const body of ["", "{", "[]", "null", '"x"', '{"name":"a\\u0000b"}']) {
      expect((await api.call(ada, "POST", "/api/clients/", body)).status).toBe(400);
    }
    const headers = { authorization: `Bearer ${ada}`, "content-type": "text/plain" };
    expect((await fetch(`${api.url}/api/clients/`, { method: "POST", headers, body: "{}" })).status).toBe(415);
  });

  test("returns 403 for clients:manage, which only operators grant", async () => {
    expect((await api.call(ada, "POST", "/api/clients/", { name: "x", scopes: ["clients:manage"] })).status).toBe(403);
  });
});

describe("PATCH /api/clients/{id}", () => {
  test("changes what is sent and nothing else", async () => {
    const { clientSecret: _, ...before } = await created({ scopes: ["a"] });
    const { status, body } = await json(await api.call(ada, "PATCH", `/api/clients/${before.id}`, { name: "New", enabled: false }));
    expect(status).toBe(200);
    expect(body).toEqual({ ...before, name: "New", enabled: false, updatedAt: body.updatedAt });
  });

  test("validates the merged record, not the patch", async () => {
    const { id } = await created({ redirectUris: ["https://a.example.test/cb"] });
    await api.call(ada, "PATCH", `/api/clients/${id}`, { tokenEndpointAuthMethod: "none" });
    expect((await api.call(ada, "PATCH", `/api/clients/${id}`, { grantTypes: ["client_credentials"] })).status).toBe(400);
    expect((await api.call(ada, "PATCH", `/api/clients/${id}`, { responseTypes: [] })).status).toBe(400);
  });

  test("rejects client_id, secret and members that only operators may set", async () => {
    const { id } = await created();
    for (const patch of [
      { clientId: "x" },
      { clientSecret: "x" },
      { isAgent: true },
      { environment: "production" },
      { audience: ["x"] },
      { jwks: null },
    ]) {
      expect((await api.call(ada, "PATCH", `/api/clients/${id}`, patch)).status).toBe(400);
    }
  });

  test("deletes the secret when the authentication method no longer uses it", async () => {
    const { id, clientId } = await created();
    const directory = clientDirectory(api.database.sql);
    await api.call(ada, "PATCH", `/api/clients/${id}`, { tokenEndpointAuthMethod: "client_secret_post" });
    expect((await directory.byClientId(clientId))?.secretHash).not.toBeNull();
    await api.call(ada, "PATCH", `/api/clients/${id}`, { tokenEndpointAuthMethod: "none" });
    expect((await directory.byClientId(clientId))?.secretHash).toBeNull();
  });

  test("keeps grants that an operator set when the developer changes the others", async () => {
    const exchange = "urn:ietf:params:oauth:grant-type:token-exchange";
    const { id } = await created({ grantTypes: ["client_credentials"] });
    await api.ports.clients.change(
      id,
      { kind: "all" },
      ({ grantTypes, ...rest }) => ({ settings: { ...rest, grantTypes: [...grantTypes, exchange] }, secret: "kept" as const }),
      { event: "client.changed", outcome: "success", actor: { type: "service", id: "test" } },
    );
    const { body } = await json(await api.call(ada, "PATCH", `/api/clients/${id}`, { grantTypes: ["authorization_code"] }));
    expect(body.grantTypes).toEqual(["authorization_code", exchange]);
  });

  test("applies all concurrent changes", async () => {
    const { id } = await created();
    const patches = [
      { name: "N" },
      { description: "D" },
      { scopes: ["s"] },
      { redirectUris: ["https://r.example.test/"] },
      { enabled: false },
    ];
    const answers = await Promise.all(patches.map((patch) => api.call(ada, "PATCH", `/api/clients/${id}`, patch)));
    expect(answers.map(({ status }) => status)).toEqual(patches.map(() => 200));
    expect(await (await api.call(ada, "GET", `/api/clients/${id}`)).json()).toMatchObject(Object.assign({}, ...patches));
  });
});

describe("lists, secrets and deletion of clients", () => {
  test("the list contains the developer's own clients without secrets, with and without a trailing slash", async () => {
    const carol = await addUser(api.database, "carol@example.test");
    const { id } = await created({}, carol);
    for (const path of ["/api/clients", "/api/clients/"]) {
      const { body } = await json(await api.call(carol, "GET", path));
      expect(Object.keys(body)).toEqual(["clients"]);
      expect(body.clients.map((client: { id: string }) => client.id)).toEqual([id]);
      expect(Object.keys(body.clients[0]).sort()).toEqual(MEMBERS);
    }
  });

  test("abuse 34: regenerate-secret replaces the stored hash before it responds", async () => {
    const { id, clientId, clientSecret } = await created();
    const { status, body } = await json(await api.call(ada, "POST", `/api/clients/${id}/regenerate-secret`));
    expect([status, Object.keys(body).sort()]).toEqual([200, [...MEMBERS, "clientSecret"].sort()]);
    expect(body.clientSecret).not.toBe(clientSecret);
    const stored = (await clientDirectory(api.database.sql).byClientId(clientId))?.secretHash;
    expect(Buffer.from(stored ?? [])).toEqual(Buffer.from(hashSecret(body.clientSecret)));
  });

  test("regenerate-secret accepts no body but an empty object", async () => {
    const { id } = await created();
    const post = (body: string, type: string) =>
      fetch(`${api.url}/api/clients/${id}/regenerate-secret`, {
        method: "POST",
        body,
        headers: { authorization: `Bearer ${ada}`, "content-type": type },
      }).then(({ status }) => status);
    expect(await post("{", "application/json")).toBe(400);
    expect(await post('{"a":1}', "application/json")).toBe(400);
    expect(await post("[]", "application/json")).toBe(400);
    expect(await post("a=1", "application/x-www-form-urlencoded")).toBe(415);
    expect(await post("{}", "application/json")).toBe(200);
    expect(await post("", "application/json")).toBe(200);
  });

  test("regenerate-secret returns 400 for a client without a secret", async () => {
    for (const tokenEndpointAuthMethod of ["none", "private_key_jwt"]) {
      const { id } = await created({ tokenEndpointAuthMethod });
      expect((await api.call(ada, "POST", `/api/clients/${id}/regenerate-secret`)).status).toBe(400);
    }
  });

  test("DELETE returns 204, then 404", async () => {
    const { id, clientId } = await created();
    const answer = await api.call(ada, "DELETE", `/api/clients/${id}`);
    expect([answer.status, await answer.text()]).toEqual([204, ""]);
    expect((await api.call(ada, "DELETE", `/api/clients/${id}`)).status).toBe(404);
    expect(await clientDirectory(api.database.sql).byClientId(clientId)).toBeUndefined();
  });

  test("every change writes an audit record with its actor and client", async () => {
    const { id, clientId } = await created();
    await api.call(ada, "PATCH", `/api/clients/${id}`, { name: "x" });
    await api.call(ada, "POST", `/api/clients/${id}/regenerate-secret`);
    await api.call(ada, "DELETE", `/api/clients/${id}`);
    const { items } = await api.ports.auditTrail.list({ clientId }, { limit: 10 });
    expect(items.map(({ event }) => event).sort()).toEqual([
      "client.changed",
      "client.deleted",
      "client.registered",
      "client.secret_replaced",
    ]);
    expect(new Set(items.map(({ actor }) => actor.id))).toEqual(new Set([ada]));
  });
});

describe("refused callers", () => {
  const routes = (id: string): readonly (readonly [string, string, unknown?])[] => [
    ["GET", `/api/clients/${id}`],
    ["PATCH", `/api/clients/${id}`, { name: "Mine" }],
    ["DELETE", `/api/clients/${id}`],
    ["POST", `/api/clients/${id}/regenerate-secret`],
    ["GET", `/api/clients/${id}/api-keys`],
    ["POST", `/api/clients/${id}/api-keys`, { name: "k" }],
    ["DELETE", `/api/clients/${id}/api-keys/${aNewId()}`],
  ];

  test("abuse 65: another developer's client, an unknown id and a malformed id return the same 404", async () => {
    const { id } = await created();
    const foreign = routes(id);
    const unknown = routes(aNewId());
    const malformed = routes("no-such-id");
    const encoded = routes("no-such-id%00");
    for (const [index, [method, path, body]] of foreign.entries()) {
      const answers = [];
      for (const target of [path, unknown[index]?.[1] ?? "", malformed[index]?.[1] ?? ""]) {
        for (const who of target === path ? [bob, operator] : [bob]) answers.push(await json(await api.call(who, method, target, body)));
      }
      expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404]);
      expect(new Set(answers.map((answer) => JSON.stringify(answer.body))).size).toBe(1);
      expect((await api.call(bob, method, encoded[index]?.[1] ?? "", body)).status).toBe(404);
    }
    expect((await api.call(ada, "GET", `/api/clients/${id}`)).status).toBe(200);
  });

  test("every request without a token returns 401 with a bare challenge, whatever the body", async () => {
    for (const [method, path] of [["GET", "/api/clients/"], ["POST", "/api/clients/"], ...routes(aNewId())] as const) {
      const answer = await api.call(undefined, method, path, method === "POST" || method === "PATCH" ? "{" : undefined);
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([401, eitherScheme("http://localhost:3000")]);
      expect(await answer.json()).toMatchObject({ statusCode: 401, error: "Unauthorized" });
    }
  });

  test("abuse 46, 47: a token that is not for this API returns 401 invalid_token", async () => {
    for (const [method, path] of routes(aNewId())) {
      const answer = await api.call("eyJhbGciOiJub25lIn0.e30.", method, path, method === "POST" || method === "PATCH" ? {} : undefined);
      expect([answer.status, answer.headers.get("www-authenticate")]).toEqual([
        401,
        'Bearer realm="http://localhost:3000", error="invalid_token"',
      ]);
    }
  });

  test("other methods return 405, and no response has CORS headers", async () => {
    expect((await api.call(ada, "PUT", `/api/clients/${aNewId()}`, {})).status).toBe(405);
    const headers = { authorization: `Bearer ${ada}`, origin: "https://evil.test" };
    expect((await fetch(`${api.url}/api/clients/`, { headers })).headers.get("access-control-allow-origin")).toBeNull();
  });
});

test("no request of this file causes a fault", () => {
  expect(api.faults).toEqual([]);
});
