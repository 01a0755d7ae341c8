import type { Page, Response } from "playwright-core";
import { startCallback, startChromium } from "./chromium.ts";
import { authorizePath, startPagesServer } from "./pages-server.ts";
import { untilAnswered } from "./until-answered.ts";

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

const isForm = (response: Response) => response.request().method() === "POST" && response.request().isNavigationRequest();

/** Fills in and submits the sign-in form, and again where a busy server cannot answer. */
export async function signIn(page: Page, email: string, password: string = PASSWORD): Promise<void> {
  let attempts = 0;
  await untilAnswered(async () => {
    if (++attempts > 1) await page.goBack();
    await page.getByLabel("E-mail address").fill(email);
    await page.getByLabel("Password").fill(password);
    const sent = page.waitForResponse(isForm);
    await Promise.all([sent, page.getByRole("button", { name: "Sign in", exact: true }).click()]);
    const answer = await sent;
    return { status: answer.status(), headers: new Headers(answer.headers()) };
  });
}
