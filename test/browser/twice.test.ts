import { setTimeout } from "node:timers/promises";
import type { Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { openPage } from "../support/chromium.ts";
import { startSlowAnswers } from "../support/slow-answers.ts";
import { untilAnswered } from "../support/until-answered.ts";
import { PASSWORD, startVisits, type Visits } from "../support/visits.ts";

/** Milliseconds between the two clicks of a double click. */
const BETWEEN = 150;

let visits: Visits;
let slow: Awaited<ReturnType<typeof startSlowAnswers>>;
beforeAll(async () => {
  [visits, slow] = await Promise.all([startVisits("twice"), startSlowAnswers()]);
});
afterAll(() => Promise.all([visits.close(), slow.close()]));

let count = 0;
const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();

describe.each([{ javaScriptEnabled: false }, { javaScriptEnabled: true }])("double clicks, scripts: $javaScriptEnabled", (options) => {
  /** Without scripts the second form is sent as well, and fails because the first has ended the session or used the link. */
  const scripted = (title: string, body: () => Promise<void>): void => {
    if (options.javaScriptEnabled) test(title, body);
  };
  afterEach(() => {
    const repeated = slow.forms.filter((path, index) => path === slow.forms[index - 1]);
    expect(repeated.length > 0).toBe(!options.javaScriptEnabled);
    slow.forms.length = 0;
  });
  /** A user who clicks every button twice. */
  async function hasty() {
    const opened = await openPage(visits.browser, { ...options, proxy: { server: slow.url } });
    const { page } = opened;
    const email = visits.freshEmail();
    count += 1;
    await page.context().setExtraHTTPHeaders({ "x-forwarded-for": `198.51.100.${count}` });
    const twice = async (name: string) => {
      const button = page.getByRole("button", { name, exact: true });
      await button.click({ trial: true }); // waits until it takes clicks
      const box = await button.boundingBox();
      const [x, y] = [(box?.x ?? 0) + 10, (box?.y ?? 0) + 10];
      const before = slow.forms.length;
      slow.hold();
      await page.mouse.click(x, y);
      await setTimeout(BETWEEN);
      await expect.poll(() => slow.forms.length).toBe(before + 1);
      await page.mouse.down({ clickCount: 2 });
      await page.mouse.up({ clickCount: 2 });
      await expect.poll(() => slow.forms.length).toBe(before + (options.javaScriptEnabled ? 1 : 2));
      await setTimeout(BETWEEN); // in which a form too many would be sent
      slow.release();
    };
    return { ...opened, page, email, twice };
  }
  async function member() {
    const user = await hasty();
    const body = JSON.stringify({ email: user.email, password: PASSWORD });
    const headers = { "content-type": "application/json", "x-forwarded-for": `192.0.2.${count}` };
    expect((await untilAnswered(() => fetch(`${visits.server.url}/auth/register`, { method: "POST", body, headers }))).status).toBe(201);
    return user;
  }
  /** A user whose browser has a session already. */
  async function signedIn() {
    const user = await member();
    const session = aBrowser(visits.server.url, { "x-forwarded-for": `192.0.2.${count}` });
    expect((await untilAnswered(() => session.json("/auth/login", { email: user.email, password: PASSWORD }))).status).toBe(200);
    await user.page.context().addCookies([...session.cookies].map(([name, value]) => ({ name, value, url: visits.server.url })));
    return user;
  }

  test("sign-up creates one account", async () => {
    const { page, email, twice } = await hasty();
    await page.goto(`${visits.server.url}/signup`);
    await page.getByLabel("E-mail address").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await twice("Create account");
    await heading(page, "Your account");
    expect(await visits.server.mailsTo(email, 1)).toHaveLength(1);
    await page.close();
  });

  scripted("sign-in starts one session", async () => {
    const { page, email, twice } = await member();
    await page.goto(`${visits.server.url}/login`);
    await page.getByLabel("E-mail address").fill(email);
    await page.getByLabel("Password").fill(PASSWORD);
    await twice("Sign in");
    await heading(page, "Your account");
    await page.goto(`${visits.server.url}/account/security`);
    expect(await page.getByRole("heading", { name: "Where you are signed in" }).locator("xpath=..").locator("li").count()).toBe(1);
    await page.close();
  });

  test.for([
    ["Allow", "a sign-in", { scope: "openid" }, "code"],
    ["Allow", "offline access", { scope: "openid offline_access" }, "code"],
    ["Allow", "prompt=consent", { scope: "openid", prompt: "consent" }, "code"],
    ["Deny", "a sign-in", { scope: "openid" }, "error"],
  ] as const)("consent: %s for %s", async ([button, , members, answer]) => {
    const { page, twice } = await signedIn();
    await page.goto(visits.ask(members));
    await twice(button);
    await heading(page, "Back at the client");
    expect(new URL(page.url()).searchParams.has(answer)).toBe(true);
    await page.close();
  });

  scripted("a click on Allow counts once the page is in front for half a second, also where a window above it has closed", async () => {
    const { page } = await signedIn();
    await page.clock.install();
    await page.goto(visits.ask({ scope: "openid" }));
    await page.clock.pauseAt(Date.now() + 60_000);
    const allow = page.getByRole("button", { name: "Allow" });
    /** Clicks at once, and says whether that counted for nothing. */
    const ignored = async () => {
      await page.evaluate(() => {
        addEventListener("click", (event) => Object.assign(document.body.dataset, { ignored: event.defaultPrevented }), { once: true });
      });
      await allow.click({ force: true });
      return page.evaluate(() => document.body.dataset.ignored);
    };
    const comeToFront = () => page.evaluate(() => dispatchEvent(new Event("focus")));
    await comeToFront();
    expect(await ignored()).toBe("true");
    await page.clock.runFor(499);
    expect(await ignored()).toBe("true");
    await page.clock.runFor(1);
    await comeToFront();
    expect(await ignored()).toBe("true");
    await page.clock.runFor(500);
    await allow.click();
    await heading(page, "Back at the client");
    await page.close();
  });

  test("removing access removes it once", async () => {
    const { page, twice } = await signedIn();
    await page.goto(visits.ask({ scope: "openid" }));
    await page.getByRole("button", { name: "Allow" }).click();
    await heading(page, "Back at the client");
    await page.goto(`${visits.server.url}/account`);
    await twice("Remove access from Field Notes");
    await page.getByRole("status").waitFor();
    await heading(page, "Your account");
    await page.close();
  });

  scripted("a password change succeeds once", async () => {
    const { page, twice } = await signedIn();
    await page.goto(`${visits.server.url}/account/security/password`);
    await page.getByRole("textbox", { name: "New password" }).fill("a brand new battery");
    await twice("Change password");
    await page.getByRole("status").getByText("Your password has been changed.").waitFor();
    await page.close();
  });

  scripted("a password reset succeeds once", async () => {
    const { page, email, twice } = await member();
    await page.goto(`${visits.server.url}/forgot`);
    await page.getByLabel("E-mail address").fill(email);
    await twice("Send me the link");
    await heading(page, "Check your mail");
    await page.goto(`${visits.server.url}/reset?token=${await visits.server.resetTokenFor(email, 2)}`);
    await page.getByLabel("New password").fill("a brand new battery");
    await twice("Change password");
    await heading(page, "Your password has been changed");
    await page.close();
  });

  test.for([
    ["Sign out", "/logout"],
    ["Sign out everywhere", "/account/security"],
  ] as const)("%s succeeds", async ([button, path]) => {
    const { page, twice } = await signedIn();
    await page.goto(visits.server.url + path);
    await twice(button);
    await heading(page, "You are signed out");
    await page.close();
  });

  scripted("deleting the account succeeds", async () => {
    const { page, twice } = await signedIn();
    await page.goto(`${visits.server.url}/account/delete`);
    await twice("Delete my account");
    await heading(page, "Your account has been deleted");
    await page.close();
  });
});
