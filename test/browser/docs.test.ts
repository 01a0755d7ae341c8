import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage } from "../support/chromium.ts";
import { flawsInEveryView } from "../support/every-view.ts";
import { startVisits, type Visits } from "../support/visits.ts";

let visits: Visits;
beforeAll(async () => {
  visits = await startVisits("docs");
});
afterAll(() => visits.close());

test("the API reference, with all operations open, meets WCAG 2.2 AA in light and dark, at 320, 390 and 1280 pixels", async () => {
  const { page, problems, close } = await openPage(visits.browser, { bypassCSP: true });
  await page.goto(`${visits.server.url}/docs`);
  await page.getByText("/oauth/token", { exact: true }).click();
  expect(await page.getByText("grant_type", { exact: true }).first().isVisible()).toBe(true);
  await page.evaluate(() => {
    for (const operation of document.querySelectorAll("details")) operation.open = true;
  });
  expect(await page.locator("details").count()).toBeGreaterThan(30);
  // An answer that is long enough to scroll.
  await page.getByRole("button", { name: "Send GET: GET /openapi.json" }).click();
  await page.getByText('"openapi": "3.1.0"').waitFor();
  expect(await flawsInEveryView(page)).toEqual([]);
  expect(problems).toEqual([]);
  await close();
});
