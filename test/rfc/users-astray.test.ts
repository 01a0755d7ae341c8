import { afterAll, beforeAll, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { authorizePath, type PagesServer, startPagesServer } from "../support/pages-server.ts";

let server: PagesServer;
beforeAll(async () => {
  server = await startPagesServer();
});
afterAll(() => server.close());

const HTML = { accept: "text/html,application/xhtml+xml,*/*;q=0.8" };
const ask = async (path: string, headers: Record<string, string> = {}, method = "GET") => {
  const response = await fetch(server.url + path, { method, headers });
  return {
    status: response.status,
    type: response.headers.get("content-type"),
    vary: response.headers.get("vary"),
    text: await response.text(),
  };
};

test("an unknown path returns 404, as a page for a browser and as JSON otherwise", async () => {
  const page = await ask("/nowhere", HTML);
  expect(page).toMatchObject({ status: 404, type: "text/html; charset=utf-8", vary: expect.stringContaining("Accept") });
  expect(page.text).toContain("Page not found");
  for (const headers of [{}, { accept: "*/*" }, { accept: "application/json" }]) {
    const { status, text } = await ask("/nowhere", headers as Record<string, string>);
    expect([status, JSON.parse(text)]).toMatchObject([404, { statusCode: 404 }]);
  }
});

test("docs/protocol.md#error-bodies: without wallets their paths return 404 with only a message", async () => {
  for (const [method, path] of [
    ["POST", "/auth/link/wallet"],
    ["GET", "/auth/link/wallet/handle"],
    ["GET", "/auth/link/wallet/request/state"],
    ["POST", "/auth/link/wallet/request/state"],
    ["POST", "/auth/link/wallet/response"],
  ] as const) {
    const { status, text } = await ask(path, HTML, method);
    expect([status, JSON.parse(text)]).toEqual([404, { message: expect.any(String) }]);
  }
});

test("without wallets /account/wallet returns 404 and is not linked", async () => {
  const browser = aBrowser(server.url);
  await browser.json("/auth/register", { email: "no-wallet@example.test", password: "correct horse battery" });
  await browser.json("/auth/login", { email: "no-wallet@example.test", password: "correct horse battery" });
  expect((await browser.follow("/account")).html).not.toContain("/account/wallet");
  expect((await browser.follow("/account/wallet")).status).toBe(404);
});

test("an invalid verification link offers a new mail and sign-in", async () => {
  const browser = aBrowser(server.url);
  const email = "late@example.test";
  await browser.json("/auth/register", { email, password: "correct horse battery" });
  await server.mailsTo(email, 1); // a new mail replaces one that is still unsent
  const response = await fetch(`${server.url}/auth/verify?token=${"a".repeat(64)}`, { headers: HTML });
  const page = await response.text();
  expect([response.status, page.includes('href="/login"'), page.includes('action="/signup/resend"')]).toEqual([400, true, true]);
  const token = /name="form_token" value="([^"]+)"/.exec(page)?.[1] ?? "";
  const cookie = response.headers
    .getSetCookie()
    .map((each) => each.split(";")[0])
    .join("; ");
  const send = (typed: string) =>
    fetch(`${server.url}/signup/resend`, {
      method: "POST",
      headers: { cookie, origin: server.url },
      body: new URLSearchParams({ form_token: token, email: typed }),
    });
  const mistyped = await send("late@example");
  const again = await mistyped.text();
  expect([mistyped.status, again.includes('id="email-error"'), again.includes('value="late@example"')]).toEqual([400, true, true]);
  expect((await send(email)).status).toBe(200);
  expect(await server.mailsTo(email, 2)).toHaveLength(2);
});

test("a scope without a text is shown as a permission at its resource", async () => {
  const browser = aBrowser(server.url);
  await browser.json("/auth/register", { email: "ida@example.test", password: "correct horse battery" });
  await browser.json("/auth/login", { email: "ida@example.test", password: "correct horse battery" });
  const at = await browser.follow(authorizePath({ scope: "notes:read", resource: "https://notes.example.test/mcp" }));
  expect(at.html).toContain("A permission at notes.example.test/mcp.");
  expect((await browser.follow(authorizePath({ scope: "notes:read" }))).html).toContain("A permission of the application itself.");
});
