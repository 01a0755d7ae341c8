import type { BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { flawsOf, openPage } from "../support/chromium.ts";
import { PASSWORD, signIn, startVisits, type Visits } from "../support/visits.ts";

let visits: Visits;
beforeAll(async () => {
  visits = await startVisits("b");
});
afterAll(() => visits.close());

const verificationLink = async (email: string) => `${visits.server.url}/auth/verify?token=${await visits.server.tokenFor(email)}`;

async function signUp(page: Page, email: string): Promise<void> {
  await page.getByRole("link", { name: "Create an account" }).click();
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(PASSWORD);
  await page.getByRole("button", { name: "Create account" }).click();
  await page.getByRole("heading", { name: "Field Notes asks for access" }).waitFor();
}

const back = async (page: Page) => {
  await page.getByRole("heading", { name: "Back at the client" }).waitFor();
  return Object.fromEntries(new URL(page.url()).searchParams);
};

/** A page of a signed-in user, at the consent for the client. */
async function atConsent(options: BrowserContextOptions = {}) {
  const opened = await openPage(visits.browser, options);
  const email = visits.freshEmail();
  await opened.page.goto(visits.ask());
  await signUp(opened.page, email);
  return { ...opened, email };
}

test("a window that an application opened for a sign-in can answer it; the account cuts itself off from such a window", async () => {
  const { page, problems, close } = await openPage(visits.browser);
  await page.goto(visits.callback.uri);
  const [popup] = await Promise.all([page.waitForEvent("popup"), page.evaluate((url) => void window.open(url), visits.ask())]);
  await signUp(popup, visits.freshEmail());
  await popup.getByRole("button", { name: "Allow" }).click();
  await back(popup);
  const hasOpener = () => popup.evaluate(() => window.opener !== null);
  expect(await hasOpener()).toBe(true);
  await popup.goto(`${visits.server.url}/account`);
  expect(await hasOpener()).toBe(false);
  expect(problems).toEqual([]);
  await close();
});

test("a new browser that opens three applications at once signs in to each of them", async () => {
  const { page, problems, close } = await openPage(visits.browser);
  const pages = [page, await page.context().newPage(), await page.context().newPage()];
  await Promise.all(pages.map((each, index) => each.goto(visits.ask({ state: `app ${index}` }))));
  const email = visits.freshEmail();
  await signUp(page, email);
  await page.getByRole("button", { name: "Allow" }).click();
  const states = [(await back(page)).state];
  for (const each of pages.slice(1)) {
    await signIn(each, email);
    states.push((await back(each)).state);
  }
  expect(states).toEqual(["app 0", "app 1", "app 2"]);
  expect(problems).toEqual([]);
  await close();
});

describe.each([{ javaScriptEnabled: false }, { javaScriptEnabled: true }])("users in a browser, scripts: $javaScriptEnabled", (options) => {
  test("a user signs up, confirms the address, allows, and returns to the client with a code", async () => {
    const { page, problems, close } = await openPage(visits.browser, options);
    const email = visits.freshEmail();
    await page.goto(visits.ask());
    const waiting = page.url();
    await signUp(page, email);
    await page.goto(await verificationLink(email));
    await page.getByRole("heading", { name: "Your address is confirmed" }).waitFor();
    await page.goto(waiting);
    await page.getByRole("heading", { name: "Field Notes asks for access" }).waitFor();
    await page.getByText(email).waitFor();
    await page.getByText("Know who you are").waitFor();
    await page.getByRole("button", { name: "Allow" }).click();
    const answer = await back(page);
    expect(answer).toMatchObject({ code: expect.stringMatching(/^[\w-]{43}$/), state: "st&1", iss: visits.server.url });

    await page.goto(visits.ask());
    expect((await back(page)).code).not.toBe(answer.code);
    expect(problems).toEqual([]);
    await close();
  });

  test("a user who denies returns to the client with access_denied", async () => {
    const { page, problems, close } = await atConsent(options);
    await page.getByRole("button", { name: "Deny" }).click();
    expect(await back(page)).toMatchObject({ error: "access_denied", state: "st&1" });
    expect(problems).toEqual([]);
    await close();
  });

  test("a user removes access on the account page and signs out everywhere", async () => {
    const { page, problems, close } = await atConsent(options);
    await page.getByRole("button", { name: "Allow" }).click();
    await back(page);
    await page.goto(`${visits.server.url}/account`);
    await page.getByRole("button", { name: "Remove access from Field Notes" }).click();
    await page.getByText("No application has access").waitFor();
    await page.goto(visits.ask());
    await page.getByRole("heading", { name: "Field Notes asks for access" }).waitFor();
    await page.goto(`${visits.server.url}/account`);
    await page.getByRole("navigation", { name: "Your account" }).getByRole("link", { name: "Security" }).click();
    await page.getByRole("button", { name: "Sign out everywhere" }).click();
    await page.getByRole("heading", { name: "You are signed out" }).waitFor();
    await page.goto(`${visits.server.url}/account`);
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});

describe("users with a keyboard only", () => {
  test("can sign in and decide; Deny comes before Allow", async () => {
    const { page, close } = await openPage(visits.browser);
    const email = visits.freshEmail();
    await page.goto(visits.ask());
    await signUp(page, email);
    await page.context().clearCookies();
    await page.goto(visits.ask());
    await page.locator("#email:focus").waitFor();
    await page.keyboard.type(email);
    await page.keyboard.press("Tab");
    await page.keyboard.type(PASSWORD);
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Field Notes asks for access" }).waitFor();
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.trim());
    const stops: (string | undefined)[] = [];
    for (let stop = 0; stop < 8 && (await focused()) !== "Deny"; stop++) {
      await page.keyboard.press("Tab");
      stops.push(await focused());
    }
    await page.keyboard.press("Tab");
    expect([...stops.slice(-1), await focused()]).toEqual(["Deny", "Allow"]);
    const outline = await page.evaluate(() => getComputedStyle(document.activeElement as Element).outlineStyle);
    expect(outline).toBe("solid");
    await page.keyboard.press("Enter");
    expect(await back(page)).toHaveProperty("code");
    await close();
  });

  test("an error summary links to the field", async () => {
    const { page, close } = await openPage(visits.browser);
    await page.goto(`${visits.server.url}/signup`);
    await page.getByLabel("E-mail address").fill(visits.freshEmail());
    await page.getByLabel("Password").fill("iloveyou");
    await page.getByRole("button", { name: "Create account" }).click();
    await page.getByRole("alert").getByRole("link").click();
    expect(await page.evaluate(() => document.activeElement?.id)).toBe("password");
    expect(await page.title()).toMatch(/^Error:/);
    expect(await page.getByLabel("Password").getAttribute("aria-invalid")).toBe("true");
    await close();
  });
});

test("the accessibility checks report each kind of flaw", async () => {
  const { page, close } = await openPage(visits.browser);
  await page.setContent('<h1>A</h1><h3>B</h3><p style="color:#999;background:#fff">grey</p><input name="x"><button></button>');
  const flaws = (await flawsOf(page)).join("\n");
  for (const flaw of ["no language", "no title", "not one main", "jumps to B", "contrast 2.85: grey", "no label: x", "without a name"]) {
    expect(flaws).toContain(flaw);
  }
  await close();
});
