import type { Browser, BrowserContextOptions, Page, Route } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { axeFlaws } from "../support/axe.ts";
import { flawsOf, loading, openPage, startCallback, startChromium } from "../support/chromium.ts";
import { runText } from "../support/database.ts";
import { flawsInEveryView } from "../support/every-view.ts";
import { PASSWORD } from "../support/flow.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { aVirtualAuthenticator } from "../support/virtual-authenticator.ts";

const BANK = "https://bank.example.test/mcp";

let browser: Browser;
let callback: Awaited<ReturnType<typeof startCallback>>;
let server: TestServer;
beforeAll(async () => {
  [browser, callback] = await Promise.all([startChromium(), startCallback()]);
  const client = { clientId: "app", name: "Field Notes", redirectUris: [callback.uri], tokenEndpointAuthMethod: "none" };
  const scopes = ["openid", "notes:read"];
  server = await startServer({
    provision: {
      users: [],
      clients: [{ ...client, scopes, grantTypes: ["authorization_code"], environment: "development" }],
      resources: [{ resource: BANK, scopes: [{ name: "notes:read", stepUp: { acr: "phr" } }] }],
    },
  });
});
afterAll(() => Promise.all([browser.close(), callback.close(), server.close()]));

const add = (page: Page) => page.getByRole("button", { name: "Add a passkey" });
const withPasskey = (page: Page) => page.getByRole("button", { name: "Sign in with a passkey" });

async function signInByPassword(page: Page, email: string): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password", { exact: true }).fill(PASSWORD);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}

/** A user at the security page, in a browser with an authenticator. */
async function atSecurity(options: BrowserContextOptions = {}) {
  const { email } = await server.signedInUser();
  const opened = await openPage(browser, { bypassCSP: true, ...options }); // axe is a script of the page
  const { page } = opened;
  const authenticator = await aVirtualAuthenticator(page);
  await page.goto(`${server.url}/login?next=/account/security`);
  await signInByPassword(page, email);
  await page.getByRole("heading", { name: "Passkeys" }).waitFor();
  return { ...opened, email, authenticator };
}

async function withNewPasskey(options: BrowserContextOptions = {}) {
  const opened = await atSecurity(options);
  await opened.page.getByLabel("Name of the passkey").fill("My laptop");
  await add(opened.page).click();
  await opened.page.getByText("The passkey has been added.").waitFor();
  return opened;
}

/** From its next page on, the browser suggests no passkey by itself: a click would race with what it suggests. */
const withoutSuggestions = (page: Page) =>
  page.addInitScript(() => {
    PublicKeyCredential.isConditionalMediationAvailable = async () => false;
  });

const signOut = async (page: Page) => {
  await page.context().clearCookies();
  await page.goto(`${server.url}/login`);
};

describe("passkeys, docs/protocol.md#passkeys", () => {
  test("a page whose user has signed out in another tab leads to the sign-in", async () => {
    const { page, close } = await atSecurity();
    const other = await page.context().newPage();
    await other.goto(`${server.url}/logout`);
    await loading(other, () => other.getByRole("button", { name: "Sign out" }).click());
    await page.bringToFront();
    await add(page).click();
    await page.getByRole("heading", { name: "Sign in" }).waitFor();
    await close();
  });

  test("a second click asks again, and reports no failure of the first", async () => {
    const { page, close } = await atSecurity();
    await page.evaluate(() => {
      document.body.dataset.asked = "0";
      navigator.credentials.create = (options) =>
        new Promise((_, reject) => {
          document.body.dataset.asked = String(Number(document.body.dataset.asked) + 1);
          options?.signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")));
        });
    });
    for (const asked of [1, 2]) {
      await add(page).click();
      await page.locator(`body[data-asked='${asked}']`).waitFor();
    }
    expect(await page.getByText("No passkey was added.").isVisible()).toBe(false);
    await close();
  });

  test("an answer or a failure of a first click that comes after a second one changes nothing", async () => {
    const { page, close } = await atSecurity();
    await page.evaluate(() => {
      const { dataset } = document.body;
      navigator.credentials.create = () => {
        dataset.asked = String(Number(dataset.asked ?? 0) + 1);
        return new Promise(() => undefined);
      };
    });
    const held: Route[] = [];
    await page.route("**/options", (route) => (held.length < 2 ? void held.push(route) : route.continue()));
    await add(page).click();
    await add(page).click();
    await expect.poll(() => held.length).toBe(2);
    await add(page).click();
    await page.locator("body[data-asked='1']").waitFor();
    const finished = async (answer: (route: Route) => Promise<void>): Promise<void> => {
      const [route] = held.splice(0, 1);
      if (route === undefined) return;
      await answer(route);
      await route.request().response();
    };
    await finished((route) => route.continue());
    await finished((route) => route.fulfill({ status: 503 }));
    await page.evaluate(() => new Promise(requestAnimationFrame));
    expect(await page.getByText("No passkey was added.").isVisible()).toBe(false);
    expect(await page.locator("body").getAttribute("data-asked")).toBe("1");
    await close();
  });

  test("says so where the server cannot be reached, and can be tried again", async () => {
    const { page, close } = await atSecurity();
    await page.context().setOffline(true);
    await add(page).click();
    await page.getByText("No passkey was added.").waitFor();
    await page.context().setOffline(false);
    await add(page).click();
    await page.getByText("The passkey has been added.").waitFor();
    await close();
  });

  test("does not call a passkey refused where too many were asked for", async () => {
    const busy = await startServer({ provision: {} });
    const { page, close } = await openPage(browser);
    await withoutSuggestions(page);
    await page.goto(`${busy.url}/login`);
    const status = await page.evaluate(async () => {
      const form = document.querySelector<HTMLFormElement>("form[data-passkey]");
      const body = new URLSearchParams([...new FormData(form ?? undefined)].map(([name, value]) => [name, String(value)]));
      let last = 0;
      for (let n = 0; n < 1300 && last !== 429; n += 50)
        for (const { status } of await Promise.all(
          Array.from({ length: 50 }, () => fetch(form?.dataset.options ?? "", { method: "POST", body })),
        ))
          last = Math.max(last, status);
      return last;
    });
    expect(status).toBe(429);
    await withPasskey(page).click();
    await page.getByText("That did not work.").waitFor();
    expect(page.url()).toBe(`${busy.url}/login`);
    await Promise.all([close(), busy.close()]);
  });

  test("a user adds a passkey, renames it, signs in without a name and removes it; a mail reports both changes", async () => {
    const { page, problems, email, authenticator, close } = await withNewPasskey();
    expect(await authenticator.passkeys()).toMatchObject([{ isResidentCredential: true, rpId: "localhost" }]);
    expect(await page.getByRole("heading", { name: "My laptop" }).isVisible()).toBe(true);
    expect(await flawsOf(page)).toEqual([]);
    expect(await axeFlaws(page)).toEqual([]);
    await page.getByText("Rename", { exact: true }).first().click();
    await page.locator("details input[name=name]").fill("Old laptop");
    await page.getByRole("button", { name: "Rename" }).click();
    await page.getByRole("heading", { name: "Old laptop" }).waitFor();
    await add(page).click();
    await page.getByText("This device has a passkey for your account already.").waitFor();
    await signOut(page);
    await page.waitForURL(`${server.url}/account`);
    await page.goto(`${server.url}/account/security`);
    await page.getByText(/^Added today, /).waitFor();
    await page.getByText(/^Last used today, /).waitFor();
    await page.getByRole("button", { name: "Remove the passkey Old laptop" }).click();
    await page.getByText("You have no passkey yet.").waitFor();
    await expect.poll(() => server.mailTo(email) ?? "").toContain("passkey");
    expect(problems).toEqual([]);
    await close();
  });

  test("the browser suggests the passkey in the field for the address, and signs in without a click", async () => {
    const { page, close } = await withNewPasskey();
    await signOut(page);
    await page.waitForURL(`${server.url}/account`);
    await close();
  });

  test("the passkey that the browser suggests signs in also after the page was open for longer than its challenge lasts", async () => {
    const { page, authenticator, close } = await withNewPasskey();
    await authenticator.touches(false);
    await page.clock.install();
    await page.addInitScript(() => {
      const { credentials } = navigator;
      const get = credentials.get.bind(credentials);
      credentials.get = (options) => {
        document.documentElement.dataset.asked = "";
        return get(options);
      };
    });
    await signOut(page);
    await page.locator("html[data-asked]").waitFor();
    await runText(server.database.sql, "update proof_challenges set expires_at = now()");
    await page.clock.fastForward(5 * 60_000);
    await authenticator.touches(true);
    await page.getByLabel("E-mail address").click();
    await page.waitForURL(`${server.url}/account`);
    await close();
  });

  test("a suggestion that is late does not take the place of what the user has asked for", async () => {
    const { page, close } = await withNewPasskey();
    await page.addInitScript(() => {
      const asked: string[] = [];
      navigator.credentials.get = ({ mediation = "click" } = {}) => {
        asked.push(mediation);
        document.documentElement.dataset.asked = asked.join(" ");
        return new Promise(() => undefined);
      };
    });
    const suggestion = Promise.withResolvers<void>();
    const options = "**/login/passkey/options";
    await page.route(options, (route) => suggestion.promise.then(() => route.continue()), { times: 1 });
    const [late] = await Promise.all([page.waitForRequest(options), signOut(page)]);
    await withPasskey(page).click();
    await page.locator("html[data-asked='click']").waitFor();
    suggestion.resolve();
    await (await late.response())?.finished();
    await withPasskey(page).click();
    await page.locator("html[data-asked='click click']").waitFor();
    await close();
  });

  test("an application that needs a passkey gets acr phr after the user confirms with it, and its request survives", async () => {
    const { page, close } = await withNewPasskey();
    await withoutSuggestions(page);
    const path = server.authorizeUrl({ clientId: "app", redirectUri: callback.uri }, { ...CHALLENGE, scope: "openid", acr_values: "phr" });
    await page.goto(`${server.url}${path}`);
    await page.getByText("This app needs a sign-in with a passkey.").waitFor();
    await page.getByRole("heading", { name: "Confirm that it is you" }).waitFor();
    await withPasskey(page).click();
    await page.getByRole("button", { name: "Allow" }).click();
    await page.waitForURL(/\/cb\?code=/);
    const code = new URL(page.url()).searchParams.get("code") ?? "";
    const fields = { grant_type: "authorization_code", code, redirect_uri: callback.uri, code_verifier: VERIFIER, client_id: "app" };
    const { body } = await server.form("/oauth/token", fields);
    expect(JSON.parse(Buffer.from(body.id_token.split(".")[1], "base64url").toString())).toMatchObject({
      acr: "phr",
      amr: ["hwk", "user"],
    });
    await close();
  });

  test("a user without a passkey is led to add one where a scope demands it, in two tabs, by keyboard at 390 pixels, without a flaw", async () => {
    const { email } = await server.signedInUser();
    const { page, close } = await openPage(browser, { bypassCSP: true, viewport: { width: 390, height: 844 } });
    const authenticator = await aVirtualAuthenticator(page);
    await authenticator.verifies(false);
    const request = (state: string) =>
      server.url +
      server.authorizeUrl({ clientId: "app", redirectUri: callback.uri }, { ...CHALLENGE, scope: "notes:read", resource: BANK, state });
    const other = await page.context().newPage();
    await other.goto(request("other"));
    await page.bringToFront(); // only the page in front may use passkeys
    await page.goto(request("this"));
    await signInByPassword(page, email);
    await page.getByRole("heading", { name: "Set up a stronger sign-in" }).waitFor();
    for (const other of ["Deutsch", "English"]) {
      expect(await flawsInEveryView(page)).toEqual([]);
      await loading(page, () => page.getByRole("link", { name: other }).click());
    }
    await authenticator.verifies(true);
    await add(page).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Allow" }).click(); // the browser has suggested the new passkey on the sign-in page
    await page.waitForURL(/\/cb\?code=.*state=this/);
    await other.reload();
    await other.waitForURL(/\/cb\?code=.*state=other/);
    await close();
  });

  test("a lost key, a check that the user does not pass and a copied key start no session; the copy is mailed", async () => {
    const { page, email, authenticator, close } = await withNewPasskey();
    await authenticator.verifies(false);
    await signOut(page);
    await withPasskey(page).click();
    await page.getByText("That did not work.").waitFor();
    await authenticator.setCounter(0);
    await authenticator.verifies(true);
    await signOut(page);
    await page.getByText("This passkey has been copied").first().waitFor();
    expect(page.url()).toBe(`${server.url}/login/passkey`);
    await expect.poll(() => server.mailTo(email) ?? "").toContain("copy of your passkey");
    await authenticator.lose();
    await page.goto(`${server.url}/login`);
    await withPasskey(page).click();
    await page.getByText("That did not work.").waitFor();
    await signInByPassword(page, email);
    await page.waitForURL(`${server.url}/account`);
    await close();
  });

  test("the device of a copied passkey can make another one at once", async () => {
    const { page, email, authenticator, close } = await withNewPasskey();
    await withoutSuggestions(page);
    await authenticator.setCounter(0);
    await signOut(page);
    await withPasskey(page).click();
    await page.getByText("This passkey has been copied").first().waitFor();
    await page.goto(`${server.url}/login?next=/account/security`);
    await signInByPassword(page, email);
    await add(page).click();
    await page.getByText("The passkey has been added.").waitFor();
    await signOut(page);
    await withPasskey(page).click();
    await page.waitForURL(`${server.url}/account`);
    await close();
  });

  test("where domains decide, a user whose address is not confirmed reads so, and how to get another link", async () => {
    const strict = await startServer({ env: { SIGN_UP: "domains", SIGN_UP_DOMAINS: "example.test" } });
    const { page, close } = await openPage(browser);
    await aVirtualAuthenticator(page);
    const email = "unproved@example.test";
    await fetch(`${strict.url}/auth/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ email, password: PASSWORD }),
    });
    await strict.get(`/auth/verify?token=${await strict.verificationToken(email)}`);
    await page.goto(`${strict.url}/login?next=/account/security`);
    await signInByPassword(page, email);
    await add(page).click();
    await page.getByText("The passkey has been added.").waitFor();
    await runText(strict.database.sql, "update users set email_verified = false");
    await page.context().clearCookies();
    await page.goto(`${strict.url}/login`);
    await page.getByText("Your e-mail address is not confirmed yet.").first().waitFor(); // the browser has suggested the passkey
    await signInByPassword(page, email);
    await page.waitForURL(`${strict.url}/signup/sent`);
    await Promise.all([close(), strict.close()]);
  });

  test("works by keyboard alone at 390 pixels, without a flaw", async () => {
    const { page, close } = await atSecurity({ viewport: { width: 390, height: 844 }, colorScheme: "dark" });
    await page.getByLabel("Name of the passkey").focus();
    await page.keyboard.type("Phone");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "Phone" }).waitFor();
    expect([...(await flawsOf(page)), ...(await axeFlaws(page))]).toEqual([]);
    await withoutSuggestions(page);
    await signOut(page);
    expect([...(await flawsOf(page)), ...(await axeFlaws(page))]).toEqual([]);
    await withPasskey(page).focus();
    await page.keyboard.press("Enter");
    await page.waitForURL(`${server.url}/account`);
    await close();
  });

  test("without scripts the page has no button for passkeys, and the password works", async () => {
    const { email } = await server.signedInUser();
    const { page, close } = await openPage(browser, { javaScriptEnabled: false });
    await page.goto(`${server.url}/login`);
    expect(await withPasskey(page).isVisible()).toBe(false);
    await signInByPassword(page, email);
    await page.waitForURL(`${server.url}/account`);
    await close();
  });
});

const VERIFIER = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
const CHALLENGE = { code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM" };
