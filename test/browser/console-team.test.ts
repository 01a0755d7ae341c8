import type { Route } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { openScreen, startConsole } from "../support/console.ts";
import { OPERATOR } from "../support/server.ts";
import { signIn } from "../support/visits.ts";

// Several operators at once, where there is much of everything. One server and one browser.

const { server, page } = await startConsole();
const operator = await operatorAt(server.url);

beforeEach(async () => {
  await page.unrouteAll();
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
});

const button = (name: string) => page.getByRole("button", { name, exact: true });

const expired = (route: Route) => route.fulfill({ status: 401, headers: { "www-authenticate": 'Bearer error="invalid_token"' }, json: {} });

test("what was typed stays when the session ends, and is sent once its user has signed in again", async () => {
  await openScreen(page, "/clients/new");
  await page.getByLabel("Name").fill("Kept");
  await page.getByLabel("Redirect URIs").fill("https://kept.example.test/");
  await page.context().clearCookies();
  await page.route("**/trpc/*clients.create*", expired, { times: 1 });
  await button("Create").click();
  const dialog = page.getByRole("dialog", { name: "Your session has ended" });
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await page.getByRole("main").getByText("The sign-in was not completed.").waitFor();
  await dialog.waitFor({ state: "detached" });
  await button("Create").click();
  const [popup] = await Promise.all([page.waitForEvent("popup"), dialog.getByRole("button", { name: "Sign in again" }).click()]);
  await signIn(popup, OPERATOR.email, OPERATOR.password);
  await page.getByRole("heading", { name: "Kept", level: 1 }).waitFor();
  expect((await operator.clients.list.query({ search: "Kept" })).clients).toHaveLength(1);
});
