import { expect, test } from "vitest";
import { aBrowser } from "../support/browser.ts";
import { PASSWORD } from "../support/flow.ts";
import { OPERATOR, startServer } from "../support/server.ts";

/** The link to the console on the account page of a user who signs in with a form. */
async function linkFor(url: string, account: { readonly email: string; readonly password: string }, path = "/login", language = "en") {
  const browser = aBrowser(url, { "accept-language": language });
  const page = await browser.submit(await browser.follow(`${url}${path}`), account);
  expect(page.url).toContain("/account");
  return page.html.match(/<a class="top-link" href="([^"]*\/console)">([^<]*)/)?.slice(1);
}

const NEWCOMER = { email: "newcomer@example.test", password: PASSWORD };

test("account pages link to the console for those who may make clients, in English and German", async () => {
  const server = await startServer({ env: { DEVELOPERS: "role" } });
  expect(await linkFor(server.url, OPERATOR)).toEqual(["/console", "Console"]);
  expect(await linkFor(server.url, OPERATOR, "/login", "de")).toEqual(["/console", "Konsole"]);
  expect(await linkFor(server.url, NEWCOMER, "/signup")).toBeUndefined();
  const browser = aBrowser(server.url);
  await browser.submit(await browser.follow("/login"), OPERATOR);
  expect((await browser.follow("/account/security")).html).toContain('href="/console">Console');
  expect((await browser.follow("/account?done=set-up")).html).not.toContain("Open the console");
  await server.close();
});

test("with DEVELOPERS=all every user has the link", async () => {
  const server = await startServer();
  expect(await linkFor(server.url, NEWCOMER, "/signup")).toEqual(["/console", "Console"]);
  await server.close();
});
