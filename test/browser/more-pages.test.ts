import { randomBytes } from "node:crypto";
import { generateSync } from "otplib";
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { firstOperatorLink, invite } from "../../src/accounts/registration.ts";
import { invitations } from "../../src/store/invitations.ts";
import { realms } from "../../src/store/realms.ts";
import { anAudit } from "../support/accounts.ts";
import { loading, openPage, startChromium } from "../support/chromium.ts";
import { runText } from "../support/database.ts";
import { flawsInEveryView, PHONE } from "../support/every-view.ts";
import { authorizePath, type PagesServer, startPagesServer } from "../support/pages-server.ts";
import { aVirtualAuthenticator } from "../support/virtual-authenticator.ts";
import { PASSWORD } from "../support/visits.ts";

let [browser, server] = [undefined as unknown as Browser, undefined as unknown as PagesServer];
beforeAll(async () => {
  const BRAND = {
    BRAND_NAME: "Acme & Sons",
    BRAND_ACCENT: "#B3005E",
    BRAND_SUPPORT: "help@acme.test",
    BRAND_TERMS_URL: "https://acme.test/",
  };
  [browser, server] = await Promise.all([startChromium(), startPagesServer({ ...BRAND, SIGN_UP: "invited" })]);
});
afterAll(async () => {
  await browser.close();
  await server.close();
});

interface Visit {
  readonly page: Page;
  readonly email: string;
  go(path: string): Promise<unknown>;
  fill(fields: Readonly<Record<string, string>>): Promise<void>;
  send(action: string): Promise<void>;
  look(name: string): Promise<void>;
}

/** Pages before there is an account: the start, the links of the first operator and of an invitation, and one that is refused. */
async function joining({ page, email, go, fill, send, look }: Visit): Promise<void> {
  const issuing = { invitations: invitations(server.database.sql), randomBytes, issuer: server.url };
  await go("/");
  await look("start");
  await page.goto((await firstOperatorLink(issuing)) ?? "");
  await look("setup");
  await go("/signup");
  await look("sign-up-by-invitation");
  const brandings = { of: () => ({}), all: () => [], current: async () => [] };
  const ports = { ...issuing, realms: realms(server.database.sql), brandings };
  await invite({ inviterId: null, email, role: "user", hours: 1, language: "en" }, ports, anAudit("user.invited"));
  const link = `/invitation?token=${await server.tokenFor(email)}`;
  await go(link);
  await look("invitation");
  await fill({ password: "iloveyou" });
  await send("/invitation");
  await look("invitation-faults");
  await fill({ password: PASSWORD });
  await send("/invitation");
  await page.waitForURL(`${server.url}/account`);
  await look("account-of-an-invited-user");
  await go(link);
  await look("invitation-no-longer-good");
}

/** A passkey: it needs a fresh proof, which an app would make longer. */
async function passkey({ page, go, fill }: Visit): Promise<void> {
  await go("/account/security");
  await fill({ name: "My laptop" });
  await page.locator("form[data-passkey] button").click();
  await page.waitForURL(/done=/);
}

/** An authenticator app and its recovery codes. */
async function app({ page, go, fill, send, look }: Visit): Promise<void> {
  await go("/account/security");
  await send("/account/security/app/begin");
  await look("two-step-begun");
  const secret = ((await page.locator("code.host").first().textContent()) ?? "").replaceAll(" ", "");
  await fill({ code: "000000" });
  await send("/account/security/app");
  await look("two-step-faults");
  await fill({ code: generateSync({ secret }) });
  await send("/account/security/app");
  await look("recovery-codes");
  await go("/account/security");
  await look("security-with-factors");
}

/** A change of address, from asking to stopping it. */
async function addressChange({ page, email, go, fill, send, look }: Visit): Promise<void> {
  const next = `next-${email}`;
  await go("/account/security/address");
  await look("address");
  await fill({ email: next });
  await send("/account/security/address");
  await look("address-link-sent");
  const confirm = `/account/security/address/confirm?token=${await server.tokenFor(next)}`;
  await go(confirm);
  await look("address-to-confirm");
  const cookies = await page.context().cookies();
  await page.context().clearCookies();
  await go(confirm);
  await look("address-sign-in-first");
  const stop = /\/address\/stop\?token=[0-9a-f]{64}/.exec((await server.mailsTo(email, 3)).join())?.[0] ?? "";
  await go(stop);
  await look("address-to-stop");
  await page.context().addCookies(cookies);
}

/** A device that the user does not let in. */
async function device({ page, go, send, look }: Visit): Promise<void> {
  await go(`/device?user_code=${await server.userCode()}`);
  await send("/device");
  await page.locator("button[value=deny]").click();
  await page.waitForURL(/done=denied/);
  await look("device-denied");
}

/** Sign-ins with a second factor, and again where the last proof is too old. */
async function signingIn({ page, email, go, fill, send, look }: Visit): Promise<void> {
  await runText(server.database.sql, "update sessions set proved_at = now() - interval '10 minutes'");
  await go("/account/security/address");
  await look("confirm-it-is-you");
  await page.context().clearCookies();
  await go("/login");
  await fill({ email, password: PASSWORD });
  await send("/login");
  await look("second-factor");
  await fill({ code: "000000" });
  await send("/login/code");
  await look("second-factor-faults");
}

/** Errors and refusals. */
async function refused({ page, email, go, fill, send, look }: Visit): Promise<void> {
  await go(authorizePath({ client_id: "unknown" }));
  await look("app-request-error");
  await go("/device?user_code=BBBB-BBBB");
  await send("/device");
  await look("device-faults");
  const stop = /\/address\/stop\?token=[0-9a-f]{64}/.exec((await server.mailsTo(email, 3)).join())?.[0] ?? "";
  await go(stop);
  await send("/address/stop");
  await look("address-stopped");
  await go(stop);
  await look("address-link-no-longer-good");
  await page.context().clearCookies();
  await go("/login");
  await fill({ email, password: "wrong" });
  await send("/login");
  await look("sign-in-failed");
}

test.for(["en-GB", "de-DE"])(
  "with a branding, in light and dark, at 320, 390 and 1280 pixels, links, factors and errors likewise, %s",
  { timeout: 240_000 },
  async (locale) => {
    const options = { locale, viewport: PHONE, bypassCSP: true, reducedMotion: "reduce" } as const;
    const { page, problems, close } = await openPage(browser, options);
    const authenticator = await aVirtualAuthenticator(page);
    const flaws: Record<string, readonly string[]> = {};
    const seen = new Set<string>();
    const visit: Visit = {
      page,
      email: `more-${locale.toLowerCase()}@example.test`,
      go: (path) => page.goto(server.url + path),
      async fill(fields) {
        for (const [name, value] of Object.entries(fields)) await page.locator(`input[name=${name}]:visible`).first().fill(value);
      },
      async send(action) {
        await loading(page, () => page.locator(`form[action="${action}"] button[type=submit]`).first().click());
      },
      async look(name) {
        seen.add(name);
        expect(await page.locator("html").getAttribute("lang")).toBe(locale.slice(0, 2));
        const found = await flawsInEveryView(page);
        if (found.length > 0) flaws[name] = found;
      },
    };
    await joining(visit);
    await passkey(visit);
    await addressChange(visit);
    await device(visit);
    await app(visit);
    await authenticator.verifies(false); // so that the browser does not sign in by itself
    await signingIn(visit);
    await refused(visit);
    expect(flaws).toEqual({});
    expect(problems).toEqual([]);
    expect(seen.size).toBe(25);
    await close();
  },
);
