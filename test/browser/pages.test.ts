import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeFlaws } from "../support/axe.ts";
import { flawsOf, openPage } from "../support/chromium.ts";
import { DELEGATION_CLIENTS, delegating } from "../support/delegation.ts";
import { tourOfPages } from "../support/page-tour.ts";
import { PROVISIONED, startServer } from "../support/server.ts";
import { startVisits, type Visits } from "../support/visits.ts";

/** `npm run screenshots` sets a folder, in which the tour then stores a screenshot of every page. */
const PICTURES = process.env.SCREENSHOTS_DIR;
const PHONE = { width: 390, height: 844 };
const DESKTOP = { width: 1280, height: 800 };
const NARROWEST = { width: 320, height: 640 };

let visits: Visits;
beforeAll(async () => {
  visits = await startVisits("tour");
});
afterAll(() => visits.close());

/** Pages that are also stored as wide screenshots. */
const ALSO_WIDE = ["account", "consent-to-more", "sign-in-to-application", "sign-up-faults"];

const picture = (page: Page, name: string) => {
  mkdirSync(PICTURES ?? "", { recursive: true });
  return page.screenshot({ path: join(PICTURES ?? "", `${name}.png`), fullPage: true });
};

const VIEWS = [
  { locale: "en-GB", colorScheme: "light", viewport: PHONE, suffix: "phone", pictured: () => true },
  { locale: "en-GB", colorScheme: "dark", viewport: DESKTOP, suffix: "", pictured: () => false },
  { locale: "de-DE", colorScheme: "light", viewport: NARROWEST, suffix: "", pictured: () => false },
  { locale: "de-DE", colorScheme: "dark", viewport: DESKTOP, suffix: "wide-dark-de", pictured: (name: string) => ALSO_WIDE.includes(name) },
] as const;

describe("every page meets WCAG 2.2 AA by axe, and does not scroll sideways", () => {
  test.for(VIEWS)("$locale, $colorScheme, $viewport.width pixels", { timeout: 240_000 }, async ({ suffix, pictured, ...options }) => {
    const { page, problems, close } = await openPage(visits.browser, { ...options, bypassCSP: true, reducedMotion: "reduce" });
    const seen: string[] = [];
    const flaws: Record<string, string[]> = {};
    const look = async (name: string) => {
      seen.push(name);
      expect(new URL(page.url()).origin).toBe(visits.server.url);
      expect(await page.locator("html").getAttribute("lang")).toBe(options.locale.slice(0, 2));
      if (PICTURES !== undefined && pictured(name)) await picture(page, `${name}-${suffix}`);
      const found = [...(await flawsOf(page)), ...(await axeFlaws(page))];
      if (found.length > 0) flaws[name] = found;
    };
    await tourOfPages({ page, server: visits.server, callback: visits.callback.uri, email: visits.freshEmail(), look });
    expect(flaws).toEqual({});
    expect(problems).toEqual([]);
    expect(new Set(seen).size).toBeGreaterThanOrEqual(30);
    await close();
  });
});

describe("the agents page, with acting agents and a paused one, meets WCAG 2.2 AA and does not scroll sideways", () => {
  let server: ReturnType<typeof delegating<Awaited<ReturnType<typeof startServer>>>>;
  beforeAll(async () => {
    server = delegating(await startServer({ provision: { ...PROVISIONED, clients: DELEGATION_CLIENTS } }));
  });
  afterAll(() => server.close());

  test.for(VIEWS)("$locale, $colorScheme, $viewport.width pixels", async ({ suffix, pictured, ...options }) => {
    const { user } = await server.chainOf(["agent-1", "agent-2"]);
    const { page, problems, close } = await openPage(visits.browser, { ...options, bypassCSP: true });
    const cookies = [...user.browser.cookies].map(([name, value]) => ({ name, value, url: server.url }));
    await page.context().addCookies(cookies);
    await page.goto(`${server.url}/account/agents`);
    await page.locator('form[action="/account/agents/pause"] button').first().click();
    await page.waitForURL(/done=/);
    expect(await page.getByRole("heading", { level: 2 }).count()).toBe(2);
    if (PICTURES !== undefined && pictured("account-agents-acting")) await picture(page, `account-agents-acting-${suffix}`);
    expect([...(await flawsOf(page)), ...(await axeFlaws(page))]).toEqual([]);
    expect(problems).toEqual([]);
    await close();
  });
});

test.for([true, false])(
  "every page works under its content security policy and loads nothing from other hosts, scripts: %s",
  { timeout: 240_000 },
  async (scripts) => {
    const { page, problems, close } = await openPage(visits.browser, { javaScriptEnabled: scripts });
    const seen = new Set<string>();
    const look = async (name: string) => {
      seen.add(name);
      expect(await page.locator("h1").count()).toBe(1);
    };
    await tourOfPages({ page, server: visits.server, callback: visits.callback.uri, email: visits.freshEmail(), look });
    expect(problems).toEqual([]);
    expect(seen.size).toBeGreaterThanOrEqual(30);
    await close();
  },
);

test("axe reports a missing label", async () => {
  const { page, close } = await openPage(visits.browser, { bypassCSP: true });
  await page.goto(`${visits.server.url}/login`);
  await page.evaluate(() => {
    for (const label of document.querySelectorAll("label")) label.remove();
  });
  expect((await axeFlaws(page)).join("\n")).toContain("label");
  await close();
});
