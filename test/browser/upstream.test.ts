import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openPage, startChromium } from "../support/chromium.ts";
import { flawsInEveryView, PHONE } from "../support/every-view.ts";
import { startServer, type TestServer } from "../support/server.ts";
import { type Answer, startUpstream, type Upstream } from "../support/upstream.ts";

let [browser, server, upstream] = [undefined as unknown as Browser, undefined as unknown as TestServer, undefined as unknown as Upstream];
beforeAll(async () => {
  [browser, upstream] = await Promise.all([startChromium(), startUpstream()]);
  const connection = { issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret" };
  server = await startServer({
    provision: {
      connections: [
        { ...connection, name: "acme", title: "Acme Corporation", domains: ["acme.test"] },
        { ...connection, name: "long", title: "Zentrale Anmeldung der Landesverwaltung" },
      ],
    },
  });
});
afterAll(async () => {
  await browser.close();
  await server.close();
  await upstream.close();
});

test.for(["en-GB", "de-DE"])("pages with connections are sound in every view, %s", { timeout: 120_000 }, async (locale) => {
  const { page, close } = await openPage(browser, { viewport: PHONE, locale, bypassCSP: true });
  const subject = `browser-${locale}`;
  const comeBack = (answer: Answer) => page.goto(server.url + upstream.signIn(page.url(), subject, answer));
  const sound = async (name: string) => expect([name, await flawsInEveryView(page)]).toEqual([name, []]);
  await page.goto(`${server.url}/login`);
  await sound("sign-in");
  await page.getByRole("link", { name: "Acme Corporation" }).focus();
  await page.keyboard.press("Enter");
  await page.waitForURL(`${upstream.url}/**`);
  await comeBack({ claims: { email: `${subject}@else.test`, email_verified: true } });
  await sound("not-linked");
  await page.goto(`${server.url}/signin/acme`);
  await comeBack({ response: { error: "access_denied" } });
  await sound("failed");
  await page.goto(`${server.url}/signin/acme`);
  await comeBack({ claims: { email: `${subject}@acme.test`, email_verified: true } });
  await page.goto(`${server.url}/account/security`);
  await sound("security");
  await page.locator('button[aria-label*="Acme Corporation"]').click();
  await page.locator(".summary").waitFor();
  await sound("last-way-in");
  await close();
});
