import { generateKeyPairSync, randomBytes } from "node:crypto";
import { join } from "node:path";
import { decodeJwt } from "jose";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { firstOperatorLink } from "../../src/accounts/registration.ts";
import { invitations } from "../../src/store/invitations.ts";
import { openPage, startChromium } from "../support/chromium.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { smallResource } from "../support/small-resource.ts";

// From an empty database, in the order in which it happens: each test goes on where the one before it ended.

const privateKey = () => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();

let browser: Awaited<ReturnType<typeof startChromium>>;
let server: TestServer;
let notes: Awaited<ReturnType<typeof smallResource>>;
let view: Awaited<ReturnType<typeof openPage>>;
/** The developer's window, and another one that stays on Home. */
let page: Page;
let home: Page;

beforeAll(async () => {
  const env = { NODE_ENV: "development", JWT_PRIVATE_KEY: privateKey(), JWT_PREVIOUS_PRIVATE_KEY: privateKey() };
  [browser, server] = await Promise.all([startChromium(), startServer({ env, provision: { users: [], clients: [] } })]);
  notes = await smallResource((_, origin) => ({
    json: {
      resource: `${origin}/mcp`,
      resource_name: "Notes",
      authorization_servers: [server.url],
      scopes_supported: ["notes:read", "notes:write"],
    },
  }));
  view = await openPage(browser, { viewport: { width: 1280, height: 900 } });
  page = view.page;
  home = await page.context().newPage();
});
afterAll(async () => {
  await view.close();
  await browser.close();
  await Promise.all([server.close(), notes.close()]);
});

/** `npm run screenshots` sets a folder, in which docs/console.md finds its pictures. */
const PICTURES = process.env.SCREENSHOTS_DIR;

const heading = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();
const button = (name: string) => page.getByRole("button", { name, exact: true });
const region = (name: string) => page.getByRole("region", { name, exact: true });
const step = (of: Page, name: string, state: string) =>
  of.getByRole("listitem").filter({ hasText: name }).getByText(state, { exact: true }).waitFor();

test("a developer becomes the first operator, and finds three steps to do", async () => {
  const link = await firstOperatorLink({ invitations: invitations(server.database.sql), randomBytes, issuer: server.url });
  await page.goto(link ?? "");
  await page.getByLabel("E-mail address").fill("first@example.test");
  await page.getByLabel("Password").fill(PASSWORD);
  await page.locator("form button[type=submit]").click();
  await page.getByRole("link", { name: "Open the console" }).click();
  await home.goto(`${server.url}/console`);
  for (const name of ["Protect a server", "Connect a client", "Watch the first call"]) await step(page, name, "Not done yet");
});

test("protects a server by its address, and reads what to paste into it", async () => {
  await page.getByRole("link", { name: "Add a resource" }).click();
  await page.getByLabel("Address").fill(`${notes.origin}/mcp`);
  await button("Read its metadata").click();
  await page.getByText("Its metadata was found").waitFor();
  expect(await page.getByLabel("Scopes").inputValue()).toBe("notes:read notes:write");
  await button("Add a resource").click();
  await heading("Notes");
  expect(await region("guard.js").innerText()).toContain(`authorizationServers: ["${server.url}"]`);
  await page.getByRole("tab", { name: "Hono" }).click();
  expect(await region("Hono").innerText()).toContain('from "@countersign/guard/hono"');
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, "console-connect.png") });
  expect(await region("Claude Code").innerText()).toContain(`claude mcp add --transport http notes ${notes.origin}/mcp`);
});

test("connects a client, and watches its first call arrive on Home", async () => {
  await page.getByRole("link", { name: "Home" }).click();
  await step(page, "Protect a server", "Done");
  await page.getByRole("link", { name: "Create a client" }).click();
  await page.getByLabel("Name").fill("Notebook");
  await page.getByLabel("Redirect URIs").fill("https://notebook.example.test/cb");
  await button("Add the scope notes:read").click();
  await button("Create").click();
  const secret = (await region("Client secret").innerText()).trim();
  await page.getByRole("link", { name: "Try it" }).click();
  await button("Add the redirect URI").click();
  await page.getByLabel("Resource", { exact: true }).fill(`${notes.origin}/mcp`);
  await page.getByLabel("Client secret").fill(secret);
  const [popup] = await Promise.all([page.waitForEvent("popup"), button("Start the flow").click()]);
  await popup.getByRole("button", { name: "Allow" }).click();
  await region("access_token").waitFor();
  expect(await region("access_token").innerText()).toContain(`${notes.origin}/mcp`);
  await step(home, "Watch the first call", "Done");
  await home.getByText(/^A client got a token /).waitFor();
});

test("replaces the secret of the client, of which the earlier one is refused from then on", async () => {
  await page.bringToFront(); // a page behind another one draws no frames while the machine is busy
  await page.getByRole("tab", { name: "Settings" }).click();
  await button("Replace the secret").click();
  await page.getByRole("dialog").getByRole("button", { name: "Replace the secret" }).click();
  await page.getByText("Copy the secret now").waitFor();
  const [clientId, secret] = [(await region("Client ID").innerText()).trim(), (await region("Client secret").innerText()).trim()];
  const ask = (given: string) => server.introspect({ clientId, secret: given, redirectUri: "" }, "no-token");
  expect([(await ask(secret)).status, (await ask(`${secret}x`)).status]).toEqual([200, 401]);
});

test("creates a service that calls the server, and takes the server from it again", async () => {
  const resource = `${notes.origin}/mcp`;
  await page.goto(`${server.url}/console/clients/new?kind=service`);
  await page.getByLabel("Name").fill("Nightly");
  await button("Add the scope notes:read").click();
  await button(`Add the resource ${resource}`).click();
  await button("Create").click();
  const [clientId, secret] = [(await region("Client ID").innerText()).trim(), (await region("Client secret").innerText()).trim()];
  expect(await page.getByRole("link", { name: "Try it" }).count()).toBe(0); // it has no page of its own to return to
  const headers = { authorization: `Basic ${btoa(`${clientId}:${secret}`)}` };
  const body = new URLSearchParams({ grant_type: "client_credentials", scope: "notes:read", resource });
  const ask = () => fetch(`${server.url}/oauth/token`, { method: "POST", headers, body });
  expect(decodeJwt((await (await ask()).json()).access_token).aud).toBe(resource);
  await page.getByRole("link", { name: "Open its settings" }).click();
  await page.getByLabel("Resources", { exact: true }).fill("");
  await button("Save").click();
  await page.getByText("Saved. It is in force now.").waitFor();
  expect(await (await ask()).json()).toMatchObject({ error: "invalid_target" });
});

test("rotates the signing key: the new one is published, then signs, and the old one is withdrawn", async () => {
  const { sql } = server.database;
  const row = (state: string) => page.getByRole("row").filter({ has: page.getByRole("cell", { name: state, exact: true }) });
  const kidIn = async (state: string) => (await row(state).locator("code").innerText()).trim();
  const restartWith = async (change: string) => {
    await page.goto("about:blank");
    await server.restart(async () => void (await runText(sql, `update signing_keys set ${change}`)));
    await page.goto(`${server.url}/console/keys`);
  };
  // The configured key that has not signed becomes the elder one, as if the other had just been put before it.
  await restartWith("published_at = case when in_use_at is null then now() - interval '1 day' else now() end, in_use_at = null");
  const [old, young] = [await kidIn("Signs"), await kidIn("Published")];
  await restartWith("published_at = published_at - interval '300 seconds', in_use_at = in_use_at - interval '300 seconds'");
  expect([await kidIn("Signs"), await kidIn("Published")]).toEqual([young, old]);
  await page.getByRole("button", { name: `Withdraw ${old}` }).click();
  await page.getByLabel("Type the id of the key").fill(old);
  await page.getByRole("dialog").getByRole("button", { name: "Withdraw" }).click();
  await row("Withdrawn").getByText(old).waitFor();
});

test("no page sent a request elsewhere, reported an error, or broke the policy", () => {
  expect(view.problems).toEqual([]);
});
