import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mailOf } from "../../src/accounts/mails.ts";
import { LANGUAGES } from "../../src/texts/languages.ts";
import { aBrandings } from "../support/builders.ts";
import { startChromium } from "../support/chromium.ts";

let browser: Browser;
beforeAll(async () => {
  browser = await startChromium();
});
afterAll(() => browser.close());

const LONG = `${"a".repeat(60)}@${"b".repeat(60)}.example.test`;

test.for(LANGUAGES)("a mail in %s with long addresses fits a narrow phone, and is light on dark where the device is", async (language) => {
  const branding = { support: `https://support.example.test/${"c".repeat(80)}` };
  const ports = { issuer: "https://id.example.test", brandings: aBrandings(branding) };
  const { html } = mailOf("addressChange", ports, { realmId: undefined }, { language, token: "a1".repeat(32) }, LONG, "24 hours");
  const page = await browser.newPage({ viewport: { width: 320, height: 640 }, colorScheme: "dark" });
  await page.setContent(html);
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(320);
  expect(await page.locator("table.card").evaluate((card) => getComputedStyle(card).backgroundColor)).toBe("rgb(24, 28, 37)");
  expect(await page.locator("h1").evaluate((heading) => getComputedStyle(heading).color)).toBe("rgb(236, 238, 244)");
  await page.close();
});
