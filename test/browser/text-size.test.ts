import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage, startCallback, startChromium } from "../support/chromium.ts";
import { tourOfPages } from "../support/page-tour.ts";
import { type PagesServer, startPagesServer } from "../support/pages-server.ts";

let [browser, server] = [undefined as unknown as Browser, undefined as unknown as PagesServer];
let callback: Awaited<ReturnType<typeof startCallback>>;
beforeAll(async () => {
  const doubled = startChromium(["--blink-settings=defaultFontSize=32"]);
  [browser, callback, server] = await Promise.all([doubled, startCallback(), startPagesServer()]);
});
afterAll(() => Promise.all([browser.close(), callback.close(), server.close()]));

/** Runs in the page. */
const scrollsSideways = (): boolean => document.documentElement.scrollWidth > window.innerWidth;

/** Runs in the page. */
const sticksOut = (): boolean =>
  [...document.querySelectorAll(".field input")].some((input) => {
    const around = input.closest("form, section") ?? document.body;
    return input.getBoundingClientRect().right > around.getBoundingClientRect().right + 0.5;
  });

test.for(["en-GB", "de-DE"])(
  "with text of double size no page scrolls sideways on a phone, and fields stay in their forms, %s",
  { timeout: 120_000 },
  async (locale) => {
    const { page, close } = await openPage(browser, { locale, viewport: { width: 390, height: 844 } });
    const seen: string[] = [];
    const wide: string[] = [];
    const look = async (name: string) => {
      seen.push(name);
      if (await page.evaluate(scrollsSideways)) wide.push(name);
      if (await page.evaluate(sticksOut)) wide.push(`${name}: a field`);
    };
    await tourOfPages({ page, server, callback: callback.uri, email: `big-${locale.toLowerCase()}@example.test`, look });
    expect(wide).toEqual([]);
    expect(seen.length).toBeGreaterThanOrEqual(30);
    await close();
  },
);
