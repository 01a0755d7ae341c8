import type { Route } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { openScreen, startConsole } from "../support/console.ts";

// The console while another release is served beside its own, and after an upgrade. One server and one browser.

const { server, page, problems } = await startConsole();
const home = () => page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
const reload = page.getByRole("button", { name: "Load the page again" });

beforeEach(() => page.unrouteAll());

/** Opens the page as a front of another release sends it, whose files this one does not know. */
async function openOther(path = "/console"): Promise<void> {
  const renamed = async (route: Route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll(/index-[\w-]{8}\./g, "index-AbCd_-12.") });
  };
  await page.route(`${server.url}${path}`, renamed, { times: 1 });
  await page.goto(server.url + path);
  await home();
}

/** Sends a member along that this release does not know. */
const withOther = (route: Route) => {
  const sent = route.request().postDataJSON() as Readonly<Record<string, object>>;
  const calls = Object.entries(sent).map(([index, input]) => [index, { ...input, ofOtherRelease: true }]);
  return route.continue({ postData: JSON.stringify(Object.fromEntries(calls)) });
};

async function createRealm(name: string): Promise<void> {
  await openScreen(page, "/realms");
  await page.getByLabel("Name of a new realm").fill(name);
  await page.getByRole("button", { name: "Create realm" }).click();
}

test("a page of another release gets script and style of this one, and works", async () => {
  const files: [string, string | undefined][] = [];
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.includes("/assets/")) files.push([pathname, response.headers()["cache-control"]]);
  });
  await openOther();
  expect(files.sort()).toEqual([
    ["/console/assets/index-AbCd_-12.css", "no-store"],
    ["/console/assets/index-AbCd_-12.js", "no-store"],
  ]);
  await createRealm("Made in between");
  await page.getByRole("link", { name: "Made in between" }).waitFor();
});

test("a call that the server does not know in this form says that the server has another release, and how to go on", async () => {
  await openOther();
  await page.route("**/trpc/operator.realms.create*", withOther);
  await createRealm("Of another release");
  await page.getByRole("alert").getByText("ofOtherRelease").waitFor();
  await page.getByRole("alert").getByText("The server has been updated since this page was opened").waitFor();
  await page.unrouteAll();
  await Promise.all([page.waitForEvent("load"), reload.click()]);
  await createRealm("Of this release");
  await page.getByRole("link", { name: "Of this release" }).waitFor();
});

test("a refused call of the server's own release says nothing of another one", async () => {
  await page.goto(`${server.url}/console`);
  await home();
  await page.route("**/trpc/operator.realms.create*", withOther);
  const asked = page.waitForResponse(`${server.url}/console`);
  await createRealm("Refused");
  await page.getByRole("alert").getByText("ofOtherRelease").waitFor();
  await (await asked).finished();
  await page.getByRole("button", { name: "Create realm" }).click();
  await page.getByRole("alert").getByText("ofOtherRelease").waitFor();
  expect(await reload.count()).toBe(0);
});

test("a screen that cannot show an answer of another release says so, beside the navigation, and can be loaded again", async () => {
  const before = problems.length;
  await page.route("**/trpc/*signingKeys.list*", async (route) => {
    const response = await route.fetch();
    await route.fulfill({ response, body: (await response.text()).replaceAll('"signingKeys":', '"keys":') });
  });
  await page.goto(`${server.url}/console/keys`);
  await page.getByRole("main").getByRole("alert").getByText("This screen cannot be shown.").waitFor();
  await page
    .getByRole("main")
    .getByRole("alert")
    .getByText(/^TypeError: /)
    .waitFor(); // what a report needs
  await page.unrouteAll();
  await page.getByRole("link", { name: "Clients", exact: true }).click();
  await page.getByRole("heading", { name: "Clients", level: 1 }).waitFor();
  await page.goBack();
  await Promise.all([page.waitForEvent("load"), reload.click()]);
  await page.getByRole("heading", { name: "Signing keys", level: 1 }).waitFor();
  expect(problems.splice(before).join()).toContain("TypeError"); // React reports what a screen has thrown
});

test("no page reported an error", () => {
  expect(problems).toEqual([]);
});
