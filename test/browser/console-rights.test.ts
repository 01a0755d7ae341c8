import { afterAll, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { openPage } from "../support/chromium.ts";
import { openScreen, startConsole } from "../support/console.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { signIn } from "../support/visits.ts";

// What the console offers to users with few rights. One server and one browser.

const { server, browser, page: operatorPage } = await startConsole({ env: { DEVELOPERS: "role" } });
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

test("a developer is offered the scopes of resources, which only operators may read", async () => {
  const [user] = (await operator.users.list.query({ search: email })).users;
  await operator.users.setRole.mutate({ id: user?.id ?? "", role: "developer" });
  await operator.resources.create.mutate({ resource: "https://notes.example.test/mcp", scopes: [{ name: "notes:read" }] });
  await page.goto(`${server.url}/console/clients/new?kind=spa`);
  await page.getByRole("button", { name: "Add the scope notes:read" }).click();
  expect(await page.getByLabel("Scopes").inputValue()).toContain("notes:read");
});

test("a developer who presses Enter twice makes one API key", async () => {
  await page.goto(`${server.url}/console/clients/new?kind=spa`);
  await page.getByLabel("Name").fill("Of a developer");
  await page.getByLabel("Redirect URIs").fill("https://app.example.test/cb");
  await page.getByRole("button", { name: "Create", exact: true }).click();
  await page.getByRole("link", { name: "Open its settings" }).click();
  await page.getByRole("tab", { name: "API keys" }).click();
  const field = page.getByLabel("Name of the key");
  await field.fill("laptop");
  await field.press("Enter");
  await page.getByRole("button", { name: "Revoke the key laptop" }).waitFor();
  expect(await field.inputValue()).toBe("");
  await field.press("Enter");
  await page.getByRole("tab", { name: "Settings" }).click();
  await page.getByRole("tab", { name: "API keys" }).click();
  await page.getByRole("region", { name: "API key" }).waitFor();
  await page.getByRole("button", { name: "Revoke the key laptop" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Revoke" }).click();
  await page.getByText("Revoked", { exact: true }).waitFor();
  expect(await page.getByRole("region", { name: "API key" }).count()).toBe(0);
});

test("an act that can be undone is not said to be final where it needs a fresh sign-in", async () => {
  const [user] = (await operator.users.list.query({ search: email })).users;
  await runText(server.database.sql, "update sessions set proved_at = now() - interval '1 hour'");
  await operatorPage.goto(`${server.url}/console/users/${user?.id}`);
  await operatorPage.getByLabel("Role").selectOption("user");
  await operatorPage.getByRole("dialog").getByRole("button", { name: "Change the role" }).click();
  const question = operatorPage.getByRole("dialog", { name: "Confirm that it is you" });
  await question.getByRole("button", { name: "Sign in again" }).waitFor();
  expect(await question.innerText()).not.toContain("cannot be undone");
});

test("an operator who is one no more is shown what is left, without a reload", async () => {
  const second = { email: "second@example.test", password: "second operator 1", role: "operator" } as const;
  const { id } = await operator.users.create.mutate(second);
  const other = await openPage(browser);
  await other.page.goto(`${server.url}/console`);
  await signIn(other.page, second.email, second.password);
  await other.page.getByRole("link", { name: "Realms", exact: true }).waitFor();
  await openScreen(other.page, "/keys"); // the home screen asks again by itself, and would show it before the click
  await operator.users.setRole.mutate({ id, role: "user" });
  await other.page.getByRole("link", { name: "Realms", exact: true }).click();
  await other.page.getByText("This page is for operators. If you need it").waitFor();
  await expect.poll(() => other.page.getByRole("link", { name: "Realms", exact: true }).count()).toBe(0);
  await other.close();
});

test("an operator who is one no more while following the audit log is not shown on as if it were followed", async () => {
  const fourth = { email: "fourth@example.test", password: "fourth operator 1", role: "operator" } as const;
  const { id } = await operator.users.create.mutate(fourth);
  const other = await openPage(browser);
  await other.page.goto(`${server.url}/console/audit`);
  await signIn(other.page, fourth.email, fourth.password);
  await other.page.getByRole("button", { name: "Follow live" }).click();
  await other.page.getByText("Live: new records appear").waitFor();
  await operator.users.setRole.mutate({ id, role: "user" });
  await other.page.getByText("This page is for operators. If you need it").waitFor();
  await other.close();
});

test("what a viewer may do is read again once for all calls that are refused together", async () => {
  const third = { email: "third@example.test", password: "third operator 1", role: "operator" } as const;
  const { id } = await operator.users.create.mutate(third);
  const other = await openPage(browser);
  await other.page.goto(`${server.url}/console`);
  await signIn(other.page, third.email, third.password);
  await other.page.getByRole("link", { name: "Realms", exact: true }).waitFor();
  await openScreen(other.page, `/users/${id}`);
  await operator.users.setRole.mutate({ id, role: "user" });
  const asked: string[] = [];
  other.page.on("request", (request) => void asked.push(...(request.url().match(/viewer\.get/g) ?? [])));
  await other.page.getByRole("button", { name: "Send a link for a new password" }).click();
  await other.page.getByText("This page is for operators. If you need it").waitFor();
  await expect.poll(() => asked.length).toBe(2); // with the whole screen, and after its refusals
  await openScreen(other.page, "/clients");
  await other.page.getByRole("heading", { name: "Clients", level: 1 }).waitFor();
  expect(asked).toHaveLength(2);
  await other.close();
});

test("no page reported an error", () => {
  expect(problems).toEqual([]);
});
