import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openPage } from "../support/chromium.ts";
import { authorizePath } from "../support/pages-server.ts";
import { PASSWORD, signIn, startVisits, type Visits } from "../support/visits.ts";

let visits: Visits;
beforeAll(async () => {
  visits = await startVisits("path");
});
afterAll(() => visits.close());

const heading = (page: Page, name: string) => page.getByRole("heading", { level: 1, name }).waitFor();
const click = (page: Page, role: "button" | "link", name: string) => page.getByRole(role, { name, exact: true }).click();

let accounts = 0;

/** A registered account with which no one has signed in yet. */
async function anAccount(): Promise<string> {
  const email = visits.freshEmail();
  const body = JSON.stringify({ email, password: PASSWORD });
  const headers = { "content-type": "application/json", "x-forwarded-for": `192.0.2.${++accounts}` };
  expect((await fetch(`${visits.server.url}/auth/register`, { method: "POST", body, headers })).status).toBe(201);
  return email;
}

describe.each([{ javaScriptEnabled: false }, { javaScriptEnabled: true }])(
  "the pages, found by role and label, scripts: $javaScriptEnabled",
  (options) => {
    const open = async (more: object = {}) => {
      const opened = await openPage(visits.browser, { ...options, ...more });
      const done = () => {
        expect(opened.problems).toEqual([]);
        return opened.close();
      };
      return { ...opened, done };
    };

    test("sign-up shows errors at their fields, refuses an address that is taken, and sends the mail again", async () => {
      const taken = await anAccount();
      const { page, done } = await open();
      await page.goto(`${visits.server.url}/signup`);
      await page.getByLabel("E-mail address").fill("no address");
      await page.getByLabel("Password").fill(PASSWORD);
      await click(page, "button", "Create account");
      await page.getByRole("alert").getByText("Enter an e-mail address, such as name@example.com.").waitFor();
      await page.getByLabel("E-mail address").fill(taken);
      await page.getByLabel("Password").fill("another horse battery");
      await click(page, "button", "Create account");
      await page.getByRole("alert").getByText("There is already an account with this e-mail address.").waitFor();
      const email = visits.freshEmail();
      await page.getByLabel("E-mail address").fill(email);
      await page.getByLabel("Password").fill(PASSWORD);
      await click(page, "button", "Create account");
      await heading(page, "Your account");
      await page.goto(`${visits.server.url}/signup/sent`);
      await heading(page, "Check your mail");
      await click(page, "button", "Send it again");
      await page.getByText(`If ${email} still has to be confirmed, a new message with a link is on its way there.`).waitFor();
      expect(await visits.server.mailsTo(email, 2)).toHaveLength(2);
      await done();
    });

    test("a verification link confirms twice, and an invalid one leads to a new mail, to sign-in and to the account", async () => {
      const email = await anAccount();
      const { page, done } = await open();
      const link = `${visits.server.url}/auth/verify?token=${await visits.server.tokenFor(email)}`;
      await page.goto(link);
      await heading(page, "Your address is confirmed");
      await page.reload();
      await heading(page, "Your address is confirmed");
      await page.goto(`${visits.server.url}/auth/verify?token=${"a".repeat(64)}`);
      await heading(page, "This link no longer works");
      await page.getByLabel("E-mail address").fill(email);
      await click(page, "button", "Send a new mail");
      await heading(page, "Check your mail");
      await click(page, "link", "Continue to sign in");
      await signIn(page, email);
      await heading(page, "Your account");
      await page.getByText("Confirmed", { exact: true }).waitFor();
      await done();
    });

    test("sign-in reports a wrong password, continues with the right one, and can be repeated with another account", async () => {
      const [ada, bob] = [await anAccount(), await anAccount()];
      const { page, done } = await open();
      await page.goto(visits.ask());
      await signIn(page, ada, "not the password");
      expect(await page.getByRole("alert").innerText()).toContain("Wrong e-mail address or password.");
      expect(await page.getByLabel("E-mail address").inputValue()).toBe(ada);
      expect(await page.getByLabel("Password").inputValue()).toBe("");
      await signIn(page, ada);
      await heading(page, "Field Notes asks for access");
      await click(page, "link", "Use another account");
      await signIn(page, bob);
      await heading(page, "Field Notes asks for access");
      await page.getByText(bob).waitFor();
      await done();
    });

    test("consent shows scopes, resources, duration and what is new; an answered request has expired", async () => {
      const email = await anAccount();
      const { page, done } = await open();
      await page.goto(visits.ask({ scope: "openid" }));
      await signIn(page, email);
      await page.getByText("not verified", { exact: true }).waitFor();
      expect(await page.getByRole("note").innerText()).toContain("The app runs on this device");
      const first = page.url();
      await click(page, "button", "Allow");
      await heading(page, "Back at the client");
      await page.goto(first);
      await heading(page, "This link has expired");

      await page.goto(visits.ask({ scope: "openid email", resource: "https://notes.example.test/mcp" }));
      await heading(page, "Field Notes asks for more access");
      const under = (name: string) => page.getByRole("heading", { name }).locator("xpath=following-sibling::*[1]").innerText();
      expect(await under("It now also wants to")).toContain("See your e-mail address");
      expect(await under("Works only with")).toMatch(/notes\.example\.test\/mcp\s+New/);
      expect(await under("Already allowed")).toBe("Know who you are");
      expect(await under("For how long")).toContain("for up to 90 days");
      await click(page, "button", "Deny");
      await heading(page, "Back at the client");
      expect(new URL(page.url()).searchParams.get("error")).toBe("access_denied");
      await done();
    });

    test("consent shows Allow and Deny on a phone without scrolling, and one caution at most", async () => {
      const email = await anAccount();
      const { page, done } = await open({ viewport: { width: 390, height: 844 } });
      const scope = "openid profile email offline_access notes:read notes:write";
      await page.goto(visits.ask({ scope, resource: "https://notes.example.test/mcp" }));
      await signIn(page, email);
      await heading(page, "Field Notes asks for access");
      for (const name of ["Allow", "Deny"]) {
        const box = await page.getByRole("button", { name, exact: true }).boundingBox();
        expect(box?.y).toBeGreaterThan(0);
        expect((box?.y ?? 0) + (box?.height ?? 0)).toBeLessThanOrEqual(844);
      }
      expect(await page.getByRole("note").count()).toBe(1);
      await done();
    });

    test("on consent, what has the focus is not behind the buttons, in the narrowest windows", async () => {
      const email = await anAccount();
      const { page, done } = await open();
      await page.goto(visits.ask({ scope: "openid profile notes:read notes:write", resource: "https://notes.example.test/mcp" }));
      await signIn(page, email);
      await heading(page, "Field Notes asks for access");
      const names = page.locator("summary");
      for (const height of [640, 256]) {
        await page.setViewportSize({ width: 320, height });
        for (let above = height - 192; above < height; above += 24) {
          await names.evaluate((element, distance) => {
            element.blur();
            scrollTo(0, element.getBoundingClientRect().top + scrollY - distance);
          }, above);
          await names.focus();
          const isSeen = await names.evaluate((element) => {
            const { left, top, height } = element.getBoundingClientRect();
            return element.contains(document.elementFromPoint(left + 10, top + height / 2));
          });
          expect([height, above, isSeen]).toEqual([height, above, true]);
        }
      }
      await done();
    });

    test("a client that is not verified is shown with its host and a warning", async () => {
      const email = await anAccount();
      const { page, done } = await open();
      const members = {
        client_id: await visits.server.registerDeceiver(),
        redirect_uri: "https://xn--pple-43d.example/cb",
        scope: "openid",
      };
      await page.goto(visits.server.url + authorizePath(members));
      await signIn(page, email);
      await page.getByText("not verified", { exact: true }).waitFor();
      expect(await page.locator(".identity .host").innerText()).toBe("xn--pple-43d.example");
      expect(await page.getByRole("note").innerText()).toContain("We have not verified who made this app");
      await done();
    });

    test("sign-out asks for confirmation, which can be declined", async () => {
      const email = await anAccount();
      const { page, done } = await open();
      await page.goto(`${visits.server.url}/login`);
      await signIn(page, email);
      await click(page, "link", "Sign out");
      await heading(page, "Sign out?");
      await click(page, "link", "Stay signed in");
      await heading(page, "Your account");
      await click(page, "link", "Sign out");
      await click(page, "button", "Sign out");
      await heading(page, "You are signed out");
      await click(page, "link", "Sign in again");
      await heading(page, "Sign in");
      await done();
    });

    test("sign-up, consent and sign-out work in German", async () => {
      const { page, done } = await open({ locale: "de-AT" });
      const email = visits.freshEmail();
      await page.goto(visits.ask({ scope: "openid profile" }));
      await click(page, "link", "Konto anlegen");
      await page.getByLabel("E-Mail-Adresse").fill(email);
      await page.getByLabel("Passwort").fill("iloveyou");
      await click(page, "button", "Konto anlegen");
      expect(await page.getByRole("alert").innerText()).toContain("Dieses Passwort ist zu leicht zu erraten.");
      await page.getByLabel("Passwort").fill(PASSWORD);
      await click(page, "button", "Konto anlegen");
      await heading(page, "Field Notes bittet um Zugriff");
      await page.getByText("Ihren Namen sehen").waitFor();
      await click(page, "button", "Ablehnen");
      await heading(page, "Back at the client");
      await page.goto(`${visits.server.url}/logout`);
      await click(page, "button", "Abmelden");
      await heading(page, "Sie sind abgemeldet");
      await done();
    });
  },
);
