import type { Page } from "playwright-core";
import { startCallback, startChromium } from "./chromium.ts";
import { authorizePath, startPagesServer } from "./pages-server.ts";

export const PASSWORD = "correct horse battery";

/** A browser, a server with users, and a client on this machine that sends them there. */
export async function startVisits(who: string) {
  const [browser, callback, server] = await Promise.all([startChromium(), startCallback(), startPagesServer()]);
  let count = 0;
  return {
    browser,
    callback,
    server,
    /** An address that this file has not used before. */
    freshEmail: () => `${who}${++count}@example.test`,
    /** The URL of an authorization request. */
    ask: (members: Parameters<typeof authorizePath>[0] = {}) =>
      server.url + authorizePath({ client_id: "device", redirect_uri: callback.uri, ...members }),
    async close() {
      await browser.close();
      await Promise.all([callback.close(), server.close()]);
    },
  };
}

export type Visits = Awaited<ReturnType<typeof startVisits>>;

/** Fills in and submits the sign-in form. */
export async function signIn(page: Page, email: string, password: string = PASSWORD): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}
