import type { Browser, BrowserContextOptions, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { flawsOf, loading, openPage, startChromium } from "../support/chromium.ts";
import { type PagesServer, startPagesServer } from "../support/pages-server.ts";
import { untilAnswered } from "../support/until-answered.ts";
import { signIn as fillSignIn, PASSWORD } from "../support/visits.ts";

const NEW = "a brand new battery";

let browser: Browser;
let server: PagesServer;
beforeAll(async () => {
  [browser, server] = await Promise.all([startChromium(), startPagesServer()]);
});
afterAll(async () => {
  await browser.close();
  await server.close();
});

const register = (email: string, members: object = {}) =>
  untilAnswered(() => aBrowser(server.url).json("/auth/register", { email, password: PASSWORD, ...members }));
/** Starts another session of a user. */
const signInBy = (other: ReturnType<typeof aBrowser>, email: string) =>
  untilAnswered(() => other.json("/auth/login", { email, password: PASSWORD }));

let count = 0;
async function user() {
  const email = `a${++count}@example.test`;
  await register(email, { firstName: "Ada" });
  await server.mailsTo(email, 1);
  return email;
}

async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.goto(`${server.url}/login`);
  await fillSignIn(page, email, password);
}

/** A page of a signed-in user, at their account. */
async function atAccount(options: BrowserContextOptions = {}) {
  const [opened, email] = [await openPage(browser, options), await user()];
  await signIn(opened.page, email, PASSWORD);
  await opened.page.getByRole("heading", { name: "Your account" }).waitFor();
  return { ...opened, email };
}

const toPart = (page: Page, name: string) => page.getByRole("navigation", { name: "Your account" }).getByRole("link", { name }).click();

describe.each([{ javaScriptEnabled: false }, { javaScriptEnabled: true }])("the account pages, scripts: $javaScriptEnabled", (options) => {
  test("a user resets a forgotten password from the sign-in page, by a link in a mail that works once", async () => {
    const { page, problems, close } = await openPage(browser, options);
    const email = await user();
    await page.goto(`${server.url}/login`);
    await page.getByRole("link", { name: "Forgot your password?" }).click();
    await page.getByLabel("E-mail address").fill(email);
    await page.getByRole("button", { name: "Send me the link" }).click();
    await page.getByRole("heading", { name: "Check your mail" }).waitFor();
    const link = `${server.url}/reset?token=${await server.resetTokenFor(email, 2)}`;
    await page.goto(link);
    await page.getByLabel("New password").fill("short");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByRole("alert").getByText("at least 8 characters").waitFor();
    await page.getByLabel("New password").fill(NEW);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByRole("heading", { name: "Your password has been changed" }).waitFor();
    await page.goto(link);
    await page.getByRole("heading", { name: "This link no longer works" }).waitFor();
    await signIn(page, email, NEW);
    await page.getByRole("heading", { name: "Your account" }).waitFor();
    expect(problems).toEqual([]);
    await close();
  });

  test("a user changes their name, and their password, which signs out all other sessions", async () => {
    const { page, email, problems, close } = await atAccount(options);
    const other = aBrowser(server.url);
    await signInBy(other, email);
    await page.getByLabel("Last name").fill("Lovelace");
    await page.getByRole("button", { name: "Save name" }).click();
    await page.getByRole("status").getByText("Your name has been saved.").waitFor();
    expect(await page.getByText("Ada Lovelace").isVisible()).toBe(true);

    await toPart(page, "Security");
    await page.getByRole("link", { name: "Choose a new password" }).click();
    await page.getByLabel("New password").fill("short");
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByRole("alert").getByRole("link", { name: "Choose a password of at least 8 characters." }).click();
    expect(await page.getByLabel("New password").getAttribute("aria-invalid")).toBe("true");
    await page.getByLabel("New password").fill(NEW);
    await page.getByRole("button", { name: "Change password" }).click();
    await page.getByRole("status").getByText("Your password has been changed.").waitFor();
    expect((await other.json("/consents", undefined, "GET")).status).toBe(401);
    expect(problems).toEqual([]);
    await close();
  });

  test("a user recognizes another session by its browser, signs it out, and then signs out all others", async () => {
    const { page, email, problems, close } = await atAccount(options);
    const others = ["Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", "curl/8.5.0", "wget/1.0"].map((agent) =>
      aBrowser(server.url, { "user-agent": agent }),
    );
    for (const other of others) await signInBy(other, email);
    await toPart(page, "Security");
    await page.getByRole("button", { name: /^Sign out Firefox on Linux, signed in on / }).click();
    await page.getByRole("status").getByText("The session has been signed out.").waitFor();
    const alive = () => Promise.all(others.map(async (other) => (await other.json("/consents", undefined, "GET")).status));
    expect(await alive()).toEqual([401, 200, 200]);
    await page.getByRole("button", { name: "Sign out all others" }).click();
    await page.getByRole("status").getByText("All other sessions have been signed out.").waitFor();
    expect(await alive()).toEqual([401, 401, 401]);
    expect(await page.getByRole("button", { name: "Sign out all others" }).count()).toBe(0);
    expect(problems).toEqual([]);
    await close();
  });

  test("a user deletes their account and cannot sign in afterwards", async () => {
    const { page, email, problems, close } = await atAccount(options);
    await toPart(page, "Security");
    await page.getByRole("link", { name: "Delete my account" }).click();
    await page.getByText("This cannot be undone.").waitFor();
    await page.getByRole("button", { name: "Delete my account" }).click();
    await page.getByRole("heading", { name: "Your account has been deleted" }).waitFor();
    await signIn(page, email, PASSWORD);
    await page.getByRole("alert").getByText("Wrong e-mail address or password.").waitFor();
    expect(problems).toEqual([]);
    await close();
  });
});

test("where the browser runs scripts, a password can be shown until it is sent, and times are the user's", async () => {
  const { page, problems, close } = await openPage(browser, { timezoneId: "Asia/Tokyo" });
  const email = await user();
  await page.goto(`${server.url}/login`);
  const password = page.getByRole("textbox", { name: "Password" });
  await password.fill("wrong password");
  await page.getByRole("button", { name: "Show" }).click();
  expect(await password.getAttribute("type")).toBe("text");
  await page.getByRole("button", { name: "Hide" }).click();
  expect(await password.getAttribute("type")).toBe("password");
  await fillSignIn(page, email, PASSWORD);
  await page.getByRole("heading", { name: "Your account" }).waitFor();
  await page.goto(`${server.url}/account/security`);
  const time = page.locator("time[data-shows=moment]").first();
  const [at, shown] = [await time.getAttribute("datetime"), await time.textContent()];
  const clock = new Date(at ?? "").toLocaleTimeString("en-GB", { timeStyle: "short", timeZone: "Asia/Tokyo" });
  expect(shown).toMatch(new RegExp(`^(?:today|yesterday), ${clock}$`));
  expect(problems).toEqual([]);
  await close();
});

test.each([
  ["en-GB", "You are signed in as"],
  ["de-DE", "Sie sind angemeldet als"],
])(
  "every page of the account names it beside the link to sign out, in one line at 320 pixels however long it is: %s",
  async (locale, words) => {
    const { page, problems, close } = await openPage(browser, { locale, viewport: { width: 320, height: 640 } });
    const email = `${"long.".repeat(10)}${++count}@${"sub.".repeat(20)}example.test`;
    await register(email);
    await page.goto(`${server.url}/login`);
    for (const [name, value] of Object.entries({ email, password: PASSWORD })) await page.locator(`[name=${name}]`).fill(value);
    await loading(page, () => page.locator("form:has([name=password]) button[type=submit]").click());
    for (const path of ["", "/agents", "/security", "/security/password", "/delete"]) {
      await page.goto(`${server.url}/account${path}`);
      const named = page.locator(".top").getByText(email, { exact: true });
      expect(await named.getAttribute("title")).toBe(`${words} ${email}`);
      const [shown, signOut] = await Promise.all([named.boundingBox(), page.locator(".top a[href$='/logout']").boundingBox()]);
      expect([path, shown?.y, (shown?.width ?? 0) > 80]).toEqual([path, signOut?.y, true]);
      expect(await flawsOf(page)).toEqual([]);
    }
    await page.goto(`${server.url}/logout`);
    expect(await page.locator(".top").getByText(email).count()).toBe(0);
    expect(problems).toEqual([]);
    await close();
  },
);

describe("WCAG 2.2 AA: structure, names, contrast and reflow of the account pages", () => {
  test.for([
    { colorScheme: "light", viewport: { width: 320, height: 640 }, locale: "en-GB" },
    { colorScheme: "dark", viewport: { width: 320, height: 640 }, locale: "de-DE" },
    { colorScheme: "light", viewport: { width: 1280, height: 800 }, locale: "de-DE" },
    { colorScheme: "dark", viewport: { width: 1280, height: 800 }, locale: "en-GB" },
  ] as const)("$locale, $colorScheme, $viewport.width pixels wide", async (options) => {
    const { page, close } = await openPage(browser, options);
    const email = await user();
    const flaws: Record<string, string[]> = {};
    const look = async (name: string) => {
      const found = await flawsOf(page);
      if (found.length > 0) flaws[name] = found;
    };
    const fill = async (fields: Record<string, string>) => {
      for (const [name, value] of Object.entries(fields)) await page.locator(`[name=${name}]`).fill(value);
      const form = page.locator("form:has([name=email]), form:has([name=password])").first();
      await loading(page, () => form.locator("button[type=submit]").click());
    };
    await page.goto(`${server.url}/forgot`);
    await look("forgot");
    await fill({ email: "x@" });
    await look("forgot, faulty");
    await fill({ email });
    await look("forgot, sent");
    await page.goto(`${server.url}/reset?token=${await server.resetTokenFor(email, 2)}`);
    await look("reset");
    await fill({ password: "short" });
    await look("reset, faulty");
    await fill({ password: PASSWORD });
    await look("reset, done");
    await page.goto(`${server.url}/reset?token=x`);
    await look("reset, stale");
    await page.goto(`${server.url}/login`);
    await fill({ email, password: PASSWORD });
    await look("account");
    await signInBy(aBrowser(server.url), email);
    await page.goto(`${server.url}/account/security`);
    await look("security");
    await page.goto(`${server.url}/account/security/password`);
    await look("password");
    await fill({ password: "short" });
    await look("password, faulty");
    await page.goto(`${server.url}/account/delete`);
    await look("delete");
    await loading(page, () => page.getByRole("button", { name: /account|Konto/ }).click());
    await look("deleted");
    expect(flaws).toEqual({});
    expect(new URL(page.url()).pathname).toBe("/account/deleted");
    await close();
  });
});
