import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
// @ts-expect-error the package has no types
import Provider from "oidc-provider";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { runText } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";

/** The provider of the npm package, with its own pages for sign-in and consent. */
async function startOidcProvider(redirectUri: string) {
  vi.spyOn(console, "warn").mockImplementation(() => undefined); // the package warns of its development pages
  vi.spyOn(console, "info").mockImplementation(() => undefined);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://localhost:${(server.address() as AddressInfo).port}`;
  const provider = new Provider(url, {
    clients: [{ client_id: "us", client_secret: "a secret: with + and %", redirect_uris: [redirectUri] }],
    claims: { openid: ["sub"], email: ["email", "email_verified"] },
    findAccount: (_ctx: unknown, id: string) => ({
      accountId: id,
      claims: () => ({ sub: id, email: `${id}@acme.test`, email_verified: true }),
    }),
    pkce: { required: () => true },
    cookies: { keys: ["a key of the tests"] },
  });
  server.on("request", provider.callback());
  return { url, close: () => new Promise<void>((resolve) => server.close(() => resolve())) };
}

let server: TestServer;
let sister: TestServer;
let acme: Awaited<ReturnType<typeof startOidcProvider>>;
beforeAll(async () => {
  const port = await freePort();
  const here = `http://localhost:${port}`;
  const client = {
    clientId: "us",
    clientSecret: "sister's secret",
    name: "Us",
    redirectUris: [`${here}/signin/sister/callback`],
    backchannelLogoutUri: `${here}/signin/sister/logout`,
    scopes: ["openid", "email", "profile"],
    grantTypes: ["authorization_code"],
    tokenEndpointAuthMethod: "client_secret_basic",
    environment: "development",
  };
  acme = await startOidcProvider(`${here}/signin/acme/callback`);
  sister = await startServer({ provision: { ...PROVISIONED, clients: [...PROVISIONED.clients, client] } });
  server = await startServer({
    env: { PORT: String(port) },
    provision: {
      connections: [
        { name: "acme", issuer: acme.url, clientId: "us", clientSecret: "a secret: with + and %", domains: ["acme.test"] },
        { name: "sister", issuer: sister.url, clientId: "us", clientSecret: "sister's secret", domains: ["example.test"] },
      ],
    },
  });
});
afterAll(async () => {
  await server.close();
  await sister.close();
  await acme.close();
  vi.restoreAllMocks();
});

test("a user signs in by oidc-provider, whose address comes from its user information", async () => {
  const [here, there] = [aBrowser(server.url), aBrowser(acme.url)];
  const { url } = await here.follow("/signin/acme");
  const login = await there.follow(url);
  const consent = await there.submit(login, { login: "ada", password: "any" });
  const back = await there.submit(consent, { prompt: "consent" });
  const account = await here.follow(back.url.slice(server.url.length));
  expect([account.url, account.html.includes("ada@acme.test")]).toEqual([`${server.url}/account`, true]);
});

test("a user signs in by another Countersign, whose sign-out ends the session here", async () => {
  const user = await sister.signedInUser();
  const here = aBrowser(server.url);
  const { url } = await here.follow("/signin/sister");
  const consent = await user.browser.follow(url);
  const back = await user.browser.submit(consent, { decision: "approve" });
  const account = await here.follow(back.url.slice(server.url.length));
  expect([account.url, account.html.includes(user.email)]).toEqual([`${server.url}/account`, true]);
  await user.browser.json("/auth/logout", {}, "POST", { authorization: `Bearer ${user.login.access_token}` });
  const ended = () =>
    runText(server.database.sql, "select 1 from audit_records where event = 'session.ended' and reason = 'upstream_logout'");
  await expect.poll(ended).not.toEqual([]);
  expect((await here.follow("/account")).url).toContain("/login");
});
