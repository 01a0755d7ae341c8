import { spawn } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { blocksOf, commandsOf, filled } from "../support/documents.ts";
import { aProof, proofKey } from "../support/dpop.ts";
import { basicAuth, PASSWORD } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { scratch, unpack } from "../support/packed.ts";
import { until } from "../support/processes.ts";
import { startServer, type TestServer } from "../support/server.ts";

const DOCUMENT = "docs/clients/web-applications.md";
const [webPort, apiPort] = [await freePort(), await freePort()];
const home = `http://localhost:${webPort}/`;
const api = `http://localhost:${apiPort}`;
const here = { "http://localhost:8080/": home, "http://localhost:4200": api };
const { dir, remove } = scratch();
const groups = new Set<number>();

/** Starts a command of the document, and waits for the address that it prints. */
async function start(command: string, ready: string): Promise<void> {
  const child = spawn(command, { cwd: dir, shell: true, detached: true, stdio: ["ignore", "pipe", "pipe"] });
  groups.add(child.pid ?? 0);
  child.on("exit", () => groups.delete(child.pid ?? 0));
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (said += text));
  await until(`${command} is ready`, async () => said.includes(ready)).catch(() => expect.fail(said));
}

let server: TestServer;
beforeAll(async () => {
  const blocks = blocksOf(DOCUMENT);
  const provision = JSON.parse(filled(blocks.find(({ language }) => language === "json")?.code ?? "", here));
  server = await startServer({ provision, env: { ACCESS_TOKEN_TTL: "20" } }); // so short that web.mjs refreshes it at each request
  const [install = "", startApi = "", startWeb = ""] = commandsOf(DOCUMENT, "a-client-and-an-api");
  await unpack(dir, {}, install.split(" ").slice(2));
  const addresses = {
    ...here,
    "http://localhost:3000": server.url,
    "listen(8080": `listen(${webPort}`,
    "listen(4200": `listen(${apiPort}`,
  };
  for (const { name, code } of blocks) {
    if (name === undefined) continue;
    const present = Object.entries(addresses).filter(([from]) => code.includes(from));
    writeFileSync(join(dir, name), filled(code, Object.fromEntries(present)));
  }
  await Promise.all([start(startApi, api), start(startWeb, home)]);
});
afterAll(async () => {
  for (const group of groups) process.kill(-group, "SIGKILL");
  await server.close();
  remove();
});

test("the web application signs a user in by the pages, calls the API, refreshes once for two requests and signs the user out", async () => {
  const { email, id } = await server.signedInUser();
  const [app, issuer] = [aBrowser(home), aBrowser(server.url)];
  const signIn = await issuer.follow((await app.follow("/")).url);
  const consent = await issuer.submit(signIn, { email, password: PASSWORD });
  expect(consent.html).toContain("Read your orders");
  const callback = await issuer.submit(consent, { decision: "approve" });
  const shown = { user: email, orders: [{ owner: id, item: "milk" }] };
  expect(JSON.parse((await app.follow(callback.url)).html)).toEqual(shown);
  const twice = await Promise.all([app.follow("/"), app.follow("/")]);
  expect(twice.map(({ html }) => JSON.parse(html))).toEqual([shown, shown]);
  expect((await issuer.follow((await app.follow("/logout")).url)).url).toBe(home);
  expect((await issuer.follow((await app.follow("/")).url)).html).toContain('name="password"');
});

test("the web application knows a user whose address is not confirmed by the subject", async () => {
  const { email, id } = await server.signedInUser({ verified: false });
  const [app, issuer] = [aBrowser(home), aBrowser(server.url)];
  const signIn = await issuer.follow((await app.follow("/")).url);
  const consent = await issuer.submit(signIn, { email, password: PASSWORD });
  const callback = await issuer.submit(consent, { decision: "approve" });
  expect(JSON.parse((await app.follow(callback.url)).html)).toEqual({ user: id, orders: [{ owner: id, item: "milk" }] });
});

test("the API refuses requests without a token, with a token for another audience, that is bound to a key or that lacks the scope", async () => {
  const client = { clientId: "orders-web", secret: "only-for-trying-out-on-your-own-machine", redirectUri: `${home}callback` };
  const { browser } = await server.signedInUser();
  const ask = async (token?: string) => {
    const answer = await fetch(`${api}/orders`, { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } });
    return [answer.status, answer.headers.get("www-authenticate")];
  };
  const tokenFor = async (fields: Record<string, string>) => (await server.tokens(client, browser, fields)).access_token;
  expect(await ask()).toEqual([401, "Bearer"]);
  expect(await ask("x")).toEqual([401, 'Bearer error="invalid_token"']);
  expect(await ask(await tokenFor({ scope: "openid orders:read" }))).toEqual([401, 'Bearer error="invalid_token"']);
  const code = await server.code(client, browser, { scope: "openid orders:read", resource: api });
  const headers = {
    authorization: basicAuth(client.clientId, client.secret),
    dpop: aProof(proofKey(), { url: `${server.url}/oauth/token` }),
  };
  const bound = await server.form("/oauth/token", code, headers);
  expect([bound.body.token_type, ...(await ask(bound.body.access_token))]).toEqual(["DPoP", 401, 'Bearer error="invalid_token"']);
  const missing = [403, 'Bearer error="insufficient_scope", scope="orders:read"'];
  expect(await ask(await tokenFor({ scope: "openid email", resource: api }))).toEqual(missing);
  expect(await ask(await tokenFor({ scope: "openid orders:read", resource: api }))).toEqual([200, null]);
});
