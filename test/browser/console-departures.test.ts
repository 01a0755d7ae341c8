import { expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { openScreen, startConsole } from "../support/console.ts";

// What an operator asks the console when a user leaves, and when somebody asks who could reach a resource.

const { server, page } = await startConsole();
const operator = await operatorAt(server.url);

test("shows the clients of a user, which go on when the user is disabled, and disables one", async () => {
  const email = "leaver@example.test";
  const { id } = await operator.users.create.mutate({ email, password: "a password for one test", role: "developer" });
  const made = { grantTypes: ["client_credentials" as const], scopes: ["notes:read"], ownerId: id };
  const { id: client, clientId, clientSecret: secret = "" } = await operator.clients.create.mutate({ name: "Exporter", ...made });
  const ask = () => server.token({ clientId, secret, redirectUri: "" }, { grant_type: "client_credentials", scope: "notes:read" });
  await openScreen(page, `/users/${id}`);
  await page.getByRole("button", { name: "Disable", exact: true }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText("Clients that they manage go on. They are listed below.").waitFor();
  await dialog.getByRole("button", { name: "Disable", exact: true }).click();
  await page.getByText(`${email} is disabled.`).waitFor();
  expect((await ask()).status).toBe(200);
  const owned = page.getByRole("region", { name: "Clients they manage" });
  await owned.getByText(`${clientId} · last used`).waitFor();
  await owned.getByRole("button", { name: "Disable: Exporter" }).click();
  await dialog.getByText("its codes and refresh tokens are revoked for good").waitFor();
  await dialog.getByRole("button", { name: "Disable", exact: true }).click();
  await owned.getByText("· Disabled").waitFor();
  expect((await operator.clients.get.query({ id: client })).enabled).toBe(false);
  expect((await ask()).body.error).toBe("invalid_client");
});

test("finds what happened at a resource within a span of time", async () => {
  const resource = "https://payroll.example.test/mcp";
  await operator.resources.create.mutate({ resource, name: "Payroll", scopes: [{ name: "payroll:read" }] });
  const { id } = await operator.clients.create.mutate({
    name: "Payslips",
    clientId: "payslips",
    grantTypes: ["client_credentials"],
    audience: [resource],
  });
  await openScreen(page, `/resources/view?uri=${resource}`);
  await page.getByRole("link", { name: "Audit records" }).click();
  await page.getByText(`Resource: ${resource}`).waitFor();
  expect(Date.parse(new URL(page.url()).searchParams.get("since") ?? "")).toBeLessThan(Date.now() - 30 * 86_400_000);
  const records = page.getByRole("button", { name: /: open the record$/ });
  await expect.poll(() => records.count()).toBe(2);
  const local = (days: number): string => {
    const at = new Date(Date.now() + days * 86_400_000);
    return new Date(at.getTime() - at.getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
  };
  const [from, before] = [page.getByLabel("From"), page.getByLabel("Before")];
  const [yesterday, later] = [local(-1), local(2)];
  await from.fill(local(1));
  await page.getByText("No record matches.").waitFor();
  await from.fill(yesterday);
  await before.fill(later);
  await expect.poll(() => records.count()).toBe(2);
  expect(new URL(page.url()).searchParams.get("since")).toBe(new Date(yesterday).toISOString());
  await page.reload();
  await expect.poll(() => records.count()).toBe(2);
  expect([await from.inputValue(), await before.inputValue()]).toEqual([yesterday, later]);
  await operator.clients.update.mutate({ id, patch: { scopes: ["payroll:read"] } });
  await page.reload();
  await page.getByText("client.changed · scopes").waitFor();
  await records.nth(1).click();
  await page.getByRole("dialog").getByText("registered a client.").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Clear" }).click();
  await page.waitForURL(({ search }) => search === `?resource=${encodeURIComponent(resource)}`);
  expect([await from.inputValue(), await before.inputValue()]).toEqual(["", ""]);
});

test("a time is typed by keyboard alone", async () => {
  await openScreen(page, "/audit");
  const from = page.getByLabel("From");
  await from.focus();
  await page.keyboard.type("100120260800AM");
  await expect.poll(() => from.inputValue()).toBe("2026-10-01T08:00");
  await page.waitForURL(({ searchParams }) => searchParams.get("since") === new Date("2026-10-01T08:00").toISOString());
});
