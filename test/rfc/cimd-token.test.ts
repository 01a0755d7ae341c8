import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { ASSERTION_TYPE, anAssertion, keyFor, type TestKey } from "../support/assertions.ts";
import { PUBLISHED } from "../support/client-documents.ts";
import type { Answer, TestClient } from "../support/flow.ts";
import { type Publisher, publisher } from "../support/publisher.ts";
import { describe, PROVISIONED, startServer, type TestServer } from "../support/server.ts";

const rsa = keyFor("RS256", "r1");
const REDIRECT = PUBLISHED.chatGpt.redirect_uris[0];

let site: Publisher;
let server: TestServer;
let at = 0;
const documents = new Map<string, unknown>();
let served = true;

beforeAll(async () => {
  site = await publisher();
  documents.set("/jwks.json", { keys: [rsa.jwk] });
  site.serve((request, response) => {
    const document = served ? documents.get(request.url ?? "") : undefined;
    if (document === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
  });
  server = await startServer({
    provision: {
      users: PROVISIONED.users,
      clients: [
        {
          clientId: `https://localhost:${site.port}/registered.json`,
          clientSecret: "registered-secret",
          name: "Registered",
          grantTypes: ["client_credentials"],
          scopes: ["notes:read"],
          tokenEndpointAuthMethod: "client_secret_post",
        },
      ],
    },
  });
});
afterAll(async () => {
  await server.close();
  await site.close();
});
beforeEach(() => {
  served = true;
});

/** Publishes a copy of ChatGPT's document at its own URL. */
function published(members: object = {}): TestClient {
  at += 1;
  const path = `/clients/${at}.json`;
  const clientId = `https://localhost:${site.port}${path}`;
  documents.set(path, {
    ...PUBLISHED.chatGptApp,
    redirect_uris: [REDIRECT],
    jwks_uri: `https://localhost:${site.port}/jwks.json`,
    ...members,
    client_id: clientId,
  });
  return { clientId, redirectUri: REDIRECT };
}
const publicClient = () => published({ token_endpoint_auth_method: "none", jwks_uri: undefined });

const assertionBy = ({ clientId }: TestClient, key: TestKey = rsa, claims: object = {}) => ({
  client_assertion_type: ASSERTION_TYPE,
  client_assertion: anAssertion(key, { clientId, audience: server.config.issuer, now: Math.floor(Date.now() / 1000), claims }),
});
const token = (fields: Record<string, string | undefined>): Promise<Answer> => server.form("/oauth/token", fields);
const statusAndError = ({ status, body }: Answer) => [status, body.error];

describe("CIMD and private_key_jwt", () => {
  test("ChatGPT's document: redemption and refresh require an RS256 assertion signed with a key of its jwks_uri", async () => {
    const { browser } = await server.signedInUser();
    const client = published();
    const code = await server.code(client, browser);
    expect(statusAndError(await token({ ...code, client_id: client.clientId }))).toEqual([401, "invalid_client"]);
    expect(statusAndError(await token({ ...code, ...assertionBy(client, keyFor("RS256", "r1")) }))).toEqual([401, "invalid_client"]);
    expect(statusAndError(await token({ ...code, ...assertionBy(client, rsa, { aud: `${server.config.issuer}/oauth/token` }) }))).toEqual([
      401,
      "invalid_client",
    ]);
    const first = await token({ ...code, ...assertionBy(client) });
    expect(first.status).toBe(200);
    const refresh = { grant_type: "refresh_token", refresh_token: first.body.refresh_token };
    expect(statusAndError(await token({ ...refresh, client_id: client.clientId }))).toEqual([401, "invalid_client"]);
    expect((await token({ ...refresh, ...assertionBy(client) })).status).toBe(200);
  });

  test("a document may list the device grant; the grant uses the client as it was at the device's request", async () => {
    const DEVICE_CODE = "urn:ietf:params:oauth:grant-type:device_code";
    const { browser } = await server.signedInUser();
    const [client, without] = [published({ grant_types: ["authorization_code", DEVICE_CODE] }), publicClient()];
    const authorizeDevice = (members: Record<string, string>) =>
      server.form("/oauth/device_authorization", { scope: "notes:read", ...members });
    expect(statusAndError(await authorizeDevice({ client_id: without.clientId }))).toEqual([400, "unauthorized_client"]);
    expect(statusAndError(await authorizeDevice({ client_id: client.clientId }))).toEqual([401, "invalid_client"]);
    const { body } = await authorizeDevice(assertionBy(client));
    served = false;
    const asked = await browser.submit(await browser.follow("/device"), { user_code: body.user_code });
    expect(asked.html).toContain('aria-label="verified"');
    await browser.submit(asked, { decision: "approve" });
    const request = { grant_type: DEVICE_CODE, device_code: body.device_code };
    expect(statusAndError(await token({ ...request, client_id: client.clientId }))).toEqual([401, "invalid_client"]);
    expect((await token({ ...request, ...assertionBy(client) })).status).toBe(200);
  });

  test("explain evaluates the client as it was when the code was issued", async () => {
    const { browser } = await server.signedInUser();
    const client = published();
    const { code_verifier = "", ...code } = await server.code(client, browser);
    const { tokenRequest } = (await operatorAt(server.url)).explain;
    const parameters = { ...code, code_verifier, client_id: client.clientId };
    const taken = await tokenRequest.mutate({ parameters });
    expect(taken.granted).toBeDefined();
    expect(taken.rules.find(({ rule }) => rule === "client_proven")?.verdict).toBe("taken_for_granted");
    const proven = await tokenRequest.mutate({ parameters: { ...parameters, ...assertionBy(client) } });
    expect(new Set(proven.rules.map(({ verdict }) => verdict))).toEqual(new Set(["passed"]));
    const { rules } = await tokenRequest.mutate({ parameters: { ...parameters, code: "another" } });
    expect(rules.find(({ verdict }) => verdict === "refused")).toMatchObject({
      rule: "client_known",
      reason: "nothing_granted_to_document",
      error: "invalid_grant",
    });
    expect((await token({ ...code, code_verifier, ...assertionBy(client) })).status).toBe(200);
  });

  test("docs/protocol.md#metadata-documents: a document that also lists none permits requests without an assertion, and an assertion that is sent is verified", async () => {
    const { browser } = await server.signedInUser();
    const client = published({ token_endpoint_auth_methods_supported: ["none", "private_key_jwt"] });
    const code = await server.code(client, browser);
    expect(statusAndError(await token({ ...code, client_id: client.clientId, ...assertionBy(client, keyFor("RS256", "r1")) }))).toEqual([
      401,
      "invalid_client",
    ]);
    expect((await token({ ...code, ...assertionBy(client) })).status).toBe(200);
    expect((await token({ ...(await server.code(client, browser)), client_id: client.clientId })).status).toBe(200);
  });

  test("docs/protocol.md#metadata-documents: a public client that sends a secret or an assertion is refused", async () => {
    const { browser } = await server.signedInUser();
    const client = publicClient();
    const code = await server.code(client, browser);
    expect(statusAndError(await token({ ...code, client_id: client.clientId, client_secret: "s" }))).toEqual([401, "invalid_client"]);
    expect(statusAndError(await token({ ...code, ...assertionBy(client) }))).toEqual([401, "invalid_client"]);
    expect((await token({ ...code, client_id: client.clientId })).status).toBe(200);
  });
});

describe("CIMD at the token endpoint", () => {
  test("redemption and refresh do not fetch the document", async () => {
    const { browser } = await server.signedInUser();
    const client = publicClient();
    const code = await server.code(client, browser);
    served = false;
    const before = site.connections();
    const first = await server.token(client, code);
    expect(first.status).toBe(200);
    const second = await server.refresh(client, first.body.refresh_token);
    expect(second.status).toBe(200);
    expect((await server.userinfo(first.body.access_token)).status).toBe(403); // no openid, but alive
    expect(site.connections()).toBe(before);
  });

  test("RFC 6749 §4.1.3, abuse 21: another client's code returns invalid_grant and stays valid for its own client", async () => {
    const { browser } = await server.signedInUser();
    const [own, other] = [publicClient(), publicClient()];
    const code = await server.code(own, browser);
    expect(statusAndError(await server.token(other, code))).toEqual([400, "invalid_grant"]);
    expect((await server.token(own, code)).status).toBe(200);
  });

  test("an unknown code or refresh token returns invalid_grant without fetching the document", async () => {
    const client = publicClient();
    const before = site.connections();
    const invented = { grant_type: "authorization_code", code: "x".repeat(43), redirect_uri: REDIRECT, code_verifier: "v".repeat(43) };
    expect(statusAndError(await server.token(client, invented))).toEqual([400, "invalid_grant"]);
    expect(statusAndError(await server.refresh(client, randomBytes(32).toString("hex")))).toEqual([400, "invalid_grant"]);
    expect(statusAndError(await server.token(client, { grant_type: "refresh_token" }))).toEqual([400, "invalid_request"]);
    expect(site.connections()).toBe(before);
  });

  test("a replayed refresh token revokes the family", async () => {
    const { browser } = await server.signedInUser();
    const client = publicClient();
    const { refresh_token } = await server.tokens(client, browser);
    const second = await server.refresh(client, refresh_token);
    expect(statusAndError(await server.refresh(client, refresh_token))).toEqual([400, "invalid_grant"]);
    expect(statusAndError(await server.refresh(client, second.body.refresh_token))).toEqual([400, "invalid_grant"]);
  });

  test("client_credentials returns invalid_client to a client of a metadata document", async () => {
    const client = publicClient();
    expect(statusAndError(await server.token(client, { grant_type: "client_credentials", scope: "notes:read" }))).toEqual([
      401,
      "invalid_client",
    ]);
  });

  test("docs/protocol.md#client-resolution: a client registered with a URL as client_id takes precedence, and its document is not fetched", async () => {
    const clientId = `https://localhost:${site.port}/registered.json`;
    documents.set("/registered.json", { client_id: clientId, client_name: "Document", redirect_uris: [REDIRECT] });
    const before = site.connections();
    const answer = await token({
      grant_type: "client_credentials",
      scope: "notes:read",
      client_id: clientId,
      client_secret: "registered-secret",
    });
    expect(answer.status).toBe(200);
    const page = await server.get(server.authorizeUrl({ clientId, redirectUri: REDIRECT }, { code_challenge: server.pkce().challenge }));
    expect(statusAndError(page)).toEqual([400, "invalid_request"]);
    expect(site.connections()).toBe(before);
  });
});

describe("CIMD_ENABLED=false", () => {
  test("rejects a URL as client_id without fetching it, and the server metadata announces no support", async () => {
    const off = await startServer({ env: { CIMD_ENABLED: "false" } });
    try {
      const client = publicClient();
      const before = site.connections();
      const page = await off.get(off.authorizeUrl(client, { code_challenge: off.pkce().challenge }));
      expect(statusAndError(page)).toEqual([400, "invalid_client"]);
      expect(statusAndError(await off.refresh(client, randomBytes(32).toString("hex")))).toEqual([401, "invalid_client"]);
      expect(site.connections()).toBe(before);
      const metadata = await off.get("/.well-known/oauth-authorization-server");
      expect(metadata.body.client_id_metadata_document_supported ?? false).toBe(false);
    } finally {
      await off.close();
    }
  });
});

describe("CIMD §8.6: HOST=0.0.0.0", () => {
  test("rejects a client_id on loopback without connecting to it", async () => {
    const open = await startServer({ env: { HOST: "0.0.0.0" } });
    try {
      const client = publicClient();
      const before = site.connections();
      const page = await open.get(open.authorizeUrl(client, { code_challenge: open.pkce().challenge }));
      expect(statusAndError(page)).toEqual([400, "invalid_client"]);
      expect(site.connections()).toBe(before);
    } finally {
      await open.close();
    }
  });
});
