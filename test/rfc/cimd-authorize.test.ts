import { createHash } from "node:crypto";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { compose } from "../../src/compose.ts";
import { loadConfig } from "../../src/config.ts";
import { operatorAt } from "../support/admin.ts";
import { keyFor } from "../support/assertions.ts";
import { PUBLISHED } from "../support/client-documents.ts";
import { claimsOf, type TestClient } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { type Publisher, publisher } from "../support/publisher.ts";
import { describe, startServer, type TestServer } from "../support/server.ts";

let site: Publisher;
let server: TestServer;
/** Every test publishes at its own URL, so that no test reads what another left in the cache. */
let at = 0;
let documents: Map<string, unknown>;

beforeAll(async () => {
  site = await publisher();
  documents = new Map();
  server = await startServer();
});
afterAll(async () => {
  await server.close();
  await site.close();
});
beforeEach(() => {
  site.serve((request, response) => {
    const document = documents.get(request.url ?? "");
    if (document === undefined) response.writeHead(404).end();
    else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
  });
});

const address = (path: string) => `https://localhost:${site.port}${path}`;
const REDIRECT = "https://app.client.example.test/cb";

/** Publishes a document and returns the client that it describes. */
function published(members: object = {}, redirectUri = REDIRECT): TestClient {
  at += 1;
  const path = `/clients/${at}.json`;
  const clientId = address(path);
  documents.set(path, { client_name: "Document client", redirect_uris: [REDIRECT], ...members, client_id: clientId });
  return { clientId, redirectUri };
}
const republished = (client: TestClient, members: object) => {
  const path = new URL(client.clientId).pathname;
  documents.set(path, { ...(documents.get(path) as object), ...members });
};

const authorize = (clientId: string, fields: Record<string, string> = {}) =>
  server.get(server.authorizeUrl({ clientId, redirectUri: REDIRECT }, { code_challenge: server.pkce().challenge, ...fields }));

describe("docs/protocol.md#metadata-documents: clients of metadata documents", () => {
  test("the consent page shows the unverified name and the verified host of the client", async () => {
    const { browser } = await server.signedInUser();
    const client = published();
    const page = await browser.follow(server.authorizeUrl(client, { code_challenge: server.pkce().challenge }));
    expect(page.html).toContain("Document client");
    expect(page.html).toMatch(
      /<bdi>[^<]+<\/bdi>, <span class="from">from <span class="host">localhost:\d+<\/span>.<span class="proved" role="img" aria-label="verified">/,
    );
    expect(page.html).not.toContain("not verified");
    expect(page.html).toContain(`localhost:${site.port}`);
    expect(page.html).toContain("app.client.example.test");
  });

  test("a client gets a code, tokens, userinfo and refreshed tokens, limited to the realm's scopes", async () => {
    const { browser, id } = await server.signedInUser();
    const client = published({ grant_types: ["authorization_code", "refresh_token"], scope: "openid notes:read crm:admin" });
    const tokens = await server.tokens(client, browser, { scope: "openid notes:read crm:admin" });
    expect(tokens.scope).toBe("openid notes:read");
    expect(claimsOf(tokens.access_token)).toMatchObject({ sub: id, client_id: client.clientId, aud: client.clientId });
    expect(claimsOf(tokens.id_token).aud).toBe(client.clientId);
    expect((await server.userinfo(tokens.access_token)).body.sub).toBe(id);
    const refreshed = await server.refresh(client, tokens.refresh_token);
    expect([refreshed.status, refreshed.body.scope]).toEqual([200, "openid notes:read"]);
  });

  test("operators see the document of a client that a user allowed something, with its digest", async () => {
    const { browser } = await server.signedInUser();
    const [client, stranger] = [published({ logo_uri: "https://app.client.example.test/logo" }), published()];
    await server.tokens(client, browser);
    await authorize(stranger.clientId);
    const { clients } = await operatorAt(server.url);
    const { versions } = await clients.document.query({ clientId: client.clientId });
    const text = JSON.stringify(documents.get(new URL(client.clientId).pathname));
    const digest = createHash("sha256").update(text).digest("hex");
    expect(versions).toMatchObject([{ version: 1, document: text, digest, size: text.length, until: null, changes: [] }]);
    await expect(clients.document.query({ clientId: stranger.clientId })).rejects.toMatchObject({ data: { error: "not_found" } });
  });

  test("RFC 9126: a client pushes its request, which opens in a browser and gives a code", async () => {
    const { browser, id } = await server.signedInUser();
    const client = published({ require_pushed_authorization_requests: true });
    const { verifier, challenge } = server.pkce();
    const plain = await server.get(server.authorizeUrl(client, { code_challenge: challenge }));
    expect(new URL(plain.headers.get("location") ?? "").searchParams.get("error")).toBe("invalid_request");
    const sent = {
      client_id: client.clientId,
      response_type: "code",
      redirect_uri: REDIRECT,
      scope: "openid",
      code_challenge: challenge,
      code_challenge_method: "S256",
    };
    const other = await server.form("/oauth/par", { ...sent, redirect_uri: "https://other.example.test/cb" });
    expect([other.status, other.body.error]).toEqual([400, "invalid_request"]);
    const pushed = await server.form("/oauth/par", sent);
    expect(pushed.status).toBe(201);
    const asked = await browser.follow(
      `/oauth/authorize?${new URLSearchParams({ client_id: client.clientId, request_uri: pushed.body.request_uri })}`,
    );
    const back = await browser.submit(asked, { decision: "approve" });
    const code = new URL(back.url).searchParams.get("code") ?? "";
    const tokens = await server.token(client, {
      grant_type: "authorization_code",
      code,
      redirect_uri: REDIRECT,
      code_verifier: verifier,
    });
    expect(claimsOf(tokens.body.access_token)).toMatchObject({ sub: id, client_id: client.clientId });
  });

  test("a client whose document names no refresh grant gets no refresh token", async () => {
    const { browser } = await server.signedInUser();
    expect((await server.tokens(published(), browser)).refresh_token).toBeUndefined();
  });

  test.for([
    ["Claude Code", PUBLISHED.claudeCode, "http://localhost:52163/callback"],
    ["Claude Code at 127.0.0.1", PUBLISHED.claudeCode, "http://127.0.0.1:52163/callback"],
    ["VS Code", PUBLISHED.vsCode, "http://127.0.0.1:33418/"],
    ["VS Code on the web", PUBLISHED.vsCode, "https://vscode.dev/redirect"],
    ["opencode", PUBLISHED.openCode, "http://127.0.0.1:19876/callback"],
    ["ChatGPT as a public client", PUBLISHED.chatGpt, "https://chatgpt.com/connector_platform_oauth_redirect"],
  ] as const)("%s gets and refreshes tokens with its published document", async ([, document, redirectUri]) => {
    const { browser } = await server.signedInUser();
    const client = published(document, redirectUri);
    const tokens = await server.tokens(client, browser);
    expect((await server.refresh(client, tokens.refresh_token)).status).toBe(200);
  });

  test("a client_id that differs only in the case of its host returns invalid_client", async () => {
    const client = published();
    const other = client.clientId.replace("localhost", "LOCALHOST");
    const answer = await authorize(other);
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_client"]);
  });
});

describe("consent to clients of metadata documents", () => {
  const isAsked = async (client: TestClient, browser: Awaited<ReturnType<TestServer["signedInUser"]>>["browser"]) => {
    const visit = await browser.follow(server.authorizeUrl(client, { code_challenge: server.pkce().challenge }));
    return visit.html.includes('name="decision"');
  };

  test("is remembered for a client whose redirect URI is an https host", async () => {
    const { browser } = await server.signedInUser();
    const client = published();
    expect(await isAsked(client, browser)).toBe(true);
    await server.tokens(client, browser);
    expect(await isAsked(client, browser)).toBe(false);
  });

  test.for([
    ["a loopback redirect URI", { redirect_uris: ["http://127.0.0.1/cb"] }, "http://127.0.0.1:5000/cb"],
    ["a private-use scheme", { redirect_uris: ["com.example.app:/cb"] }, "com.example.app:/cb"],
    ["a loopback redirect URI beside an https one", { redirect_uris: [REDIRECT, "http://localhost/cb"] }, REDIRECT],
  ] as const)(
    "OAuth 2.1 §7.3.1: is never remembered for a client with %s, which any program could imitate",
    async ([, members, redirectUri]) => {
      const { browser } = await server.signedInUser();
      const client = published(members, redirectUri);
      await server.tokens(client, browser);
      expect(await isAsked(client, browser)).toBe(true);
      const silent = await browser.follow(server.authorizeUrl(client, { code_challenge: server.pkce().challenge, prompt: "none" }));
      expect(new URLSearchParams(silent.url.slice(silent.url.indexOf("?") + 1)).get("error")).toBe("consent_required");
    },
  );

  test.for([
    ["another redirect host requires consent again", { redirect_uris: [REDIRECT, "https://new.example.test/cb"] }, true],
    [
      "another authentication method requires consent again",
      { jwks: { keys: [keyFor("EdDSA", "k").jwk] }, token_endpoint_auth_methods_supported: ["none", "private_key_jwt"] },
      true,
    ],
    ["a new client_name keeps the consent", { client_name: "Renamed" }, false],
    ["another redirect path at the same host keeps the consent", { redirect_uris: [REDIRECT, `${REDIRECT}/two`] }, false],
  ] as const)('CIMD "Changes": %s', async ([, change, asked]) => {
    const { browser } = await server.signedInUser();
    const client = published();
    await server.tokens(client, browser, { scope: "openid notes:read" });
    republished(client, change);
    await withFreshCache(async (fresh) => {
      // Cookies ignore the port, so the user is signed in at the second server too; its redirects lead to the issuer's pages.
      const visit = async (scope: string) => {
        const path = server.authorizeUrl(client, { code_challenge: server.pkce().challenge, scope });
        const location = (await browser.request(new URL(path, fresh).href)).headers.get("location") ?? "";
        expect(location).toMatch(asked ? "/consent" : "code=");
        return !location.startsWith(REDIRECT);
      };
      expect(await visit("openid")).toBe(asked);
      expect(await visit("notes:read")).toBe(asked);
    });
  });
});

/** Runs a second server on the same database, with an empty cache of documents. */
async function withFreshCache(use: (url: string) => Promise<void>): Promise<void> {
  const [port, grpcPort] = [await freePort(), await freePort()];
  const config = loadConfig({
    NODE_ENV: "test",
    PORT: String(port),
    GRPC_PORT: String(grpcPort),
    JWT_ISSUER: server.config.issuer,
    DATA_DIR: server.dataDir,
    LOG_LEVEL: "silent",
    DEFAULT_DYNAMIC_REGISTRATION_SCOPES: server.config.registration.scopes.join(" "),
  });
  const second = await compose(config, "all", { database: server.database });
  try {
    await use(`http://localhost:${port}`);
  } finally {
    await second.close(0);
  }
}

describe("refused client_id URLs and documents", () => {
  const refused = async (clientId: string) => {
    const connections = site.connections();
    const answer = await authorize(clientId);
    expect(answer.headers.get("location")).toBeNull();
    expect([answer.status, answer.body.error]).toEqual([400, "invalid_client"]);
    return { connections: site.connections() - connections };
  };

  test.for([
    ["the scheme http", () => address("/x.json").replace("https:", "http:")],
    ["a fragment", () => `${address("/x.json")}#a`],
    ["a query", () => `${address("/x.json")}?a=1`],
    ["dot segments", () => address("/a/../x.json")],
    ["encoded dot segments", () => address("/a/%2e%2e/x.json")],
    ["no path", () => address("")],
    ["the root path", () => address("/")],
    ["userinfo", () => address("/x.json").replace("localhost", "me@localhost")],
    ["an IPv4 literal", () => address("/x.json").replace("localhost", "127.0.0.1")],
    ["a hexadecimal IPv4 literal", () => address("/x.json").replace("localhost", "0x7f.1")],
    ["an IPv6 literal", () => address("/x.json").replace("localhost", "[::1]")],
    ["a host name with a trailing dot", () => address("/x.json").replace("localhost", "localhost.")],
    ["a host name under .internal", () => address("/x.json").replace("localhost", "metadata.internal")],
    ["the server's own URL", () => `https://localhost:${server.config.port}/x.json`],
  ] as const)("abuse 53: rejects %s without opening a connection", async ([, clientId]) => {
    documents.set("/x.json", { client_id: clientId(), client_name: "x", redirect_uris: [REDIRECT] });
    expect((await refused(clientId())).connections).toBe(0);
  });

  test("abuse 55: rejects a redirect to a valid document", async () => {
    const good = published();
    site.serve((request, response) => {
      const document = documents.get(request.url ?? "");
      if (request.url === "/moved.json") response.writeHead(302, { location: good.clientId }).end();
      else response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
    });
    expect((await refused(address("/moved.json"))).connections).toBe(1);
  });

  test("abuse 55: rejects a document of 5 121 bytes", async () => {
    const client = published();
    const size = JSON.stringify(documents.get(new URL(client.clientId).pathname)).length;
    republished(client, { more: "x".repeat(5_121 - size - ',"more":""'.length) });
    await refused(client.clientId);
  });

  test("abuse 55: rejects a document that arrives at one byte a second", async () => {
    site.serve((_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      const drip = setInterval(() => {
        dripped += 1;
        response.write(" ");
      }, 1_000);
      response.on("close", () => clearInterval(drip));
    });
    let dripped = 0;
    expect((await refused(address("/slow.json"))).connections).toBe(1);
    expect(dripped).toBeLessThanOrEqual(6);
  });

  test("abuse 57: rejects a document with another client_id and does not cache it", async () => {
    const client = published();
    const path = new URL(client.clientId).pathname;
    republished(client, { client_id: `${client.clientId}x` });
    await refused(client.clientId);
    republished(client, { client_id: client.clientId });
    expect((await authorize(client.clientId)).status).toBeLessThan(400);
    expect(documents.has(path)).toBe(true);
  });

  test.for([
    ["a secret", { client_secret: "s" }],
    ["a shared-secret authentication method", { token_endpoint_auth_method: "client_secret_basic" }],
    ["a private key", { jwks: { keys: [{ kty: "OKP", crv: "Ed25519", x: "x", d: "d" }] } }],
    ["private_key_jwt but no keys", { token_endpoint_auth_method: "private_key_jwt" }],
    ["no permitted redirect URI", { redirect_uris: ["javascript:alert(1)"] }],
    ["no name", { client_name: undefined }],
  ] as const)("CIMD §4.1: rejects a document with %s", async ([, members]) => {
    await refused(published(members).clientId);
  });

  const IS_NOT = "The client metadata document is not acceptable: ";
  test.for([
    ["another client_id", { client_id: "https://localhost/other.json" }, "its client_id is not the URL that was sent as client_id."],
    ["a secret", { client_secret: "s" }, "it must not have client_secret."],
    ["no name", { client_name: undefined }, "client_name must be a string."],
    ["one redirect URI that is no list", { redirect_uris: "http://127.0.0.1/cb" }, "redirect_uris must be a list of strings."],
    [
      "plain http beyond this machine",
      { redirect_uris: ["http://app.example.test/cb"] },
      "redirect_uris contains no URI that is permitted: the first must be https on a public host, or http on localhost, 127.0.0.1 or [::1].",
    ],
    [
      "a method with a secret",
      { token_endpoint_auth_method: "client_secret_basic" },
      "token_endpoint_auth_method may be none, private_key_jwt, spiffe_jwt.",
    ],
    ["no keys", { token_endpoint_auth_method: "private_key_jwt" }, "private_key_jwt needs jwks or jwks_uri."],
    ["no code grant", { grant_types: ["client_credentials"] }, "grant_types must have authorization_code."],
  ] as const)("the error about a document with %s says so", async ([, members, fault]) => {
    const { clientId } = published();
    republished({ clientId, redirectUri: REDIRECT }, members);
    expect((await authorize(clientId)).body.error_description).toBe(`${IS_NOT}${fault}`);
  });

  test.for([
    ["404", 404, "application/json", "{}", ": its status is not 200, and redirects are not followed."],
    ["a page", 200, "text/html", "{}", ": its Content-Type is not application/json."],
    ["a comma too many", 200, "application/json", '{"client_name":"x",}', ": it is not valid JSON in UTF-8."],
    ["too much", 200, "application/json", " ".repeat(5_121), ": it has more than 5120 bytes."],
  ] as const)("the error about a URL that answers with %s says so", async ([, status, type, body, fault]) => {
    site.serve((_request, response) => response.writeHead(status, { "content-type": type }).end(body));
    const answer = await authorize(published().clientId);
    expect(answer.body.error_description).toBe(`The client metadata document could not be fetched${fault}`);
  });

  test("what this server can reach is not said", async () => {
    const answer = await authorize("https://localhost:1/client.json");
    expect(answer.body.error_description).toBe("The client metadata document could not be fetched.");
  });

  test.for([
    ["with query", () => `${address("/x.json")}?a=1`],
    ["without path", () => address("/")],
    ["not https", () => address("/x.json").replace("https:", "http:")],
  ] as const)("the error about a client_id that may not be fetched says what is wrong with the URL: %s", async ([fault, clientId]) => {
    const answer = await authorize(clientId());
    expect(answer.body.error_description).toBe(`client_id is not a valid URL of a client metadata document: ${fault}.`);
  });

  test("the error about another port of localhost says which ports go", async () => {
    const { clientId } = published({ redirect_uris: ["http://localhost:3000/cb"] });
    const redirectUri = "http://localhost:51234/cb";
    const answer = await server.get(server.authorizeUrl({ clientId, redirectUri }, { code_challenge: server.pkce().challenge }));
    expect(answer.body.error_description).toBe(
      "redirect_uri is not registered for this client: for localhost the port counts if one is registered; register it without a port, or use 127.0.0.1.",
    );
  });

  test("a redirect_uri that the document does not list returns 400 without a redirect", async () => {
    const { clientId } = published();
    const answer = await server.get(
      server.authorizeUrl({ clientId, redirectUri: "https://evil.example/cb" }, { code_challenge: server.pkce().challenge }),
    );
    expect([answer.status, answer.body.error, answer.headers.get("location")]).toEqual([400, "invalid_request", null]);
  });
});
