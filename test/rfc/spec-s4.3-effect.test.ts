import { createAdminClient } from "@countersign/admin";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { expect } from "vitest";
import { ApiKeyList, ClientList, ClientWithSecret, CreatedApiKey, CreatedClient } from "../../src/front/api/clients.ts";
import { adminAs, operatorAt, refusedWith } from "../support/admin.ts";
import { basicAuth, type TestClient } from "../support/flow.ts";
import { describe, type TestServer, test } from "../support/server.ts";

const RESOURCE = "https://notes.example.test/mcp";
const REDIRECT = "https://mine.example.test/cb";

/** A signed-in developer with a client. */
async function developer(server: TestServer, members: object = {}) {
  const who = await server.signedInUser();
  const token: string = who.login.access_token;
  const admin = createAdminClient({ url: server.url, token });
  const made = await admin.clients.create.mutate({
    name: "Mine",
    redirectUris: [REDIRECT],
    scopes: ["openid", "notes:read", "offline_access"],
    grantTypes: ["authorization_code", "refresh_token", "client_credentials"],
    ...members,
  });
  const client: TestClient = { clientId: made.clientId, secret: made.clientSecret ?? "", redirectUri: REDIRECT };
  return { ...who, token, admin, made, client };
}

const asks = { grant_type: "client_credentials", scope: "notes:read" };
const at = (server: TestServer, bearer: string) => server.get("/api/clients/", { authorization: `Bearer ${bearer}` });

describe("changes take effect before their response", () => {
  test("abuse 34: after regenerate-secret the old secret is refused and the new one accepted", async ({ server }) => {
    const { admin, made, client } = await developer(server);
    expect((await server.token(client, asks)).status).toBe(200);
    const { clientSecret } = await admin.clients.regenerateSecret.mutate({ id: made.id });
    const old = await server.token(client, asks);
    expect([old.status, old.body.error]).toEqual([401, "invalid_client"]);
    expect((await server.token({ ...client, secret: clientSecret }, asks)).status).toBe(200);
  });

  test("of five concurrently regenerated secrets exactly one works", async ({ server }) => {
    const { admin, made, client } = await developer(server);
    const answers = await Promise.all([1, 2, 3, 4, 5].map(() => admin.clients.regenerateSecret.mutate({ id: made.id })));
    const statuses = await Promise.all(
      answers.map(async ({ clientSecret: secret }) => (await server.token({ ...client, secret }, asks)).status),
    );
    expect(statuses.filter((status) => status === 200)).toHaveLength(1);
  });

  test("§5: a scope that is removed from a client is in no refreshed token", async ({ server }) => {
    const { admin, made, client, browser } = await developer(server);
    const tokens = await server.tokens(client, browser, { scope: "openid notes:read" });
    await admin.clients.update.mutate({ id: made.id, patch: { scopes: ["openid"] } });
    const wider = await server.refresh(client, tokens.refresh_token, { scope: "notes:read" });
    expect([wider.status, wider.body.error]).toEqual([400, "invalid_scope"]);
    const refreshed = await server.refresh(client, tokens.refresh_token);
    expect([refreshed.status, refreshed.body.scope]).toEqual([200, "openid"]);
  });

  test("§5: a scope that is removed from a client is in no token for a code that it had before", async ({ server }) => {
    const { admin, made, client, browser } = await developer(server);
    const code = await server.code(client, browser, { scope: "openid notes:read" });
    await admin.clients.update.mutate({ id: made.id, patch: { scopes: ["email"] } });
    const without = await server.token(client, code);
    expect([without.status, without.body.error]).toEqual([400, "invalid_scope"]);
    await admin.clients.update.mutate({ id: made.id, patch: { scopes: ["notes:read"] } });
    const { status, body } = await server.token(client, code);
    expect([status, body.scope, body.id_token]).toEqual([200, "notes:read", undefined]);
  });

  test("§2.2: the first token of a client is its last use, also before its record is sealed", async ({ server }) => {
    const { token, admin, made, client } = await developer(server);
    const used = async (path: string) => (await server.get(`/api/clients/${path}`, { authorization: `Bearer ${token}` })).body;
    expect((await used(made.id)).lastUsedAt).toBeNull();
    const before = Date.now();
    expect((await server.token(client, asks)).status).toBe(200);
    const { lastUsedAt } = await used(made.id);
    expect(Math.abs(lastUsedAt - before)).toBeLessThan(60_000);
    expect((await used("")).clients).toMatchObject([{ id: made.id, lastUsedAt }]);
    await expect.poll(async () => (await admin.clients.list.query({ search: client.clientId })).clients).toMatchObject([{ lastUsedAt }]);
  });

  test("a disabled client is refused, and its tokens are inactive until it is enabled again", async ({ server }) => {
    const { admin, made, client } = await developer(server);
    const { access_token } = (await server.token(client, asks)).body;
    const states = async () => [
      (await server.token(client, asks)).status,
      (await server.introspect(server.clients.agent, access_token)).body.active,
    ];
    await admin.clients.update.mutate({ id: made.id, patch: { enabled: false } });
    expect(await states()).toEqual([401, false]);
    await admin.clients.update.mutate({ id: made.id, patch: { enabled: true } });
    expect((await server.token(client, asks)).status).toBe(200);
    expect((await server.introspect(client, access_token)).body.active).toBe(true);
  });

  test("a deleted client is unknown, and its tokens and consents are revoked", async ({ server }) => {
    const { admin, made, client, browser } = await developer(server);
    const tokens = await server.tokens(client, browser, { scope: "openid offline_access" });
    const own = (await server.token(client, asks)).body.access_token;
    expect((await server.userinfo(tokens.access_token)).status).toBe(200);
    expect((await server.introspect(client, own)).body.active).toBe(true);
    await admin.clients.delete.mutate({ id: made.id });
    expect((await server.userinfo(tokens.access_token)).status).toBe(401);
    expect((await server.refresh(client, tokens.refresh_token)).body.error).toBe("invalid_client");
    const { consents } = (await browser.json("/consents/", undefined, "GET")).body;
    expect(consents).toEqual([]);
    // A new client with the same client_id inherits nothing.
    const { admin: ops } = await adminAs(server.url);
    const again = await ops.operator.clients.create.mutate({ name: "New", clientId: client.clientId, grantTypes: ["refresh_token"] });
    const heir = { ...client, secret: again.clientSecret ?? "" };
    expect((await server.refresh(heir, tokens.refresh_token)).body.error).toBe("invalid_grant");
    expect((await server.userinfo(tokens.access_token)).status).toBe(401);
    expect((await server.introspect(heir, own)).body).toEqual({ active: false });
  });

  test("a client that gets refresh tokens while its user is asked gets no code for what the user was shown", async ({ server }) => {
    const { admin, made, client, browser } = await developer(server, { grantTypes: ["authorization_code"] });
    const { challenge } = server.pkce();
    const page = await browser.follow(server.authorizeUrl(client, { code_challenge: challenge, scope: "notes:read offline_access" }));
    expect(page.html).toContain("For 15 minutes after each sign-in.");
    await admin.clients.update.mutate({ id: made.id, patch: { grantTypes: ["authorization_code", "refresh_token"] } });
    const asked = await browser.submit(page, { decision: "approve" });
    expect(asked.url).toContain("/consent?ask=yes&request=");
    const again = await browser.follow(asked.url);
    expect(again.html).not.toContain("For 15 minutes after each sign-in.");
    expect((await browser.submit(again, { decision: "approve" })).url).toContain(`${REDIRECT}?code=`);
  });

  test("removed grants and redirect URIs are refused", async ({ server }) => {
    const { admin, made, client } = await developer(server);
    await admin.clients.update.mutate({ id: made.id, patch: { grantTypes: ["authorization_code"], redirectUris: [] } });
    expect((await server.token(client, asks)).body.error).toBe("unauthorized_client");
    const { challenge } = server.pkce();
    const answer = await server.get(server.authorizeUrl(client, { code_challenge: challenge }));
    expect([answer.status, answer.headers.get("location")]).toEqual([400, null]);
  });

  test("a disabled user is signed out everywhere", async ({ server }) => {
    const { id, token, login } = await developer(server);
    const { admin: ops } = await adminAs(server.url);
    await ops.operator.users.disable.mutate({ id });
    expect((await at(server, token)).status).toBe(401);
    await ops.operator.users.enable.mutate({ id });
    expect((await at(server, token)).status).toBe(401);
    const refresh = { grant_type: "refresh_token", refresh_token: login.refresh_token, client_id: "countersign" };
    expect((await server.form("/oauth/token", refresh)).body.error).toBe("invalid_grant");
  });
});

describe("the OpenAPI document", () => {
  test("has every route, and responses match its schemas", async ({ server }) => {
    const { paths } = (await server.get("/openapi.json")).body;
    const routes = Object.entries<object>(paths).filter(([path]) => path.startsWith("/api/clients"));
    expect(routes.flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method} ${path}`))).toHaveLength(9);
    const service = "/countersign.introspection.v1.IntrospectionService";
    expect(Object.keys(paths)).toEqual(
      expect.arrayContaining([
        "/health/live",
        "/openapi.json",
        ...["Introspect", "IntrospectBatch", "VerifyApiKey"].map((name) => `${service}/${name}`),
      ]),
    );
    const statuses = (path: string): string[] => Object.keys(paths[path].post.responses);
    for (const path of ["/auth/register", "/auth/login", "/auth/resend-verification"]) {
      expect(statuses(path)).toEqual(expect.arrayContaining(["400", "415", "429"]));
    }
    for (const path of ["/oauth/token", "/oauth/register", "/oauth/revoke", "/api/clients/"]) {
      expect(statuses(path)).toEqual(expect.arrayContaining(["413", "415"]));
    }
    expect(statuses("/oauth/register")).not.toContain("401");
    const { token, made, admin } = await developer(server);
    const key = await admin.apiKeys.create.mutate({ clientId: made.id, key: { name: "k" } });
    const bearer = { authorization: `Bearer ${token}` };
    ClientList().parse((await server.get("/api/clients", bearer)).body);
    ApiKeyList().parse((await server.get(`/api/clients/${made.id}/api-keys`, bearer)).body);
    CreatedClient().parse(made);
    CreatedApiKey().parse(key);
    ClientWithSecret().parse(await admin.clients.regenerateSecret.mutate({ id: made.id }));
  });
});

describe("tokens that the management API accepts", () => {
  test("abuse 46, 47: tokens for a resource or a client, and ID tokens, return 401", async ({ server }) => {
    const { client, browser, token } = await developer(server);
    expect((await at(server, token)).status).toBe(200);
    const bound = await server.tokens(client, browser, { scope: "openid", resource: RESOURCE });
    const unbound = await server.tokens(client, browser, { scope: "openid" });
    const own = (await server.token(client, asks)).body.access_token;
    for (const bearer of [bound.access_token, bound.id_token, unbound.access_token, own]) {
      const answer = await at(server, bearer);
      expect([answer.status, answer.body.statusCode]).toEqual([401, 401]);
      expect((await refusedWith(createAdminClient({ url: server.url, token: bearer }).clients.list.query()))?.error).toBe("invalid_token");
    }
  });

  test("a client with clients:manage may name the service with a root path, and no other client may", async ({ server }) => {
    const scopes = ["openid", "clients:manage"];
    const made = await (await operatorAt(server.url)).clients.create.mutate({
      name: "Manager",
      redirectUris: [REDIRECT],
      scopes,
      grantTypes: ["authorization_code"],
    });
    const manager = { clientId: made.clientId, secret: made.clientSecret ?? "", redirectUri: REDIRECT };
    const { browser, client } = await developer(server);
    const { access_token } = await server.tokens(manager, browser, { resource: `${server.url}/`, scope: scopes.join(" ") });
    expect((await at(server, access_token)).status).toBe(200);
    expect((await server.authorize(client, browser, { resource: `${server.url}/`, scope: "openid" })).get("error")).toBe("invalid_target");
  });

  test("a token that a resource server gets too does not manage clients, and one that is narrowed to the service does", async ({
    server,
  }) => {
    const scopes = ["openid", "offline_access", "clients:manage"];
    const made = await (await operatorAt(server.url)).clients.create.mutate({
      name: "Manager of two",
      redirectUris: [REDIRECT],
      scopes,
      grantTypes: ["authorization_code", "refresh_token"],
    });
    const manager = { clientId: made.clientId, secret: made.clientSecret ?? "", redirectUri: REDIRECT };
    const { browser } = await developer(server);
    const resource = [server.url, "https://notes.example.test/mcp"];
    const both = await server.tokens(manager, browser, { resource, scope: scopes.join(" ") });
    expect((await at(server, both.access_token)).status).toBe(401);
    const fields = { grant_type: "refresh_token", refresh_token: both.refresh_token, resource: server.url };
    const { body } = await server.token(manager, fields);
    expect((await at(server, body.access_token)).status).toBe(200);
  });

  test("a developer is refused operator procedures, and an operator sees the clients of open registration", async ({ server }) => {
    const { admin } = await developer(server);
    const refused = await refusedWith(admin.operator.clients.list.query({}));
    expect(refused).toMatchObject({ error: "forbidden" });
    // Abuse 51
    const registered = await fetch(new URL("/oauth/register", server.url), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        client_name: "Grabby",
        redirect_uris: ["https://grabby.example.test/cb"],
        scope: "openid clients:manage agent:exec",
        token_endpoint_auth_method: "private_key_jwt",
        jwks: { keys: [] },
        jwks_uri: "https://grabby.example.test/jwks",
        is_agent: true,
        environment: "development",
        audience: ["https://crm.example.test/mcp"],
      }),
    });
    expect(registered.status).toBe(201);
    const { client_id: search } = await registered.json();
    const { clients } = await (await operatorAt(server.url)).clients.list.query({ search });
    expect(clients).toHaveLength(1);
    expect(clients[0]).toMatchObject({
      origin: "dynamic",
      ownerId: null,
      environment: null,
      isAgent: false,
      maxAgentMode: null,
      audience: null,
      jwks: null,
      jwksUri: null,
      scopes: ["openid"],
      tokenEndpointAuthMethod: "client_secret_basic",
      staticApiKeysAllowed: false,
    });
  });
});

describe("static API keys at resource servers", () => {
  const verify = async (server: TestServer, key: string, authorization = basicAuth("agent", "agent-secret")) => {
    const answer = await fetch(new URL("/countersign.introspection.v1.IntrospectionService/VerifyApiKey", server.url), {
      method: "POST",
      headers: { "content-type": "application/json", ...(authorization !== "" && { authorization }) },
      body: JSON.stringify({ key }),
    });
    return { status: answer.status, body: await answer.json() };
  };

  test("are verified by VerifyApiKey while the client is in development and the key is not revoked", async ({ server }) => {
    const { admin, made } = await developer(server);
    const { key, id } = await admin.apiKeys.create.mutate({ clientId: made.id, key: { name: "laptop" } });
    const live = { active: true, client_id: made.clientId, key_id: id, scope: "openid notes:read offline_access" };
    expect(await verify(server, key)).toEqual({ status: 200, body: live });
    expect((await admin.apiKeys.list.query({ clientId: made.id })).apiKeys[0]?.lastUsedAt).toBeTypeOf("number");
    const { admin: ops } = await adminAs(server.url);
    await ops.operator.clients.update.mutate({ id: made.id, patch: { environment: "staging" } });
    expect(await verify(server, key)).toEqual({ status: 200, body: { active: false } });
    await ops.operator.clients.update.mutate({ id: made.id, patch: { environment: "development" } });
    expect((await verify(server, key)).body).toEqual(live);
    await admin.apiKeys.revoke.mutate({ clientId: made.id, keyId: id });
    expect(await verify(server, key)).toEqual({ status: 200, body: { active: false } });
  });

  test("are verified over gRPC by a client of the .proto file", async ({ server }) => {
    const { admin, made } = await developer(server);
    const { key, id } = await admin.apiKeys.create.mutate({ clientId: made.id, key: { name: "laptop" } });
    const proto = loadSync("countersign/introspection/v1/introspection.proto", { includeDirs: ["proto"], keepCase: true });
    const loaded = grpc.loadPackageDefinition(proto) as unknown as {
      countersign: { introspection: { v1: { IntrospectionService: grpc.ServiceClientConstructor } } };
    };
    const service = new loaded.countersign.introspection.v1.IntrospectionService(server.grpc, grpc.credentials.createInsecure());
    const ask = (credential?: string) =>
      new Promise<unknown>((resolve) => {
        const metadata = new grpc.Metadata();
        if (credential !== undefined) metadata.set("authorization", credential);
        service.VerifyApiKey?.({ key }, metadata, (error: grpc.ServiceError | null, answer: unknown) => resolve(error?.code ?? answer));
      });
    expect(await ask(basicAuth("agent", "agent-secret"))).toMatchObject({ active: true, client_id: made.clientId, key_id: id });
    expect(await ask()).toBe(grpc.status.UNAUTHENTICATED);
    service.close();
  });

  test("abuse 44: are refused by introspection, userinfo and the token endpoint", async ({ server }) => {
    const { admin, made } = await developer(server);
    const { key } = await admin.apiKeys.create.mutate({ clientId: made.id, key: { name: "laptop" } });
    expect((await server.introspect(server.clients.agent, key)).body).toEqual({ active: false });
    expect((await server.userinfo(key)).status).toBe(401);
    expect((await server.token({ clientId: made.clientId, secret: key, redirectUri: REDIRECT }, asks)).status).toBe(401);
  });

  test("are verified only for confidential clients, and unknown keys are inactive", async ({ server }) => {
    expect((await verify(server, "csk_", "")).status).toBe(401);
    expect((await verify(server, "csk_", basicAuth("agent", "wrong"))).status).toBe(401);
    expect((await verify(server, "csk_", basicAuth("public-app", "x"))).status).toBe(401);
    for (const key of ["rubbish", `csk_${"0".repeat(16)}_${"0".repeat(64)}`])
      expect((await verify(server, key)).body).toEqual({ active: false });
    expect((await verify(server, "")).status).toBe(400);
  });
});
