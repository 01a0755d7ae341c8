import { afterAll, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { openPage } from "../support/chromium.ts";
import { openScreen, startConsole } from "../support/console.ts";
import { PASSWORD } from "../support/flow.ts";
import { signIn } from "../support/visits.ts";

// What the console offers to users with few rights. One server and one browser.

const { server, browser } = await startConsole({ env: { DEVELOPERS: "role" } });
const operator = await operatorAt(server.url);
const { email } = await server.signedInUser();
const { page, close, problems } = await openPage(browser);
afterAll(close);
await page.goto(`${server.url}/console`);
await signIn(page, email, PASSWORD);
await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();

test("users who may not make clients are offered no form for one, and read so where an address leads to it", async () => {
  await openScreen(page, "/clients");
  await page.getByText("No clients yet").waitFor();
  expect(await page.getByRole("link", { name: "Create a client" }).count()).toBe(0);
  await openScreen(page, "/clients/new");
  await page.getByText("You may not create clients.").waitFor();
  expect(await page.locator("main").locator("button, input").count()).toBe(0);
});

test("the document of a client is for operators: others are offered no way to it, and ask the server for nothing", async () => {
  await openScreen(page, "/clients?q=https://app.example.test/client");
  await page.getByText("No client matches.").waitFor();
  expect(await page.getByRole("link", { name: "Open the client that publishes this document" }).count()).toBe(0);
  const calls: string[] = [];
  page.on("request", (request) => void calls.push(request.url()));
  await openScreen(page, "/clients/document?client=https://app.example.test/client");
  await page.getByText("This page is for operators.").waitFor();
  expect(calls.filter((url) => url.includes("operator."))).toEqual([]);
});

test("an operator who is one no more is shown what is left, without a reload", async () => {
  const second = { email: "second@example.test", password: "second operator 1", role: "operator" } as const;
  const { id } = await operator.users.create.mutate(second);
  const other = await openPage(browser);
  await other.page.goto(`${server.url}/console`);
  await signIn(other.page, second.email, second.password);
  await other.page.getByRole("link", { name: "Realms", exact: true }).waitFor();
  await operator.users.setRole.mutate({ id, role: "user" });
  await other.page.getByRole("link", { name: "Realms", exact: true }).click();
  await other.page.getByText("This page is for operators. If you need it").waitFor();
  await expect.poll(() => other.page.getByRole("link", { name: "Realms", exact: true }).count()).toBe(0);
  await other.close();
});

test("no page reported an error", () => {
  expect(problems).toEqual([]);
});
