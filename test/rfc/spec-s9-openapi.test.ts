import { expect } from "vitest";
import { z } from "zod";
import { aBrowser } from "../support/browser.ts";
import { startServer, test } from "../support/server.ts";
import { startUpstream } from "../support/upstream.ts";

const documentOf = async (server: { readonly get: (path: string) => Promise<{ readonly body: unknown }> }) =>
  // biome-ignore lint/suspicious/noExplicitAny: looked into member by member, and a wrong guess fails the test.
  (await server.get("/openapi.json")).body as any;

test("the session cookie of the description is the one that a sign-in sets over http", async ({ server }) => {
  const { components } = await documentOf(server);
  expect(components.securitySchemes.session).toMatchObject({ in: "cookie", name: "countersign" });
});

test("the session cookie of the description is the one that a sign-in sets over https", async () => {
  const server = await startServer({ env: { JWT_ISSUER: "https://id.example.test" } });
  try {
    const url = `http://localhost:${server.config.port}`;
    const [email, password] = ["ada@example.test", "correct horse battery staple"];
    const post = (path: string) =>
      fetch(url + path, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ email, password }),
      });
    expect((await post("/auth/register")).status).toBe(201);
    const [cookie = ""] = (await post("/auth/login")).headers.getSetCookie();
    const { components } = await (await fetch(`${url}/openapi.json`)).json();
    expect(components.securitySchemes.session.name).toBe(cookie.split("=")[0]);
  } finally {
    await server.close();
  }
});

const contentTypes = ({ content = {} }: { content?: object } = {}) => Object.keys(content);
const PAGE = { accept: "text/html" };

test("the description lists the page with which GET /auth/verify answers a browser", async ({ server }) => {
  const { responses } = (await documentOf(server)).paths["/auth/verify"].get;
  const { email } = await server.signedInUser({ verified: false });
  const [used, unknown] = [await server.verificationToken(email), "a".repeat(64)];
  for (const [status, token] of [[200, used] as const, [400, unknown] as const]) {
    const answer = await server.get(`/auth/verify?token=${token}`, PAGE);
    expect([answer.status, answer.headers.get("content-type")]).toEqual([status, "text/html; charset=utf-8"]);
    expect(contentTypes(responses[status])).toEqual(["application/json", "text/html"]);
  }
});

test("the description lists the answer to a compressed body of introspection over HTTP", async ({ server }) => {
  const path = "/countersign.introspection.v1.IntrospectionService/Introspect";
  const headers = { "content-type": "application/json", "content-encoding": "gzip" };
  const answer = await fetch(new URL(path, server.url), { method: "POST", headers, body: "{}" });
  const { responses } = (await documentOf(server)).paths[path].post;
  expect([answer.status, Object.keys(responses)]).toEqual([415, expect.arrayContaining(["415"])]);
  expect(answer.headers.get("x-request-id")).toMatch(/-\w+$/);
});

test("the description lists the headers of a redirect, of a challenge and of a refusal to be repeated later", async ({ server }) => {
  const { paths } = await documentOf(server);
  const headersOf = (path: string, method: string, status: number) => Object.keys(paths[path][method].responses[status].headers ?? {});
  const redirect = await server.get(server.authorizeUrl(server.clients.web, { code_challenge: "x".repeat(43) }));
  expect(redirect.headers.has("location")).toBe(true);
  expect(headersOf("/oauth/authorize", "get", redirect.status)).toEqual(["Location"]);
  const challenge = await server.form("/oauth/token", { grant_type: "client_credentials", client_id: "worker", client_secret: "wrong" });
  const [name = ""] = headersOf("/oauth/token", "post", challenge.status);
  expect([challenge.status, name, challenge.headers.has(name)]).toEqual([401, "WWW-Authenticate", true]);
  expect(headersOf("/oauth/token", "post", 429)).toEqual(["Retry-After"]);
  expect(headersOf("/oauth/token", "post", 503)).toEqual(["Retry-After"]);
  expect(headersOf("/oauth/token", "post", 200)).toEqual([]);
});

test("the description lists the 304 of /openapi.json", async ({ server }) => {
  const { headers } = await server.get("/openapi.json");
  const answer = await server.get("/openapi.json", { "if-none-match": headers.get("etag") ?? "" });
  const { responses } = (await documentOf(server)).paths["/openapi.json"].get;
  expect([answer.status, Object.keys(responses)]).toEqual([304, ["200", "304"]]);
});

test("the description names the paths that need no trailing slash", async ({ server }) => {
  const { info, paths } = await documentOf(server);
  const optional: string[] = [];
  for (const path of Object.keys(paths).filter((each) => /.\/$/.test(each)))
    if ((await server.get(path.slice(0, -1))).status === (await server.get(path)).status) optional.push(path);
  expect(optional).toEqual(["/consents/", "/api/clients/"]);
  expect(info.description).toContain("case and a trailing slash matter, except that `/consents/` and `/api/clients/` need none");
});

test.for(["/oauth/token", "/oauth/par", "/oauth/device_authorization"])(
  "the description of POST %s lists the client assertions that it accepts",
  async (path, { server }) => {
    const fields = { grant_type: "client_credentials", client_assertion: "a.b.c", client_assertion_type: "urn:example:unknown" };
    const { status, body } = await server.form(path, fields);
    expect(status).toBe(401);
    const accepted = body.error_description.match(/urn:[a-z0-9:-]+/g);
    expect(accepted).toContain("urn:ietf:params:oauth:client-assertion-type:jwt-bearer");
    const { components, paths } = await documentOf(server);
    const { $ref } = paths[path].post.requestBody.content["application/x-www-form-urlencoded"].schema;
    const { properties } = components.schemas[$ref.split("/").at(-1)];
    expect(properties).toMatchObject({ client_assertion: { type: "string" }, client_assertion_type: { enum: accepted } });
  },
);

test("the claims of a user whose address an upstream provider gave fit the description of UserInfo", async () => {
  const upstream = await startUpstream();
  const client = { clientId: "web", redirectUri: "https://app.example.test/cb" };
  const server = await startServer({
    provision: {
      clients: [
        {
          clientId: client.clientId,
          name: "Notes",
          redirectUris: [client.redirectUri],
          scopes: ["openid", "email"],
          grantTypes: ["authorization_code"],
          tokenEndpointAuthMethod: "none",
        },
      ],
      connections: [
        { name: "acme", title: "Acme", issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret", domains: ["acme.test"] },
      ],
    },
  });
  try {
    const browser = aBrowser(server.url, { accept: "text/html" });
    const email = "jörg!b@acme.test";
    const there = (await browser.follow("/signin/acme")).url;
    await browser.follow(upstream.signIn(there, "jörg", { claims: { email, email_verified: true } }));
    const { access_token } = await server.tokens(client, browser, { scope: "openid email" });
    const { body } = await server.userinfo(access_token);
    expect(body).toMatchObject({ email, email_verified: true });
    const { UserInfo } = (await documentOf(server)).components.schemas;
    expect(z.fromJSONSchema(UserInfo).safeParse(body)).toMatchObject({ success: true });
  } finally {
    await server.close();
    await upstream.close();
  }
});
