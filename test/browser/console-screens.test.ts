import axe from "axe-core";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { DEFAULT_REALM_ID } from "../support/accounts.ts";
import { axeFlaws } from "../support/axe.ts";
import { openPage, startChromium } from "../support/chromium.ts";
import { openScreen } from "../support/console.ts";
import { freePort } from "../support/free-port.ts";
import { loadHostile } from "../support/hostile.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";

// Every screen as its most demanding deployment has it: below a path, with pushed requests and nonces for proofs, in German, whose words are long.

let browser: Awaited<ReturnType<typeof startChromium>>;
let server: TestServer;
let view: Awaited<ReturnType<typeof openPage>>;
let page: Page;
let paths: readonly string[];
let pending = 0;

beforeAll(async () => {
  const port = await freePort();
  const env = { PORT: `${port}`, JWT_ISSUER: `http://localhost:${port}/sign-in/here`, REQUIRE_PAR: "true", DPOP_NONCE: "true" };
  [browser, server] = await Promise.all([startChromium(), startServer({ env })]);
  paths = await loadHostile(server.database.sql);
  view = await openPage(browser, { viewport: { width: 1280, height: 800 }, locale: "de-AT" });
  page = view.page;
  const counted = (by: number) => (request: { url(): string }) => {
    if (request.url().includes("/trpc/")) pending += by;
  };
  page.on("request", counted(1)).on("requestfinished", counted(-1)).on("requestfailed", counted(-1));
  await page.goto(`${server.url}/console`);
  await page.getByLabel("E-Mail-Adresse").fill(OPERATOR.email);
  await page.getByLabel("Passwort").fill(OPERATOR.password);
  await page.getByRole("button", { name: "Anmelden", exact: true }).click();
  await page.getByRole("link", { name: "Einstellungen" }).waitFor();
  await page.evaluate(axe.source); // by the debugger, so that the policy of the page stays in force
});
afterAll(async () => {
  await view.close();
  await browser.close();
  await server.close();
});

/** Opens a screen, and waits until all of its calls are answered: a part of a screen has no placeholder while it loads. */
async function open(path: string): Promise<void> {
  await openScreen(page, path);
  await expect.poll(() => pending, { interval: 10 }).toBe(0);
}

const VIEWS = (["light", "dark"] as const).flatMap((colorScheme) => [320, 1280].map((width) => ({ colorScheme, width })));

test("every screen, with texts of attackers, has no accessibility flaw, light and dark, at 320 and 1280 pixels, and runs nothing", {
  timeout: 300_000,
}, async () => {
  const flaws: string[] = [];
  for (const path of paths) {
    await open(path);
    for (const { colorScheme, width } of VIEWS) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 800 });
      const found = await axeFlaws(page);
      if (await page.evaluate(() => document.documentElement.scrollWidth > window.innerWidth)) found.push("scrolls sideways");
      flaws.push(...found.map((flaw) => `${path} ${colorScheme} ${width}: ${flaw}`));
    }
    if ((await page.title()) === "owned") flaws.push(`${path}: a script of a text has run`);
    const made = await page.locator("main img, main script, a[href^='javascript:' i]").count();
    if (made > 0) flaws.push(`${path}: a text became an element`);
  }
  expect(flaws).toEqual([]);
});

test.for([
  ["script-src 'self'", ""],
  ["style-src 'self'", "style-src"],
  [/'nonce-[^']*'/, ""],
  ["connect-src 'self'", ""],
  ["img-src 'self'", "img-src"],
  ["data:", ""],
] as const)("the policy of the page needs its permission %s", async ([permission, rest]) => {
  const other = await page.context().newPage();
  await other.route(/\/console\/realms\//, async (route) => {
    const response = await route.fetch();
    const headers = response.headers();
    const policy = headers["content-security-policy"] ?? "";
    await route.fulfill({ response, headers: { ...headers, "content-security-policy": policy.replace(permission, rest) } });
  });
  const isViolation = (message: { text(): string }) => message.text().includes("violates the following Content Security Policy directive");
  await Promise.all([other.waitForEvent("console", isViolation), other.goto(`${server.url}/console/realms/${DEFAULT_REALM_ID}`)]);
  await other.close();
});

test("no screen sent a request elsewhere, reported an error, or broke the policy", () => {
  expect(view.problems).toEqual([]);
});

test("the live audit log continues after the browser has slept and the server has started again, without loss", async () => {
  const refuseSignIn = async () => {
    const body = JSON.stringify({ email: OPERATOR.email, password: "not the password" });
    const answer = await fetch(`${server.url}/auth/login`, { method: "POST", headers: { "content-type": "application/json" }, body });
    expect(answer.status).toBe(401);
  };
  const records = page.getByRole("button", { name: /session\.refused: / });
  await open("/audit?event=session.refused");
  await page.getByRole("button", { name: "Live verfolgen" }).click();
  await page.getByText(/^Live: /).waitFor();
  await refuseSignIn();
  await records.first().waitFor();
  const debuggee = await page.context().newCDPSession(page);
  await debuggee.send("Page.setWebLifecycleState", { state: "frozen" });
  await server.restart(async () => undefined);
  await refuseSignIn();
  await refuseSignIn();
  await debuggee.send("Page.setWebLifecycleState", { state: "active" });
  await records.nth(2).waitFor();
  expect([await records.count(), await page.getByRole("alert").count()]).toEqual([3, 0]);
});
