import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { flawsOf, loading, openPage, startChromium } from "../support/chromium.ts";
import { runText } from "../support/database.ts";
import { authorizePath, type PagesServer, startPagesServer } from "../support/pages-server.ts";
import { PASSWORD } from "../support/visits.ts";

let browser: Browser;
let server: PagesServer;
beforeAll(async () => {
  [browser, server] = await Promise.all([startChromium(), startPagesServer()]);
});
afterAll(async () => {
  await browser.close();
  await server.close();
});

const NAMES = {
  "long and without spaces": ["W".repeat(100), "Donaudampfschifffahrtsgesellschaftskapitänsmützenabzeichen"],
  "right-to-left": ["عبد الرحمن بن محمد", "שלום־אברהמוביץ׳"],
  "right-to-left with punctuation": ["(محمد)!", "١٢٣ - علي"],
} as const;

/** Elements that overflow the card they are in, or its padding. Runs in the page. */
function outsideOfCards(): string[] {
  const out = [...document.querySelectorAll(".card *")].filter((element) => {
    const card = element.closest(".card") ?? element;
    const right = card.getBoundingClientRect().right - Number.parseFloat(getComputedStyle(card).paddingRight);
    return element.getBoundingClientRect().right > right + 0.5;
  });
  return out.map((element) => `overflows: ${element.tagName} ${element.textContent?.trim().slice(0, 40)}`);
}

let count = 0;

/** 320 pixels are what a 1280 pixel window shows at 400 % zoom. */
test.for([
  ["long and without spaces", "de-DE", 320, NAMES["long and without spaces"]],
  ["long and without spaces", "en-GB", 1280, NAMES["long and without spaces"]],
  ["right-to-left", "en-GB", 320, NAMES["right-to-left"]],
  ["right-to-left with punctuation", "de-DE", 1280, NAMES["right-to-left with punctuation"]],
] as const)(
  "with names that are %s, in %s at %d pixels, every page fits the window and shows the names in order",
  async ([, locale, width, names]) => {
    const { page, problems, close } = await openPage(browser, { locale, viewport: { width, height: 700 } });
    await page.context().setExtraHTTPHeaders({ "x-forwarded-for": `203.0.113.${++count}` });
    const [firstName, lastName] = names;
    const email = `${"long".repeat(15)}${count}@${"a-very-long-label-of-a-domain.".repeat(4)}example.test`;
    await runText(server.database.sql, "update clients set name = $2 where client_id = $1", ["web", firstName]);
    const flaws: Record<string, string[]> = {};
    const look = async (name: string) => {
      const found = [...(await flawsOf(page)), ...(await page.evaluate(outsideOfCards))];
      if (found.length > 0) flaws[name] = found;
    };
    const fill = async (fields: Record<string, string>, action: string) => {
      for (const [name, value] of Object.entries(fields)) await page.locator(`input[name=${name}]`).fill(value);
      await loading(page, () => page.locator(`form[action="${action}"] button`).last().click());
    };
    await page.goto(`${server.url}/signup`);
    await fill({ email, password: PASSWORD }, "/signup");
    await fill({ firstName, lastName }, "/account/profile");
    await look("account-new");
    await page.goto(
      server.url +
        authorizePath({ scope: `openid ${"a".repeat(100)}:read`, resource: `https://${"r".repeat(60)}.example.test/${"p".repeat(90)}` }),
    );
    await look("consent");
    expect(await page.locator("h1 bdi").textContent()).toContain(firstName.slice(0, 10));
    // Nothing answers at that host: browsers show an error under different addresses.
    const left = page.waitForEvent("framenavigated", (frame) => !frame.url().startsWith(server.url));
    await Promise.all([page.waitForRequest(/app\.example\.test/), left, page.locator("button[value=approve]").click()]);
    await page.goto(`${server.url}/account`);
    await look("account");
    expect(await page.locator("dd bdi").first().textContent()).toBe(`${firstName} ${lastName}`);
    for (const path of ["/account/agents", "/account/security", "/account/delete", "/logout"]) {
      await page.goto(server.url + path);
      await look(path.slice(1).replace("/", "-"));
    }
    expect(flaws).toEqual({});
    expect(problems.filter((problem) => !problem.includes("app.example.test"))).toEqual([]);
    await close();
  },
);
