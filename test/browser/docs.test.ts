import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage } from "../support/chromium.ts";
import { startVisits, type Visits } from "../support/visits.ts";

let visits: Visits;
beforeAll(async () => {
  visits = await startVisits("docs");
});
afterAll(() => visits.close());

test("the API reference works under its content security policy, which allows no inline styles or scripts", async () => {
  const { page, problems, close } = await openPage(visits.browser, { viewport: { width: 1280, height: 800 } });
  await page.goto(`${visits.server.url}/docs`);
  const operation = page.locator(".opblock", { hasText: "/oauth/token" });
  await operation.locator(".opblock-summary-control").click();
  await operation.getByRole("button", { name: "Try it out" }).click();
  await operation.getByRole("button", { name: "Execute" }).click();
  await operation.getByText("invalid_request").first().waitFor();
  expect(await page.locator(".opblock").count()).toBeGreaterThan(30);
  expect(await operation.locator(".opblock-summary-method").evaluate((method) => getComputedStyle(method).backgroundColor)).not.toBe(
    "rgba(0, 0, 0, 0)",
  );
  expect(problems).toEqual([]);
  await close();
});
