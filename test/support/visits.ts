import type { Page } from "playwright-core";
import { startCallback, startChromium } from "./chromium.ts";
import { authorizePath, startUsers } from "./people.ts";

export const PASSWORD = "correct horse battery";

/** A browser, a server with people, and the client on this machine that sends them there. */
export async function startVisits(who: string) {
  const [browser, callback, people] = await Promise.all([startChromium(), startCallback(), startUsers()]);
  let count = 0;
  return {
    browser,
    callback,
    people,
    /** An address that nobody of the file has had. */
    freshEmail: () => `${who}${++count}@example.test`,
    /** Where the client sends people. */
    ask: (members: Parameters<typeof authorizePath>[0] = {}) =>
      people.url + authorizePath({ client_id: "device", redirect_uri: callback.uri, ...members }),
    async close() {
      await browser.close();
      await Promise.all([callback.close(), people.close()]);
    },
  };
}

export type Visits = Awaited<ReturnType<typeof startVisits>>;

/** Fills in the form of the sign-in page. */
export async function signIn(page: Page, email: string, password: string = PASSWORD): Promise<void> {
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).click();
}
