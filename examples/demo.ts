import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { aBrowser } from "../test/support/browser.ts";
import { basicAuth, claimsOf, PASSWORD, serverDriver } from "../test/support/flow.ts";
import { kubernetes, type Platform } from "../test/support/workloads.ts";
import { introspectOverGrpc } from "./demo/grpc-introspection.ts";
import { type ServerProcess, startServerProcess } from "./demo/server-process.ts";
import { chapter, expectThat, Surprise, say, shorten } from "./demo/story.ts";
import { actWithoutASecret, DESK_AGENT, workloadRows } from "./demo/without-a-secret.ts";
import { type NotesServer, startNotesServer } from "./mcp-server/server.ts";

const EMAIL = "ada@example.test";
const REDIRECT = "http://127.0.0.1:9876/callback";
const NOTES_SECRET = "only-for-the-tour";
const AGENT_SECRET = "only-for-the-tour-as-well";

/** The operator's file: the notes server, which may introspect the tokens made for it, and agents that may act for users. */
const provisioned = (resource: string, { issuers, client }: ReturnType<typeof workloadRows>) => ({
  workloadIssuers: issuers,
  clients: [
    client,
    {
      clientId: "notes-server",
      clientSecret: NOTES_SECRET,
      name: "Notes server",
      grantTypes: ["client_credentials"],
      tokenEndpointAuthMethod: "client_secret_basic",
      audience: [resource],
    },
    {
      clientId: "summary-agent",
      clientSecret: AGENT_SECRET,
      name: "Summary agent",
      scopes: ["notes:read"],
      grantTypes: ["urn:ietf:params:oauth:grant-type:token-exchange"],
      tokenEndpointAuthMethod: "client_secret_basic",
      isAgent: true,
    },
  ],
});

const callTool = async (resource: string, token: string, name: string, input: Record<string, unknown> = {}) => {
  const client = new Client({ name: "tour", version: "1" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new StreamableHTTPClientTransport(new URL(resource), { requestInit }));
  try {
    return JSON.stringify((await client.callTool({ name, arguments: input })).content);
  } finally {
    await client.close();
  }
};

interface Opened {
  server?: ServerProcess;
  notes?: NotesServer;
  cluster?: Platform;
}

async function tour(directory: string, opened: Opened): Promise<void> {
  chapter("A server on a throw-away directory");
  const notesPort = 20_000 + (process.pid % 20_000);
  const resource = `http://localhost:${notesPort}/mcp`;
  const file = join(directory, "provision.json");
  opened.cluster = await kubernetes();
  const { cluster } = opened;
  writeFileSync(file, JSON.stringify(provisioned(resource, workloadRows(cluster))));
  const server = await startServerProcess({
    DATA_DIR: join(directory, "data"),
    PROVISION_FILE: file,
    DEFAULT_DYNAMIC_REGISTRATION_SCOPES: "openid profile email offline_access notes:read notes:write",
  });
  opened.server = server;
  say(`It listens at ${server.url}, with gRPC at ${server.grpc}.`);
  const talk = serverDriver(server.url, join(directory, "data/outbox"));
  const metadata = (await talk.get("/.well-known/oauth-authorization-server")).body;
  expectThat(metadata.issuer === server.url, "its metadata names it as the issuer", metadata.issuer);

  chapter("Ada signs up and proves her address");
  const browser = aBrowser(server.url);
  const registered = await browser.json("/auth/register", { email: EMAIL, password: PASSWORD });
  expectThat(
    registered.status === 201 && registered.body.emailVerified === false,
    "her account is made, its address still unverified",
    registered.body,
  );
  const verified = await talk.get(`/auth/verify?token=${await talk.verificationToken(EMAIL)}`);
  expectThat(verified.status === 200, "the link in her mail verifies the address", verified.body);
  const login = await browser.json("/auth/login", { email: EMAIL, password: PASSWORD });
  expectThat(login.status === 200, "she signs in", login.body);

  chapter("An agent host registers itself, and an MCP server is guarded");
  const client = await browser.json("/oauth/register", {
    client_name: "Tour agent",
    redirect_uris: [REDIRECT],
    grant_types: ["authorization_code", "refresh_token"],
    token_endpoint_auth_method: "none",
  });
  expectThat(client.status === 201, `it is known as ${client.body.client_id}, a public client`, client.body);
  const agent = { clientId: client.body.client_id as string, redirectUri: REDIRECT };
  opened.notes = await startNotesServer({ issuer: server.url, resource, port: notesPort, dpop: "accepted" });
  const bare = await fetch(resource, { method: "POST", body: "{}", headers: { "content-type": "application/json" } });
  expectThat(bare.status === 401, "the notes server turns it away and says where to go", bare.status);
  say(`WWW-Authenticate: ${bare.headers.get("www-authenticate")}`);

  chapter("Ada consents, and the agent gets tokens for the notes server alone");
  const tokens = await talk.tokens(agent, browser, { scope: "openid notes:read", resource });
  const claims = claimsOf(tokens.access_token);
  expectThat(
    claims.aud === resource && claims.scope === "openid notes:read",
    `the token is for ${claims.aud}, with scope ${claims.scope}`,
    claims,
  );
  say(`access token ${shorten(tokens.access_token)}, refresh token ${shorten(tokens.refresh_token)}, ${tokens.expires_in} seconds`);
  expectThat((await callTool(resource, tokens.access_token, "list_notes")).length > 0, "the notes server answers it");
  const refused = await callTool(resource, tokens.access_token, "add_note", { text: "hello" }).then(
    () => "accepted",
    (error: unknown) => String(error),
  );
  expectThat(refused !== "accepted", "writing a note is refused: the token lacks notes:write");

  chapter("An agent acts on Ada's behalf, and shows it");
  const delegable = await talk.tokens(agent, browser, { scope: "openid notes:read", resource: [resource, "summary-agent"] });
  const summary = { clientId: "summary-agent", secret: AGENT_SECRET, redirectUri: REDIRECT };
  const exchanged = await talk.token(summary, {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: delegable.access_token,
    subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
    resource,
  });
  const delegated = claimsOf(exchanged.body.access_token);
  expectThat(
    delegated.sub === claims.sub && delegated.act.sub === "summary-agent",
    `the new token is Ada's, and says that ${delegated.act.sub} acts for her`,
    exchanged.body,
  );
  expectThat(
    delegated.aud === resource && delegated.scope === "notes:read",
    "it is for the notes server alone, and for reading alone",
    delegated,
  );
  say(`the notes server sees: ${await callTool(resource, exchanged.body.access_token, "who_am_i")}`);
  const wider = await talk.token(summary, {
    grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
    subject_token: delegable.access_token,
    subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
    scope: "notes:write",
  });
  expectThat(wider.body.error === "invalid_scope", "more than Ada gave cannot be had", wider.body);

  chapter("An agent without any secret acts for Ada, and a thief gains nothing");
  const handed = await talk.tokens(agent, browser, { scope: "openid notes:read", resource: [resource, DESK_AGENT] });
  await actWithoutASecret({
    issuer: server.url,
    resource,
    cluster,
    tokenFile: join(directory, "service-account-token"),
    user: claims.sub,
    handed: handed.access_token,
  });

  chapter("The notes server asks what a token is, over HTTP and over gRPC");
  const guard = { clientId: "notes-server", secret: NOTES_SECRET, redirectUri: REDIRECT };
  const http = (await talk.introspect(guard, tokens.access_token)).body;
  expectThat(http.active === true && http.sub === registered.body.id, "over HTTP: active, in Ada's name", http);
  const grpc = await introspectOverGrpc(server.grpc, basicAuth(guard.clientId, guard.secret), tokens.access_token);
  expectThat(grpc.active && grpc.sub === http.sub, "over gRPC: the same", grpc);

  chapter("Refresh tokens rotate, and a stolen one ends the family");
  const next = (await talk.refresh(agent, tokens.refresh_token)).body;
  expectThat(next.refresh_token !== tokens.refresh_token, "a refresh answers a new refresh token");
  const replay = await talk.refresh(agent, tokens.refresh_token);
  expectThat(replay.body.error === "invalid_grant", "the old one, shown again, is refused", replay.body);
  expectThat((await talk.refresh(agent, next.refresh_token)).status === 400, "and the new one died with it");
  expectThat(
    (await talk.introspect(guard, next.access_token)).body.active === false,
    "so did the access tokens: introspection says inactive",
  );

  chapter("Ada signs out");
  const out = await browser.json("/auth/logout", {}, "POST", { authorization: `Bearer ${login.body.access_token}` });
  expectThat(out.body?.message === "Successfully logged out", "her sessions and refresh tokens are over", out.body);
  const after = await talk.form("/oauth/token", {
    grant_type: "refresh_token",
    refresh_token: login.body.refresh_token,
    client_id: "countersign",
  });
  expectThat(after.body.error === "invalid_grant", "her own refresh token is refused from now on", after.body);

  chapter("The server stops");
  expectThat((await server.stop()) === 0, "it finishes what it was doing and exits with 0");
  delete opened.server;
}

const directory = mkdtempSync(join(tmpdir(), "countersign-demo-"));
const opened: Opened = {};
try {
  await tour(directory, opened);
  console.log("\nThat was the tour.");
} catch (error) {
  console.error(error instanceof Surprise ? `\n   ✗ ${error.message}` : error);
  process.exitCode = 1;
} finally {
  await opened.notes?.close();
  await opened.server?.stop();
  await opened.cluster?.close();
  rmSync(directory, { recursive: true, force: true });
}
