import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { aBrowser, type Browser, type Visit } from "../support/browser.ts";
import { authorizePath, type PagesServer, startPagesServer } from "../support/pages-server.ts";

const PASSWORD = "correct horse battery";

let server: PagesServer;
beforeAll(async () => {
  server = await startPagesServer();
});
afterAll(() => server.close());

let count = 0;
async function account() {
  const email = `together${++count}@example.test`;
  await aBrowser(server.url).json("/auth/register", { email, password: PASSWORD }, "POST", { "x-forwarded-for": `192.0.2.${count}` });
  return email;
}

const stateOf = ({ url }: Visit) => new URLSearchParams(url.slice(url.indexOf("?"))).get("state");

/** A page that this browser asked for when it had no cookies yet, and whose answer comes now. */
async function cameLate(browser: Browser, path: string): Promise<Visit> {
  const before = aBrowser(server.url);
  const visit = await before.follow(path);
  for (const [name, value] of before.cookies) browser.cookies.set(name, value);
  return visit;
}

describe("a browser that was never here and opens several pages at once", () => {
  test("signs in to every application, the first of them too", async () => {
    const [email, browser] = [await account(), aBrowser(server.url)];
    const states = ["one", "two", "three"];
    const begun = await Promise.all(states.map((state) => browser.request(authorizePath({ state }))));
    const pages: Visit[] = [];
    for (const response of begun) pages.push(await browser.follow(response.headers.get("location") ?? ""));
    expect(pages.map(({ status, url }) => [status, url.includes("/login?request=")])).toEqual(Array(3).fill([200, true]));
    const [first, ...others] = pages as [Visit, ...Visit[]];
    const asked = await browser.submit(first, { email, password: PASSWORD });
    const ends = [await browser.submit(asked, { decision: "approve" })];
    for (const page of others) ends.push(await browser.follow(page.url.replace("/login", "/consent")));
    expect(ends.map(stateOf)).toEqual(states);
  });

  test("sends a form whose cookie has been replaced since, and is asked for what it asked", async () => {
    const [email, browser] = [await account(), aBrowser(server.url)];
    const page = await browser.follow(authorizePath({ state: "mine" }));
    await cameLate(browser, authorizePath({ state: "other" }));
    const asked = await browser.submit(page, { email, password: PASSWORD });
    expect(stateOf(await browser.submit(asked, { decision: "deny" }))).toBe("mine");
  });

  test("opens its account for the application that it began with, by the link of the mail", async () => {
    const [email, browser] = [`together${++count}@example.test`, aBrowser(server.url)];
    const page = await browser.follow(authorizePath({ state: "mine" }));
    const signUp = await browser.follow(page.url.replace("/login", "/signup"));
    await cameLate(browser, "/login");
    const asked = await browser.submit(signUp, { email, password: PASSWORD });
    expect(asked.url).toContain("/consent?request=");
    expect(stateOf(await browser.submit(asked, { decision: "approve" }))).toBe("mine");
  });

  test("sends the forms of pages that no application asked for", async () => {
    const [email, browser] = [await account(), aBrowser(server.url)];
    const page = await browser.follow("/login");
    await cameLate(browser, "/forgot");
    expect((await browser.submit(page, { email, password: PASSWORD })).url).toBe(`${server.url}/account`);
  });

  test("keeps its requests from every other browser", async () => {
    const page = await aBrowser(server.url).follow(authorizePath());
    const other = aBrowser(server.url);
    await other.follow(authorizePath());
    expect((await other.follow(page.url)).status).toBe(400);
    const form = await other.submit(page, { email: await account(), password: PASSWORD });
    expect([form.status, other.cookies.has("countersign")]).toEqual([403, false]);
  });

  test("gets one secret more for an hour, and none once it is known", async () => {
    const browser = aBrowser(server.url);
    const first = (await browser.request(authorizePath())).headers.getSetCookie();
    expect(first.map((line) => /^(countersign-visitor)(-[\w-]{22})?=[\w-]{43};.*; Max-Age=(\d+)$/.exec(line)?.slice(2))).toEqual([
      [undefined, "86400"],
      [expect.any(String), "3600"],
    ]);
    expect((await browser.request(authorizePath())).headers.getSetCookie()).toHaveLength(1);
  });
});
