import readCode from "jsqr";
import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPage, startChromium } from "../support/chromium.ts";
import type { CredentialIssuer } from "../support/credential-issuer.ts";
import { flawsInEveryView } from "../support/every-view.ts";
import type { Linking } from "../support/linking.ts";
import type { TestServer } from "../support/server.ts";
import { aWallet } from "../support/wallet.ts";
import { startWalletServer } from "../support/wallet-server.ts";

let browser: Browser;
let issuer: CredentialIssuer;
let server: TestServer;
let at: Linking;
let close: () => Promise<void>;
beforeAll(async () => {
  browser = await startChromium();
  ({ issuer, server, at, close } = await startWalletServer());
});
afterAll(() => Promise.all([browser.close(), close()]));

/** The wallet page of a signed-in user. */
async function atWalletPage(options: BrowserContextOptions = {}) {
  const { email } = await at.aUser();
  const opened = await openPage(browser, options);
  await opened.page.goto(`${server.url}/login`);
  await opened.page.getByLabel(/E-mail|E-Mail/).fill(email);
  await opened.page.getByLabel(/Password|Passwort/).fill("correct horse battery");
  await opened.page.getByRole("button", { name: /^(Sign in|Anmelden)$/ }).click();
  await opened.page.getByRole("link", { name: "Wallet", exact: true }).click();
  return { ...opened, email };
}

/** Pixels per module of the QR code. */
const SCALE = 4;

/** The text that a camera would read from the QR code on the page. */
async function scanned(page: Page): Promise<string> {
  const code = page.locator("svg.qr");
  const size = Number((await code.getAttribute("viewBox"))?.split(" ")[2]) * SCALE;
  const pixels = new Uint8ClampedArray(size * size * 4).fill(255);
  const dark = (await code.locator("path").getAttribute("d")) ?? "";
  for (const [, x, y] of dark.matchAll(/M(\d+) (\d+)/g)) {
    for (let dy = 0; dy < SCALE; dy++) {
      const start = ((Number(y) * SCALE + dy) * size + Number(x) * SCALE) * 4;
      for (let at = start; at < start + SCALE * 4; at += 4) pixels.fill(0, at, at + 3);
    }
  }
  return readCode.default(pixels, size, size)?.data ?? "";
}

describe.each([{ javaScriptEnabled: true }, { javaScriptEnabled: false }])("the wallet page, scripts: $javaScriptEnabled", (options) => {
  test("a user links a wallet on another device, sees the page update, and unlinks it", async () => {
    const { page, problems, email, close } = await atWalletPage(options);
    await page.getByRole("region", { name: "Link a wallet" }).getByText(email).waitFor();
    await page.getByRole("button", { name: "Yes, the wallet is on another device" }).click();
    await page.getByRole("img", { name: "QR code with the request to your wallet" }).waitFor();
    const wallet = aWallet();
    const credential = await issuer.issue({ holder: wallet.holder, claims: { sub: `browser ${options.javaScriptEnabled}` } });
    await wallet.answer(await scanned(page), credential);
    await page.getByText("Your wallet is linked.").waitFor();
    await page.getByRole("button", { name: "Unlink the wallet" }).click();
    await page.getByText("The wallet is no longer linked.").waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  test("a user opens a wallet on the same device and returns linked", async () => {
    const { page, problems, close } = await atWalletPage(options);
    await page.getByRole("button", { name: "Yes, the wallet is on this device" }).click();
    const invocation = (await page.getByRole("link", { name: "Open the wallet" }).getAttribute("href")) ?? "";
    const wallet = aWallet();
    const credential = await issuer.issue({ holder: wallet.holder, claims: { sub: `same ${options.javaScriptEnabled}` } });
    const { body } = await wallet.answer(invocation, credential);
    await page.goto(body.redirect_uri ?? "");
    await page.getByText("Your wallet is linked.").waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});

test("a link that the wallet declines shows an error and can be started again", async () => {
  const { page, close } = await atWalletPage();
  await page.getByRole("button", { name: "Yes, the wallet is on another device" }).click();
  await aWallet().decline(await scanned(page));
  await page.getByRole("alert").getByText("You declined in the wallet.").waitFor();
  await page.getByRole("button", { name: "Yes, the wallet is on another device" }).waitFor();
  await close();
});

test("a link goes on waiting while the server cannot answer for now", async () => {
  const { page, close } = await atWalletPage();
  await page.clock.install();
  await page.getByRole("button", { name: "Yes, the wallet is on another device" }).click();
  await page.locator("#waiting").waitFor();
  let pages = 0;
  page.on("request", (request) => {
    if (request.isNavigationRequest()) pages += 1;
  });
  let states = 0;
  await page.route("**/auth/link/wallet/*", (route) => {
    states += 1;
    return route.fulfill({ status: states === 1 ? 503 : 429, json: {} });
  });
  await expect.poll(() => page.clock.runFor(2000).then(() => states)).toBeGreaterThan(2);
  expect(pages).toBe(0);
  await close();
});

test("a link goes on waiting where a request for its state is never answered", async () => {
  const { page, close } = await atWalletPage();
  await page.clock.install();
  await page.getByRole("button", { name: "Yes, the wallet is on another device" }).click();
  await page.locator("#waiting").waitFor();
  await page.evaluate(() => {
    // By the clock of the test, which the browser's own timeouts do not follow.
    AbortSignal.timeout = (milliseconds) => {
      const aborting = new AbortController();
      setTimeout(() => aborting.abort(), milliseconds);
      return aborting.signal;
    };
  });
  let states = 0;
  await page.route("**/auth/link/wallet/*", () => {
    states += 1;
  });
  await expect.poll(() => page.clock.runFor(2000).then(() => states)).toBeGreaterThan(1);
  await close();
});

describe.each([{ locale: "en-GB" }, { locale: "de-DE" }])("WCAG 2.2 AA of the wallet page in every view, $locale", (options) => {
  test("axe and the accessibility checks find no flaw in any state", async () => {
    const { page, close } = await atWalletPage({ ...options, bypassCSP: true });
    const flaws = () => flawsInEveryView(page);
    const found = [await flaws()];
    for (const device of ["same", "other"]) {
      await page.locator(`button[name="device"][value="${device}"]`).click();
      await page.locator("#waiting").waitFor();
      found.push(await flaws());
      if (device === "same") await page.goto(`${server.url}/account/wallet`);
    }
    const wallet = aWallet();
    const asked = await wallet.open(await scanned(page));
    await wallet.send(asked, { state: asked.state, error: "access_denied" });
    await page.getByRole("alert").waitFor();
    found.push(await flaws());
    await page.locator('button[name="device"][value="other"]').click();
    await page.locator("svg.qr").waitFor();
    await wallet.answer(await scanned(page), await issuer.issue({ holder: wallet.holder, claims: { sub: `axe ${options.locale}` } }));
    await page.locator("#linked").waitFor();
    found.push(await flaws());
    expect(found).toEqual([[], [], [], [], []]);
    await close();
  });
});
