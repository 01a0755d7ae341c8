import { generateSync } from "otplib";
import { expect } from "vitest";
import { aBrowser, type Browser, type Visit } from "./browser.ts";
import { PASSWORD } from "./flow.ts";
import type { TestServer } from "./server.ts";
import { untilAnswered } from "./until-answered.ts";

/** The code of an app now, or some steps later. */
export const codeOf = (secret: string, later = 0): string => generateSync({ secret, epoch: Math.floor(Date.now() / 1000) + later * 30 });

export const tokenIn = (html: string) => /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? "";

/** Sets up an app at the page that shows its secret. */
export async function setUpAt(browser: Browser, page: Visit) {
  const secret = (/<code class="host">([A-Z2-7 ]+)<\/code>/.exec(page.html)?.[1] ?? "").replaceAll(" ", "");
  const wrong = await browser.submit(page, { code: "000000" });
  expect([wrong.status, wrong.html.includes("That code is not right.")]).toEqual([401, true]);
  const codes = await browser.submit(wrong, { code: codeOf(secret) });
  const recovery = [...codes.html.matchAll(/<code class="host">([A-Z2-7]{4}(?:-[A-Z2-7]{4}){3})<\/code>/g)].map(([, code = ""]) => code);
  expect(recovery).toHaveLength(10);
  return { secret, recovery, codes };
}

/** A page with the one form that posts to a path. */
export const withForm = (page: Visit, action: string): Visit => {
  const at = page.html.indexOf(`action="${action}"`);
  return { ...page, html: page.html.slice(page.html.lastIndexOf("<form", at)) };
};

/** A user who has set up an app in another browser; this one is still signed in by the password alone. The code of the next step is unused. */
export async function withApp(server: TestServer) {
  const user = await server.signedInUser();
  const setUp = aBrowser(server.url);
  await untilAnswered(() => setUp.json("/auth/login", { email: user.email, password: PASSWORD }));
  const form = withForm(await setUp.follow("/account/security"), "/account/security/app/begin");
  const { secret, recovery } = await setUpAt(setUp, await setUp.submit(form, { form_token: tokenIn(form.html) }));
  return { ...user, setUp, secret, recovery };
}
