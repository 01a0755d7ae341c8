import { request as httpRequest, type IncomingMessage } from "node:http";
import { gunzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBrowser, type Browser } from "../support/browser.ts";
import { claimsOf } from "../support/flow.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { sha256 } from "../support/wallet.ts";

let server: TestServer;
let operator: Browser;

beforeAll(async () => {
  server = await startServer();
  operator = aBrowser(server.url);
  await operator.submit(await operator.follow("/login"), OPERATOR);
});
afterAll(() => server.close());

const VERIFIER = "v".repeat(43);

const request = (members: Record<string, string> = {}) =>
  `/oauth/authorize?${new URLSearchParams({
    response_type: "code",
    client_id: "countersign-console",
    redirect_uri: `${server.url}/console/callback`,
    scope: "openid email server:manage",
    resource: server.url,
    state: "st",
    code_challenge: sha256(VERIFIER),
    code_challenge_method: "S256",
    prompt: "none",
    ...members,
  })}`;

/** What the console gets for a request of a browser. */
async function answerOf(browser: Browser, members: Record<string, string> = {}): Promise<URL> {
  const response = await browser.request(request(members));
  return new URL(response.headers.get("location") ?? "about:blank");
}

const redeem = (code: string, members: Record<string, string> = {}) =>
  server.form("/oauth/token", {
    grant_type: "authorization_code",
    client_id: "countersign-console",
    redirect_uri: `${server.url}/console/callback`,
    code,
    code_verifier: VERIFIER,
    ...members,
  });

describe("the client of the console", () => {
  test("gets a token for the service alone, without consent, and no refresh token", async () => {
    const answer = await answerOf(operator);
    expect(`${answer.origin}${answer.pathname}`).toBe(`${server.url}/console/callback`);
    const { status, body } = await redeem(answer.searchParams.get("code") ?? "");
    expect(status).toBe(200);
    expect(body.refresh_token).toBeUndefined();
    expect(claimsOf(body.access_token)).toMatchObject({
      aud: server.url,
      client_id: "countersign-console",
      scope: "openid email server:manage",
    });
    const authorization = `Bearer ${body.access_token}`;
    expect((await fetch(`${server.url}/trpc/operator.clients.list`, { headers: { authorization } })).status).toBe(200);
    const signOut = await operator.request("/auth/logout?everywhere=false", { method: "POST", headers: { authorization } });
    expect(signOut.status).toBe(200);
    expect((await answerOf(operator)).searchParams.get("error")).toBe("login_required");
    await operator.submit(await operator.follow("/login"), OPERATOR);
  });

  test.for(["of this browser", "everywhere"])(
    "its tokens end with a sign-out %s, and those of other sessions with the latter alone",
    async (where) => {
      const other = aBrowser(server.url);
      await other.submit(await other.follow("/login"), OPERATOR);
      const tokens = await Promise.all(
        [operator, other].map(
          async (browser) => (await redeem((await answerOf(browser)).searchParams.get("code") ?? "")).body.access_token,
        ),
      );
      const statuses = () =>
        Promise.all(
          tokens.map(async (token) => {
            const headers = { authorization: `Bearer ${token}` };
            return (await fetch(`${server.url}/trpc/operator.clients.list`, { headers })).status;
          }),
        );
      expect(await statuses()).toEqual([200, 200]);
      if (where === "everywhere") await operator.submit(await operator.follow("/account/security"), { everywhere: "yes" });
      else await operator.submit(await operator.follow("/logout"), {});
      expect(await statuses()).toEqual([401, where === "everywhere" ? 401 : 200]);
      await operator.submit(await operator.follow("/login"), OPERATOR);
    },
  );

  test("is sent nowhere but to the console of this server, not even to another port", async () => {
    const { port } = new URL(server.url);
    for (const redirect_uri of [
      server.url.replace(port, String(Number(port) + 1)),
      server.url.replace("localhost", "127.0.0.1"),
      "http://localhost",
      "https://evil.example.test",
    ]) {
      const response = await operator.request(request({ redirect_uri: `${redirect_uri}/console/callback` }));
      expect([response.status, response.headers.get("location")]).toEqual([400, null]);
    }
  });

  test.for([
    ["a token for another server", { resource: "https://notes.example.test/mcp" }, "invalid_target"],
    ["a code without PKCE", { code_challenge: "" }, "invalid_request"],
    ["a scope of other clients", { scope: "agent:exec" }, "invalid_scope"],
  ] as const)("cannot request %s", async ([, members, error]) => {
    expect((await answerOf(operator, members)).searchParams.get("error")).toBe(error);
  });

  test("needs a user who is signed in", async () => {
    expect((await answerOf(aBrowser(server.url))).searchParams.get("error")).toBe("login_required");
  });

  test("cannot be changed, disabled, deleted or created by operators", async () => {
    // Of POST /auth/login: the console itself would first have to prove its user (proof_not_fresh).
    const login = await aBrowser(server.url).json("/auth/login", OPERATOR);
    const authorization = `Bearer ${login.body.access_token}`;
    const call = async (path: string, input: object) => {
      const headers = { authorization, "content-type": "application/json" };
      return (await fetch(`${server.url}/trpc/${path}`, { method: "POST", headers, body: JSON.stringify(input) })).status;
    };
    const id = "00000000-0000-7000-8000-000000000004";
    expect(await call("operator.clients.update", { id, patch: { enabled: false } })).toBe(403);
    expect(await call("operator.clients.delete", { id })).toBe(404);
    const copy = {
      clientId: "countersign-console",
      name: "x",
      grantTypes: ["client_credentials"],
      tokenEndpointAuthMethod: "client_secret_basic",
    };
    expect(await call("operator.clients.create", copy)).toBe(409);
  });
});

describe("the files of the console", () => {
  const page = (path: string, headers: Record<string, string> = {}) => fetch(`${server.url}${path}`, { headers });

  test("each path of a screen has the page, with a policy that permits nothing from elsewhere and a new nonce each time", async () => {
    const pages = await Promise.all(
      ["/console", "/console/clients", "/console/clients/1", "/console/clients/1/keys"].map((path) => page(path)),
    );
    expect(pages.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    const policies = pages.map(({ headers }) => headers.get("content-security-policy") ?? "");
    const nonces = policies.map((policy) => /'nonce-([\w-]+)'/.exec(policy)?.[1] ?? "");
    expect(new Set(nonces).size).toBe(4);
    expect(policies[0]?.replace(nonces[0] ?? "", "N")).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self' 'nonce-N'; connect-src 'self'; img-src 'self' data:; form-action 'none'; frame-ancestors 'none'; base-uri 'none'",
    );
    const html = await pages[0]?.text();
    expect(html).toContain(`nonce="${nonces[0]}"`);
    expect(html).not.toMatch(/<script(?![^>]* src="\/console\/assets\/)/);
    expect(await (await page("/console", { "accept-language": "de" })).text()).toContain('<html lang="de"');
  });

  test("its address with a slash at the end leads to it", async () => {
    const response = await fetch(`${server.url}/console/`, { redirect: "manual" });
    expect([response.status, response.headers.get("location")]).toEqual([302, "/console"]);
  });

  test("an asset is sent in the encoding that the browser takes, to be kept for ever; any other name is 404", async () => {
    const path = /src="([^"]+\.js)"/.exec(await (await page("/console")).text())?.[1] ?? "";
    const raw = async (encoding: string) => {
      const sent = httpRequest(`${server.url}${path}`, { headers: { "accept-encoding": encoding } }).end();
      const response = await new Promise<IncomingMessage>((resolve, reject) => sent.on("response", resolve).on("error", reject));
      const body = Buffer.concat(await response.toArray()); // fetch would decode it
      return { headers: response.headers, encoding: response.headers["content-encoding"], body };
    };
    const [plain, gzip, br] = [await raw("identity"), await raw("gzip"), await raw("gzip, br")];
    expect([plain.encoding, gzip.encoding, br.encoding]).toEqual([undefined, "gzip", "br"]);
    expect(gunzipSync(gzip.body).equals(plain.body)).toBe(true);
    expect(br.headers).toMatchObject({
      "content-type": "text/javascript; charset=utf-8",
      "cache-control": "public, max-age=31536000, immutable",
      vary: "Accept-Encoding",
    });
    const head = await fetch(`${server.url}${path}`, { method: "HEAD" });
    expect([head.status, await head.text()]).toEqual([200, ""]);
    for (const missing of ["/console/assets/none.js", "/console/assets", "/console/assets/a/b", "/console/assets/..%2findex.html"])
      expect((await page(missing)).status).toBe(404);
    expect((await fetch(`${server.url}/console`, { method: "POST" })).status).toBe(405);
  });
});
