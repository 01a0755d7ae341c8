import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeFlaws } from "../support/axe.ts";
import { flawsOf, openPage, startCallback, startChromium } from "../support/chromium.ts";
import { tourOfPages } from "../support/page-tour.ts";
import { type People, startPeople } from "../support/people.ts";

/** `npm run screenshots` names a folder: then the tour leaves a picture of every page there. */
const PICTURES = process.env.SCREENSHOTS_DIR;
const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 800 };
const NARROWEST = { width: 320, height: 640 };

let browser: Browser;
let callback: Awaited<ReturnType<typeof startCallback>>;
let people: People;
beforeAll(async () => {
  [browser, callback, people] = await Promise.all([startChromium(), startCallback(), startPeople()]);
});
afterAll(async () => {
  await browser.close();
  await Promise.all([callback.close(), people.close()]);
});

const picture = (page: Page, name: string) => {
  mkdirSync(PICTURES ?? "", { recursive: true });
  return page.screenshot({ path: join(PICTURES ?? "", `${name}.png`), fullPage: true });
};

const VIEWS = [
  { locale: "en-GB", colorScheme: "light", viewport: PHONE, pictures: "phone" },
  { locale: "en-GB", colorScheme: "dark", viewport: DESKTOP, pictures: undefined },
  { locale: "de-DE", colorScheme: "light", viewport: NARROWEST, pictures: undefined },
  { locale: "de-DE", colorScheme: "dark", viewport: DESKTOP, pictures: "desktop-de-dark" },
] as const;

let count = 0;

describe("every page, WCAG 2.2 AA: axe finds nothing, nothing scrolls sideways", () => {
  test.for(VIEWS)("$locale, $colorScheme, $viewport.width pixels", { timeout: 240_000 }, async ({ pictures, ...options }) => {
    const { page, wrongs, close } = await openPage(browser, { ...options, bypassCSP: true, reducedMotion: "reduce" });
    const seen: string[] = [];
    const flaws: Record<string, string[]> = {};
    const look = async (name: string) => {
      seen.push(name);
      expect(new URL(page.url()).origin).toBe(people.url);
      expect(await page.locator("html").getAttribute("lang")).toBe(options.locale.slice(0, 2));
      if (PICTURES !== undefined && pictures !== undefined) await picture(page, `${name}-${pictures}`);
      const found = [...(await flawsOf(page)), ...(await axeFlaws(page))];
      if (found.length > 0) flaws[name] = found;
    };
    await tourOfPages({ page, people, callback: callback.uri, email: `tour${++count}@example.test`, look });
    expect(flaws).toEqual({});
    expect(wrongs).toEqual([]);
    expect(new Set(seen).size).toBeGreaterThanOrEqual(20);
    await close();
  });
});

test.for([true, false])(
  "every page under its own policy asks no other host and goes wrong nowhere, scripts: %s",
  { timeout: 240_000 },
  async (scripts) => {
    const { page, wrongs, close } = await openPage(browser, { javaScriptEnabled: scripts });
    const seen = new Set<string>();
    const look = async (name: string) => {
      seen.add(name);
      expect(await page.locator("h1").count()).toBe(1);
    };
    await tourOfPages({ page, people, callback: callback.uri, email: `tour${++count}@example.test`, look });
    expect(wrongs).toEqual([]);
    expect(seen.size).toBeGreaterThanOrEqual(20);
    await close();
  },
);

test("axe sees a flaw where there is one", async () => {
  const { page, close } = await openPage(browser, { bypassCSP: true });
  await page.goto(`${people.url}/login`);
  await page.evaluate(() => {
    for (const label of document.querySelectorAll("label")) label.remove();
  });
  expect((await axeFlaws(page)).join("\n")).toContain("label");
  await close();
});
