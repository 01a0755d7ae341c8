import type { AdminClient } from "@countersign/admin";
import { describe, expect } from "vitest";
import { operatorAt, refusedWith } from "../support/admin.ts";
import { claimsOf, type TestClient } from "../support/flow.ts";
import { PROVISIONED, type TestServer, testOn } from "../support/server.ts";

const NOTES = "https://notes.example.test/mcp";
const MAIL = "https://mail.example.test";
const CALLBACK = "http://127.0.0.1:33418/callback";
const titled = { name: "crm:write", title: { en: "Change customers", de: "Kunden ändern" } };

const test = testOn({
  env: { DEFAULT_DYNAMIC_REGISTRATION_SCOPES: "openid offline_access", LOG_LEVEL: "info" },
  provision: {
    ...PROVISIONED,
    resources: [
      { resource: NOTES, name: "Notes", scopes: [{ name: "crm:read" }, titled], accessTokenLifetime: 60 },
      { resource: `${MAIL}/`, scopes: [{ name: "mail:send" }, { name: "crm:read" }], clients: ["named"] },
    ],
  },
});

async function register(server: TestServer, members: object = {}): Promise<TestClient & { readonly scope: string }> {
  const response = await fetch(`${server.url}/oauth/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      redirect_uris: [CALLBACK],
      grant_types: ["authorization_code", "refresh_token"],
      token_endpoint_auth_method: "none",
      ...members,
    }),
  });
  const { client_id: clientId, scope } = (await response.json()) as { client_id: string; scope: string };
  return { clientId, redirectUri: CALLBACK, scope };
}

describe("docs/protocol.md#resource-records", () => {
  let operator: AdminClient["operator"];
  let client: Awaited<ReturnType<typeof register>>;
  test.beforeAll(async ({ server }) => {
    operator = await operatorAt(server.url);
    client = await register(server);
  });

  test("a registered client gets the scopes that the resource offers to its kind, and the token lifetime of the record", async ({
    server,
  }) => {
    const { browser } = await server.signedInUser();
    const issued = await server.tokens(client, browser, { resource: NOTES, scope: "openid crm:read crm:write mail:send" });
    expect([issued.scope, issued.expires_in]).toEqual(["openid crm:read crm:write", 60]);
    expect(claimsOf(issued.access_token).aud).toBe(NOTES);
    const dropped = server.logged.map((line) => JSON.parse(line)).find(({ event }) => event === "scope_dropped");
    expect(dropped).toMatchObject({ clientId: client.clientId, resource: NOTES, scope: "mail:send", rule: "scope_allowed" });
    expect((await server.authorize(client, browser, { resource: MAIL, scope: "mail:send" })).get("error")).toBe("invalid_scope");
  });

  test("a scope that one resource keeps from the client's kind is in no token for it, whatever other resource is named", async ({
    server,
  }) => {
    const { browser } = await server.signedInUser();
    const code = await server.code(client, browser, { resource: [NOTES, MAIL], scope: "openid crm:read" });
    const { body } = await server.token(client, { ...code, resource: MAIL });
    expect([body.scope, claimsOf(body.access_token).aud]).toEqual(["openid", MAIL]);
  });

  test("a refreshed token has no scope that was removed from the record", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const issued = await server.tokens(client, browser, { resource: NOTES, scope: "crm:read crm:write" });
    await operator.resources.update.mutate({ resource: NOTES, scopes: [titled] });
    const refreshed = await server.token(client, { grant_type: "refresh_token", refresh_token: issued.refresh_token });
    expect([refreshed.status, refreshed.body.scope]).toEqual([200, "crm:write"]);
    await operator.resources.update.mutate({ resource: NOTES, scopes: [{ name: "crm:read" }, titled] });
    const given = { grant_type: "refresh_token", refresh_token: refreshed.body.refresh_token };
    expect((await server.token(client, given)).body.scope).toBe("crm:read crm:write");
  });

  test("a resource that is named ten times hides none that is named after it", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const often = Array.from({ length: 10 }, () => NOTES);
    const code = await server.code(client, browser, { resource: [...often, "web"], scope: "openid crm:read" });
    expect(claimsOf((await server.token(client, code)).body.access_token).aud).toEqual([NOTES, "web"]);
    await operator.resources.update.mutate({ resource: NOTES, enabled: false });
    const others = often.map(() => MAIL);
    const refused = await server.authorize(client, browser, { resource: [...others, NOTES], scope: "openid" });
    expect(refused.get("error")).toBe("invalid_target");
    await operator.resources.update.mutate({ resource: NOTES, enabled: true });
  });

  test("a disabled resource returns invalid_target at authorization and at refresh", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const issued = await server.tokens(client, browser, { resource: NOTES, scope: "crm:read offline_access openid" });
    await operator.resources.update.mutate({ resource: NOTES, enabled: false });
    expect((await server.authorize(client, browser, { resource: NOTES, scope: "openid" })).get("error")).toBe("invalid_target");
    const refreshed = await server.token(client, { grant_type: "refresh_token", refresh_token: issued.refresh_token });
    expect([refreshed.status, refreshed.body.error]).toEqual([400, "invalid_target"]);
    await operator.resources.update.mutate({ resource: NOTES, enabled: true });
  });

  test("another spelling of a resource with a record is invalid_target: servers that compare parsed URIs would take its token", async ({
    server,
  }) => {
    const { browser } = await server.signedInUser();
    await operator.resources.update.mutate({ resource: NOTES, enabled: false });
    for (const resource of ["https://NOTES.example.test/mcp", "https://notes.example.test:443/mcp", "https://notes.example.test/./mcp"])
      expect((await server.authorize(client, browser, { resource, scope: "openid" })).get("error"), resource).toBe("invalid_target");
    await operator.resources.update.mutate({ resource: NOTES, enabled: true });
    expect((await server.authorize(client, browser, { resource: "HTTPS://notes.example.test/mcp", scope: "openid" })).get("error")).toBe(
      "invalid_target",
    );
  });

  test("the consent page shows the name of the resource and the scope titles of the record", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const fields = new URLSearchParams({
      response_type: "code",
      client_id: client.clientId,
      redirect_uri: CALLBACK,
      code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
      code_challenge_method: "S256",
      resource: NOTES,
      scope: "crm:write",
    });
    const { html } = await browser.follow(`/oauth/authorize?${fields}`);
    expect(html).toContain("Notes (notes.example.test/mcp)");
    expect(html).toContain("Change customers");
  });

  test("the server metadata lists the scopes of resources, and registration accepts those that are offered", async ({ server }) => {
    const metadata = await (await fetch(`${server.url}/.well-known/oauth-authorization-server`)).json();
    expect(metadata.scopes_supported).toEqual(["openid", "offline_access", "crm:read", "crm:write", "mail:send"]);
    expect((await register(server, { scope: "openid crm:read mail:send" })).scope).toBe("openid crm:read");
  });

  test("operators create, list, change and remove records, each with an audit record", async () => {
    const resource = "https://files.example.test/";
    const made = await operator.resources.create.mutate({ resource, scopes: [{ name: "files:read" }] });
    expect(made).toMatchObject({ resource: "https://files.example.test", name: "files.example.test", origin: "operator" });
    expect(await refusedWith(operator.resources.create.mutate({ resource: "https://files.example.test" }))).toMatchObject({
      error: "conflict",
    });
    const { resources } = await operator.resources.list.query();
    expect(resources.map((each) => [each.resource, each.origin])).toEqual([
      ["https://files.example.test", "operator"],
      [MAIL, "file"],
      [NOTES, "file"],
    ]);
    await operator.resources.update.mutate({ resource, name: "Files", accessTokenLifetime: 120 });
    expect(await operator.resources.get.query({ resource })).toMatchObject({
      name: "Files",
      accessTokenLifetime: 120,
      scopes: made.scopes,
    });
    await operator.resources.remove.mutate({ resource });
    expect(await refusedWith(operator.resources.get.query({ resource }))).toMatchObject({ error: "not_found" });
    const { records } = await operator.audit.list.query({ limit: 50 });
    const events = records.filter((each) => each.resources?.includes("https://files.example.test")).map(({ event }) => event);
    expect(events.toSorted()).toEqual(["resource.changed", "resource.created", "resource.deleted"]); // may share a millisecond
  });

  test("refuses a record of the issuer, of an insecure URI and with a built-in or repeated scope", async ({ server }) => {
    const create = operator.resources.create;
    for (const input of [
      { resource: server.url },
      { resource: "http://notes.example.test" },
      { resource: "https://x.example.test#here" },
      { resource: "https://x.example.test", scopes: [{ name: "openid" }] },
      { resource: "https://x.example.test", scopes: [{ name: "agent:exec" }] },
      { resource: "https://x.example.test", scopes: [{ name: "a" }, { name: "a" }] },
      { resource: "https://x.example.test", accessTokenLifetime: 0 },
    ])
      expect(await refusedWith(create.mutate(input))).toMatchObject({ error: "invalid_request" });
  });

  test("refuses a record that no client would name, and says how it must be written", async ({ server }) => {
    const written = {
      "https://CRM.example.test:443": "https://crm.example.test",
      "https://crm.example.test/a/../b": "https://crm.example.test/b",
    };
    for (const [resource, proper] of Object.entries(written)) {
      const issue = { path: "resource", message: `must be written ${proper}` };
      expect(await refusedWith(operator.resources.create.mutate({ resource }))).toMatchObject({
        error: "invalid_request",
        issues: [issue],
      });
      const file = { resources: [{ resource }] };
      expect(await refusedWith(operator.provision.mutate(file))).toMatchObject({ issues: [{ message: issue.message }] });
    }
    expect(server.faults()).toEqual([]);
  });

  test("three concurrent creations of one record: exactly one succeeds", async () => {
    const create = () => operator.resources.create.mutate({ resource: "https://race.example.test" });
    const outcomes = await Promise.allSettled([create(), create(), create()]);
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    await operator.resources.remove.mutate({ resource: "https://race.example.test" });
  });

  test("inspect outside of development returns scheme_not_https for a resource on loopback", async () => {
    const found = await operator.resources.inspect.query({ resource: "http://localhost:4000/mcp" });
    expect(found).toMatchObject({ metadata: null, fault: "scheme_not_https", record: null, difference: null });
  });
});

testOn({ env: { REQUIRE_KNOWN_RESOURCES: "true" }, provision: { ...PROVISIONED, resources: [{ resource: NOTES }] } })(
  "REQUIRE_KNOWN_RESOURCES refuses an unknown resource, and accepts a known one and a client",
  async ({ server }) => {
    const { browser } = await server.signedInUser();
    const { web } = server.clients;
    const ask = (resource: string) => server.authorize(web, browser, { resource, scope: "openid" });
    expect((await ask("https://other.example.test")).get("error")).toBe("invalid_target");
    expect((await ask(NOTES)).get("code")).toMatch(/./);
    expect((await ask("agent")).get("code")).toMatch(/./);
  },
);
