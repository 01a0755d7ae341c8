import { beforeEach, expect, test } from "vitest";
import { startConsole } from "../support/console.ts";
import { PROVISIONED } from "../support/server.ts";

// A week of an operator: two tabs, answers that are late or lost, a browser that refuses. One server and one browser.

const { server, page } = await startConsole({ provision: { ...PROVISIONED, realms: [{ name: "Partners" }] } });

beforeEach(async () => {
  await page.unrouteAll();
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
});

const button = (name: string) => page.getByRole("button", { name, exact: true });

test("a search whose file cannot be loaded takes no screen with it, and is loaded when it is opened again", async () => {
  await page.route("**/assets/search-*.js", (route) => route.fulfill({ status: 503, body: "" }));
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
  await page.keyboard.press("Control+k");
  await page.getByText("The server cannot be reached.").waitFor();
  expect(await page.getByRole("heading", { name: "Home", level: 1 }).count()).toBe(1);
  await page.unrouteAll();
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("Find a screen").waitFor();
});

test("a screen whose file cannot be loaded says so, and is loaded when its user tries again", async () => {
  await page.route("**/assets/keys-*.js", (route) => route.fulfill({ status: 503, body: "" }));
  await page.getByRole("link", { name: "Keys", exact: true }).click();
  await page.getByText("The server cannot be reached.").waitFor();
  await page.unrouteAll();
  await button("Try again").click();
  await page.getByRole("heading", { name: "Signing keys", level: 1 }).waitFor();
});
