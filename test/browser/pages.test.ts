import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeFlaws } from "../support/axe.ts";
import { openPage } from "../support/chromium.ts";
import { DELEGATION_CLIENTS, delegating } from "../support/delegation.ts";
import { flawsInEveryView, PHONE } from "../support/every-view.ts";
import { tourOfPages } from "../support/page-tour.ts";
import { PROVISIONED, startServer } from "../support/server.ts";
import { startVisits, type Visits } from "../support/visits.ts";

/** `npm run screenshots` sets a folder, in which the tour then stores a screenshot of every page. */
const PICTURES = process.env.SCREENSHOTS_DIR;
let visits: Visits;
beforeAll(async () => {
  visits = await startVisits("tour");
});
afterAll(() => visits.close());

/** Pages that are also stored as wide screenshots. */
const ALSO_WIDE = ["account", "consent-to-more", "sign-in-to-application", "sign-up-faults"];

/** Stores a picture of the whole page. What stays at the edge of the window would cover the middle of it. */
async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(PICTURES ?? "", { recursive: true });
  const sheet = await page.addStyleTag({ content: ".decide { position: static !important }" });
  await page.screenshot({ path: join(PICTURES ?? "", `${name}.png`), fullPage: true });
  await sheet.evaluate((element) => element.parentNode?.removeChild(element));
}

/** The names of pages that are stored for a view. */
const pictured = (name: string, locale: string, scheme: string, width: number): string | undefined => {
  if (PICTURES === undefined) return undefined;
  if (locale === "en-GB" && scheme === "light" && width === PHONE.width) return `${name}-phone`;
  return locale === "de-DE" && scheme === "dark" && width === 1280 && ALSO_WIDE.includes(name) ? `${name}-wide-dark-de` : undefined;
};

/** The flaws of a page in every view, which are also stored as screenshots. */
const flawsOfPage = (page: Page, name: string, locale: string): Promise<readonly string[]> =>
  flawsInEveryView(page, async (scheme, width) => {
    const file = pictured(name, locale, scheme, width);
    if (file !== undefined) await picture(page, file);
  });

describe("in light and dark, at 320, 390 and 1280 pixels, every page meets WCAG 2.2 AA by axe and does not scroll sideways", () => {
  test.for(["en-GB", "de-DE"])("%s", { timeout: 240_000 }, async (locale) => {
    const options = { locale, viewport: PHONE, bypassCSP: true, reducedMotion: "reduce" } as const;
    const { page, problems, close } = await openPage(visits.browser, options);
    const seen: string[] = [];
    const flaws: Record<string, readonly string[]> = {};
    const look = async (name: string) => {
      seen.push(name);
      expect(new URL(page.url()).origin).toBe(visits.server.url);
      expect(await page.locator("html").getAttribute("lang")).toBe(locale.slice(0, 2));
      const found = await flawsOfPage(page, name, locale);
      if (found.length > 0) flaws[name] = found;
    };
    await tourOfPages({ page, server: visits.server, callback: visits.callback.uri, email: visits.freshEmail(), look });
    expect(flaws).toEqual({});
    expect(problems).toEqual([]);
    expect(new Set(seen).size).toBeGreaterThanOrEqual(30);
    await close();
  });
});

describe("the agents page, with acting agents and a paused one, likewise", () => {
  let server: ReturnType<typeof delegating<Awaited<ReturnType<typeof startServer>>>>;
  beforeAll(async () => {
    server = delegating(await startServer({ provision: { ...PROVISIONED, clients: DELEGATION_CLIENTS } }));
  });
  afterAll(() => server.close());

  test.for(["en-GB", "de-DE"])("%s", async (locale) => {
    const { user } = await server.chainOf(["agent-1", "agent-2"]);
    const { page, problems, close } = await openPage(visits.browser, { locale, viewport: PHONE, bypassCSP: true });
    const cookies = [...user.browser.cookies].map(([name, value]) => ({ name, value, url: server.url }));
    await page.context().addCookies(cookies);
    await page.goto(`${server.url}/account/agents`);
    await page.locator('form[action="/account/agents/pause"] button').last().click();
    await page.waitForURL(/done=/);
    expect(await page.getByRole("heading", { level: 2 }).count()).toBe(2);
    expect(await page.locator(".tag").count()).toBe(2);
    expect(await flawsOfPage(page, "account-agents-acting", locale)).toEqual([]);
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
