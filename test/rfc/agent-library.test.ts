import { type Access, type AgentOptions, agent, clientSecret, privateKey, publicClient, workloadToken } from "@countersign/agent";
import { Client, InsufficientScopeError, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, describe, expect, onTestFinished } from "vitest";
import { startNotesServer } from "../../examples/mcp-server/server.ts";
import { keyFor } from "../support/assertions.ts";
import { aProof, proofKey } from "../support/dpop.ts";
import { claimsOf } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { PROVISIONED, type TestServer, testOn } from "../support/server.ts";
import { smallResource } from "../support/small-resource.ts";
import { gitHub, kubernetes, SERVICE_ACCOUNT, spire } from "../support/workloads.ts";

const key = keyFor("ES256", "k1");
const port = await freePort();
const NOTES = `http://localhost:${port}/mcp`;
const OTHER = "https://other.example.test";
const [cluster, actions, domain] = await Promise.all([kubernetes(), gitHub(), spire()]);
afterAll(() => Promise.all([cluster, actions, domain].map((platform) => platform.close())));

const test = testOn({
  env: { DPOP_NONCE: "on" },
  provision: {
    ...PROVISIONED,
    workloadIssuers: [
      { issuer: cluster.issuer, kind: "kubernetes", allowPrivate: true },
      { issuer: actions.issuer, kind: "oidc", allowPrivate: true },
      { issuer: domain.issuer, kind: "spiffe", bundleEndpoint: `${domain.url}/bundle`, allowPrivate: true },
    ],
    clients: [
      ...PROVISIONED.clients,
      {
        clientId: "desk",
        name: "Desk",
        scopes: ["notes:read"],
        grantTypes: ["client_credentials", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
        tokenEndpointAuthMethod: "workload_jwt",
        workloadIdentities: [
          { issuer: cluster.issuer, subject: SERVICE_ACCOUNT },
          { issuer: actions.issuer, subject: "repo:acme/agents:environment:production" },
          { issuer: domain.issuer, subject: `${domain.issuer}/agents/*` },
        ],
        audience: [NOTES],
      },
      {
        clientId: "summary",
        name: "Summary",
        scopes: ["notes:read", "notes:write"],
        grantTypes: ["client_credentials", "urn:ietf:params:oauth:grant-type:token-exchange"],
        tokenEndpointAuthMethod: "private_key_jwt",
        jwks: { keys: [key.jwk] },
        audience: [NOTES],
        isAgent: true,
      },
    ],
  },
}).extend("notes", { scope: "file" }, async ({ server }, { onCleanup }) => {
  const notes = await startNotesServer({ issuer: server.url, port, dpop: "required", dpopNonce: true });
  onCleanup(notes.close);
  return notes;
});

/** The agent of these tests, and what it sends. */
function summaryAt({ url }: TestServer, options: Partial<Parameters<typeof agent>[0]> = {}) {
  const requests: { readonly url: string; readonly headers: Headers; readonly body: URLSearchParams }[] = [];
  const recording: typeof fetch = (input, init) => {
    const body = init?.body instanceof URLSearchParams ? init.body : new URLSearchParams();
    requests.push({ url: String(input), headers: new Headers(init?.headers), body });
    return fetch(input, init);
  };
  const credential = privateKey(key.privateKey.export({ format: "jwk" }), { kid: "k1" });
  const summary = agent({ issuer: url, clientId: "summary", credential, fetch: recording, ...options });
  return { summary, requests, tokenRequests: () => requests.filter((request) => request.url.endsWith("/oauth/token")) };
}

async function callTool({ fetch }: Access, name: string, input: Record<string, unknown> = {}) {
  const client = new Client({ name: "agent", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(NOTES), { fetch }));
  try {
    const { content } = await client.callTool({ name, arguments: input });
    return JSON.parse(content[0]?.type === "text" ? content[0].text : "");
  } finally {
    await client.close();
  }
}

const userToken = async (server: TestServer, resource: readonly string[], scope = "notes:read notes:write") => {
  const { browser, id } = await server.signedInUser();
  return { id, token: (await server.tokens(server.clients.web, browser, { scope, resource })).access_token as string };
};

describe("an agent at a guarded MCP server that requires bound tokens and nonces", () => {
  test("acts in its own name, knowing nothing but its issuer, with one token for all requests", async ({ server, notes }) => {
    const { summary, requests, tokenRequests } = summaryAt(server);
    const me = { sub: "summary", clientId: "summary", scopes: ["notes:read"], actors: [] };
    expect(await callTool(summary, "who_am_i")).toEqual(me);
    expect(await callTool(summary, "who_am_i")).toEqual(me);
    const [first, second, ...more] = tokenRequests();
    expect([first?.headers.has("dpop"), second?.headers.has("dpop"), more.length]).toEqual([true, true, 0]); // the second has the nonce
    expect(first?.body.get("client_assertion")).not.toBe(second?.body.get("client_assertion"));
    expect(second?.body.get("resource")).toBe(notes.resource);
    const calls = requests.filter(({ url }) => url === NOTES);
    expect(calls.filter(({ headers }) => !headers.has("authorization"))).toHaveLength(1);
    const proofs = calls.map(({ headers }) => headers.get("dpop")).filter((proof) => proof !== null);
    expect([proofs.length > 3, new Set(proofs).size]).toEqual([true, proofs.length]);
  });

  test("RFC 9449: its token is of no use to who copies it", async ({ server, notes }) => {
    const { summary } = summaryAt(server);
    const { value, scheme } = await summary.own({ resource: notes.resource, scope: "notes:read" }).token();
    expect([scheme, typeof claimsOf(value).cnf.jkt]).toEqual(["DPoP", "string"]);
    const thief = proofKey();
    const withProof = (claims: object) => ({
      authorization: `DPoP ${value}`,
      dpop: aProof(thief, { url: NOTES, accessToken: value, claims }),
    });
    const nonce = (await fetch(NOTES, { method: "POST", headers: withProof({}) })).headers.get("dpop-nonce");
    for (const headers of [withProof({ nonce }), { authorization: `Bearer ${value}` }]) {
      const { status, headers: answered } = await fetch(NOTES, { method: "POST", headers });
      expect([status, answered.get("www-authenticate")]).toEqual([401, expect.stringContaining('error="invalid_token"')]);
    }
  });

  test("acts for a user, and asks for more scope when a tool needs it, unless the caller has fixed it", async ({ server, notes }) => {
    const { id, token } = await userToken(server, [notes.resource, "summary"]);
    const { summary } = summaryAt(server);
    const access = summary.onBehalfOf(token);
    expect(await callTool(access, "who_am_i")).toMatchObject({ sub: id, scopes: ["notes:read"], actors: ["summary"] });
    expect(await callTool(access, "add_note", { text: "buy milk" })).toMatchObject({ count: 1 });
    expect(await callTool(access, "who_am_i")).toMatchObject({ scopes: ["notes:read", "notes:write"] });
    const reading = summary.onBehalfOf(token, { resource: notes.resource, scope: "notes:read" });
    await expect(callTool(reading, "add_note", { text: "no" })).rejects.toThrow(InsufficientScopeError);
  });

  test("acts for a user at several resources with one token for all of them, and nowhere else", async ({ server, notes }) => {
    const other = "https://other.example.test/api";
    const { token } = await userToken(server, [notes.resource, other, "summary"]);
    const { summary, tokenRequests } = summaryAt(server);
    const resource: [string, ...string[]] = [notes.resource, other];
    const access = summary.onBehalfOf(token, { resource, scope: "notes:read" });
    resource.push("https://later.example.test"); // the list counts as it was
    expect(await callTool(access, "who_am_i")).toMatchObject({ scopes: ["notes:read"], actors: ["summary"] });
    const { value } = await access.token();
    expect(claimsOf(value).aud).toEqual(expect.arrayContaining([notes.resource, other]));
    expect(new Set(tokenRequests().map(({ body }) => body.getAll("resource").join(" ")))).toEqual(new Set([`${notes.resource} ${other}`]));
    await expect(access.fetch("https://third.example.test/")).rejects.toThrow("is not within");
  });

  test("keeps tokens apart by user, and fetches one for 32 requests at once", async ({ server, notes }) => {
    const [one, other] = [await userToken(server, [notes.resource, "summary"]), await userToken(server, [notes.resource, "summary"])];
    const { summary, tokenRequests } = summaryAt(server);
    await summary.own({ resource: notes.resource, scope: "notes:read" }).token(); // which meets the nonce
    const before = tokenRequests().length;
    const values = await Promise.all(
      Array.from({ length: 32 }, (_, at) => {
        const user = at % 2 === 0 ? one : other;
        return summary.onBehalfOf(user.token, { resource: notes.resource, scope: "notes:read" }).token();
      }),
    );
    expect(new Set(values.map(({ value }) => claimsOf(value).sub))).toEqual(new Set([one.id, other.id]));
    expect(tokenRequests().length - before).toBe(2);
  });

  test("signs its user in with its key", async ({ server, notes }) => {
    const app = agent({ issuer: server.url, clientId: "public-app", credential: publicClient() });
    const { browser, id } = await server.signedInUser();
    const { url, finish } = await app.signIn({
      resource: notes.resource,
      scope: "notes:read",
      redirectUri: server.clients.publicApp.redirectUri,
    });
    expect(new URL(url).searchParams.get("dpop_jkt")).toMatch(/^[\w-]{43}$/);
    const { url: callback } = await browser.submit(await browser.follow(url), { decision: "approve" });
    expect(await callTool(await finish(callback), "who_am_i")).toMatchObject({ sub: id, clientId: "public-app" });
    // The browser may load the callback again; a second redemption would end the grant.
    expect(await callTool(await finish(callback), "who_am_i")).toMatchObject({ sub: id, clientId: "public-app" });
    await expect(finish(callback.replace("state=", "state=x"))).rejects.toMatchObject({ code: "sign_in_invalid" });
  });
});

describe("an agent without a secret", () => {
  test.for<[string, AgentOptions["credential"]]>([
    ["a pod", ({ issuer }) => cluster.token([issuer])],
    ["a workflow", ({ issuer }) => actions.token(issuer)],
    ["a workload of SPIFFE", ({ issuer }) => domain.token(issuer)],
    ["a pod, by its token as the grant", workloadToken(({ issuer }) => cluster.token(issuer), { use: "grant" })],
  ])("gets a bound token in %s", async ([, credential], { server, notes }) => {
    const desk = agent({ issuer: server.url, clientId: "desk", credential });
    const { value, scheme } = await desk.own({ resource: notes.resource, scope: "notes:read" }).token();
    expect([scheme, claimsOf(value)]).toEqual(["DPoP", expect.objectContaining({ sub: "desk", client_id: "desk", aud: NOTES })]);
  });

  test("is refused with a token for another audience", async ({ server }) => {
    const desk = agent({ issuer: server.url, clientId: "desk", credential: () => cluster.token([OTHER]) });
    await expect(desk.own({ resource: NOTES }).token()).rejects.toMatchObject({ code: "invalid_client", status: 401 });
  });
});

test("an identity assertion for another authorization server", async ({ server }) => {
  const { id, token } = await userToken(server, ["summary", OTHER, "https://crm.example.test"]);
  const { summary } = summaryAt(server);
  const request = { token, resource: "https://crm.example.test", scope: "notes:read" };
  const assertion = await summary.assertionFor(OTHER, request);
  expect(claimsOf(assertion)).toMatchObject({ iss: server.url, aud: OTHER, sub: id, client_id: "summary", resource: request.resource });
  await expect(summary.assertionFor("https://third.example.test", request)).rejects.toMatchObject({ code: "invalid_target", status: 400 });
});

test("the access of a user who signed in is renewed by the refresh token", async ({ server }) => {
  const seen = new Set<string>();
  const resource = await smallResource(({ path, authorization = "" }) => {
    if (path.startsWith("/.well-known/")) return { status: 404 };
    seen.add(authorization);
    return seen.size === 1 ? { status: 401, headers: { "www-authenticate": 'Bearer error="invalid_token"' } } : {};
  });
  onTestFinished(resource.close);
  const app = agent({ issuer: server.url, clientId: "public-app", credential: publicClient(), dpop: "required" });
  const { browser } = await server.signedInUser();
  const { redirectUri } = server.clients.publicApp;
  const { url, finish } = await app.signIn({ resource: resource.origin, scope: "notes:read", redirectUri });
  const access = await finish((await browser.submit(await browser.follow(url), { decision: "approve" })).url);
  expect([(await access.fetch(resource.origin)).status, seen.size]).toEqual([200, 2]);
});

describe("errors", () => {
  test("have the code of the authorization server, and no secret", async ({ server }) => {
    const wrong = agent({ issuer: server.url, clientId: "worker", credential: clientSecret("not the secret") });
    const error = await wrong
      .own({ scope: "notes:read" })
      .token()
      .catch((caught: unknown) => caught);
    expect(error).toMatchObject({ name: "AgentError", code: "invalid_client", status: 401, message: expect.stringContaining(server.url) });
    expect(String(error)).not.toContain("not the secret");
    const { token } = await userToken(server, [NOTES]);
    const { summary } = summaryAt(server);
    await expect(summary.onBehalfOf(token, { resource: NOTES }).token()).rejects.toThrow(
      `the token was not handed to this agent: its aud does not name summary. Ask for it with two resource parameters, ${NOTES} and summary`,
    );
  });

  test("say to state the scope of a request that can be sent only once", async ({ server, notes }) => {
    const { summary } = summaryAt(server);
    const request = new Request(notes.resource, { method: "POST", body: "a body" });
    await expect(summary.fetch(request)).rejects.toThrow(/invalid_scope.*; no answer has named the scopes yet: state scope in own\(\)$/);
    await expect(summary.own().token()).rejects.toThrow("state scope in own()");
  });

  test("say which server does not answer; an abort is the caller's own", async ({ server }) => {
    const away = agent({ issuer: "http://127.0.0.1:1", clientId: "a", credential: publicClient() });
    await expect(away.own({}).token()).rejects.toMatchObject({ code: "server_unreachable", message: "http://127.0.0.1:1 does not answer" });
    const { summary } = summaryAt(server);
    await expect(summary.fetch("http://127.0.0.1:1/mcp?secret=1")).rejects.toThrow(/^http:\/\/127\.0\.0\.1:1\/mcp does not answer$/);
    await expect(summary.fetch("http://notes.example/mcp")).rejects.toMatchObject({ code: "wrong_resource" });
    await expect(summary.fetch(NOTES, { signal: AbortSignal.abort(new Error("stop")) })).rejects.toThrow("stop");
  });
});
