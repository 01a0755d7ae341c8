import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage, startChromium } from "../support/chromium.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { signIn } from "../support/visits.ts";

// Requests that the API reference sends.

let server: TestServer;
let browser: Browser;
beforeAll(async () => {
  [browser, server] = await Promise.all([startChromium(), startServer()]);
});
afterAll(async () => {
  await browser.close();
  await server.close();
});

/** The form of an operation, opened. */
async function formOf(page: Page, operation: string) {
  const form = page.locator("form").filter({ has: page.locator(`[aria-label="Answer of ${operation}"]`) });
  await form.locator("xpath=..").evaluate((details: HTMLDetailsElement) => {
    details.open = true;
  });
  return form;
}

/** Sends the request of an operation. @param fields by name */
async function send(page: Page, operation: string, fields: Readonly<Record<string, string>> = {}) {
  const form = await formOf(page, operation);
  for (const [name, value] of Object.entries(fields)) await form.locator(`[name="${name}"]`).fill(value);
  await form.getByRole("button", { name: /^Send / }).click();
  await expect.poll(() => form.getByRole("status").textContent()).toMatch(/^\d{3}.* after \d+ ms$/);
  const text = (await form.locator(".try-answer").textContent()) ?? "";
  const [headers = "", body = ""] = [text.slice(0, text.indexOf("\n\n")), text.slice(text.indexOf("\n\n") + 2)];
  return { status: Number((await form.getByRole("status").textContent())?.slice(0, 3)), headers, body, form };
}

/** The reference, in a browser of its own. */
async function open(options: Parameters<typeof openPage>[1] = {}) {
  const opened = await openPage(browser, options);
  await opened.page.goto(`${server.url}/docs`);
  return opened;
}

test("a token is requested by client id and secret, examined, and a request that is refused shows its error", async () => {
  const { page, problems, close } = await open();
  const { clientId, secret = "" } = server.clients.urn; // of characters that are written in another way in the header
  await page.getByLabel("Client id (HTTP Basic)").fill(clientId);
  await page.getByLabel("Client secret (HTTP Basic)").fill(secret);
  const answer = await send(page, "POST /oauth/token", { grant_type: "client_credentials", scope: "notes:read" });
  expect([answer.status, answer.headers]).toEqual([200, expect.stringContaining("content-type: application/json")]);
  expect(answer.body).toContain('{\n  "access_token": "');
  const { access_token: token } = JSON.parse(answer.body);

  const examined = await send(page, "POST /oauth/introspect", { token });
  expect([examined.status, JSON.parse(examined.body)]).toMatchObject([200, { active: true, client_id: clientId }]);
  const command = await examined.form.locator("[data-curl]").textContent();
  expect(command).toContain('-u "$CLIENT_ID:$CLIENT_SECRET"');
  expect(command).toContain(`--data-urlencode 'token='"$TOKEN"`);
  expect(command).not.toContain(token);

  const refused = await send(page, "POST /oauth/token", { grant_type: "none" });
  expect([refused.status, JSON.parse(refused.body)]).toMatchObject([400, { error: "unsupported_grant_type" }]);
  expect(problems).toEqual([]);
  await close();
});

test("a client is made, read by its path and deleted with a token; markup in an answer is text", async () => {
  const { page, problems, close } = await open();
  const refused = await send(page, "GET /api/clients/");
  expect(refused.status).toBe(401);
  expect(await refused.form.locator("[data-curl]").textContent()).toContain('-H "Authorization: Bearer $TOKEN"');

  const body = JSON.stringify({ email: OPERATOR.email, password: OPERATOR.password });
  const login = await send(page, "POST /auth/login", { body });
  await page.getByLabel("Access token (Bearer)").fill(JSON.parse(login.body).access_token);
  const description = `<img src="x" onerror="document.title='run'">`;
  const made = await send(page, "POST /api/clients/", {
    body: JSON.stringify({ name: "Notes", description, grantTypes: ["client_credentials"] }),
  });
  expect(made.status).toBe(201);
  const { id } = JSON.parse(made.body);
  const read = await send(page, "GET /api/clients/{id}", { id });
  expect([read.status, JSON.parse(read.body)]).toMatchObject([200, { id, description }]);
  expect(await page.locator(".try-answer *").count()).toBe(0);
  expect((await send(page, "DELETE /api/clients/{id}", { id })).status).toBe(204);
  expect((await send(page, "GET /api/clients/{id}", { id })).status).toBe(404);
  expect(await page.title()).toContain("API reference");
  expect(problems).toEqual([]);
  await close();
});

test("the session's cookie is sent where the operation names it, and nowhere else; nothing that is typed in stays", async () => {
  const { page, problems, close } = await openPage(browser);
  await page.goto(`${server.url}/login`);
  await signIn(page, OPERATOR.email, OPERATOR.password);
  await page.waitForURL(`${server.url}/account`);
  await page.goto(`${server.url}/docs`);
  const consents = await send(page, "GET /consents/");
  expect(consents.status).toBe(200);
  const { csrfToken } = JSON.parse(consents.body);
  const id = "01900000-0000-7000-8000-000000000000";
  expect((await send(page, "DELETE /consents/{id}", { id, "X-CSRF-Token": csrfToken })).status).toBe(404);
  expect((await send(page, "DELETE /consents/{id}", { id, "X-CSRF-Token": "wrong" })).status).toBe(403);

  const [asked] = await Promise.all([page.waitForRequest(`${server.url}/health`), send(page, "GET /health")]);
  expect(await asked.headerValue("cookie")).toBeNull();
  await page.getByLabel("Access token (Bearer)").fill("secret");
  await page.reload();
  expect(await page.getByLabel("Access token (Bearer)").inputValue()).toBe("");
  expect(await page.evaluate(() => [localStorage.length, sessionStorage.length])).toEqual([0, 0]);
  expect(problems).toEqual([]);
  await close();
});

test("what a browser has to go to itself is a link, made of the fields", async () => {
  const { page, close } = await open();
  await page.getByText("/oauth/authorize", { exact: true }).first().click();
  const form = page.locator("form").filter({ has: page.getByLabel("Open in a new tab: /oauth/authorize") });
  expect(await form.locator('[name="response_type"]').inputValue()).toBe("code");
  const link = form.getByRole("link");
  await link.click();
  expect(await page.evaluate(() => document.activeElement?.getAttribute("name"))).toBe("client_id"); // required, and empty
  for (const name of ["client_id", "redirect_uri", "code_challenge"]) await form.locator(`[name="${name}"]`).fill(`a ${name}&`);
  await form.locator('[name="resource"]').fill("https://a.test\nhttps://b.test");
  const query = new URL((await link.evaluate((each: HTMLAnchorElement) => each.href)) ?? "").searchParams;
  expect([query.get("client_id"), query.getAll("resource"), query.has("state")]).toEqual([
    "a client_id&",
    ["https://a.test", "https://b.test"],
    false,
  ]);
  const [tab] = await Promise.all([page.waitForEvent("popup"), link.click()]);
  await tab.waitForLoadState();
  expect(await tab.evaluate(() => [window.opener, location.pathname])).toEqual([null, "/oauth/authorize"]);
  expect(page.context().pages()).toHaveLength(2);
  await close();
});

test("the command is copied, by the keyboard alone", async () => {
  const { page, close } = await open({ permissions: ["clipboard-read", "clipboard-write"] });
  const form = await formOf(page, "GET /health");
  await form.getByRole("button", { name: "Send GET: GET /health" }).focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await expect.poll(() => form.getByRole("status").textContent()).toBe("Copied.");
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe(`curl '${server.url}/health'`);
  await close();
});

test("without scripts the reference shows no form and no field", async () => {
  const { page, close } = await open({ javaScriptEnabled: false });
  await page.getByText("/oauth/token", { exact: true }).click();
  expect(await page.getByText("grant_type", { exact: true }).first().isVisible()).toBe(true);
  expect(await page.locator("form, input, textarea, select").count()).toBeGreaterThan(30);
  expect(await page.locator("form:visible, input:visible, textarea:visible, select:visible, [data-try]:visible").count()).toBe(0);
  await close();
});
