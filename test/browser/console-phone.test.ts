import { expect } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { openPage } from "../support/chromium.ts";
import { openScreen, startPage } from "../support/console.ts";
import { test } from "../support/delegation.ts";
import { PASSWORD } from "../support/flow.ts";
import { OPERATOR } from "../support/server.ts";
import { signIn } from "../support/visits.ts";

const PHONE = { width: 360, height: 800 };

const { browser, page, problems } = await startPage({ viewport: PHONE });

test("a chain of four agents is shown on a phone with whole names, and with all that stops them in the window", async ({ server }) => {
  await server.chainOf(["agent-1", "agent-2", "agent-3", "agent-4"]);
  await page.goto(`${server.url}/console/agents`);
  await signIn(page, OPERATOR.email, OPERATOR.password);
  await page.getByRole("link", { name: "agent-1" }).click();
  const deepest = page.getByRole("row", { name: /^agent-4 .*Live/ }).getByRole("cell");
  await deepest.first().waitFor();
  expect((await deepest.first().boundingBox())?.height).toBeLessThan(60);
  for (const name of [1, 2, 3, 4].flatMap((n) => [`Pause agent-${n}`, `Cut the access of agent-${n}`])) {
    const box = await page.getByRole("button", { name, exact: true }).boundingBox();
    expect((box?.x ?? 0) + (box?.width ?? PHONE.width)).toBeLessThan(PHONE.width);
  }
});

test("a record says on a phone who acted, and no word of it is out of view or broken", async () => {
  await openScreen(page, "/audit?event=code.issued");
  await page
    .getByRole("cell", { name: `${OPERATOR.email} got an authorization code` })
    .filter({ visible: true })
    .first()
    .waitFor();
  const end = await page.getByRole("table").evaluate((table) => table.getBoundingClientRect().right);
  expect(end).toBeLessThan(PHONE.width);
});

test("a long failure can be read on a phone from its first word to its last, with a word longer than a line", async ({ server }) => {
  const email = "long@example.test";
  await (await operatorAt(server.url)).users.invite.mutate({ email });
  await openScreen(page, "/users");
  const path = `clients.0.${"redirectUris".repeat(8)}`;
  const issues = Array.from({ length: 60 }, (_, index) => ({ path, message: `is wrong at ${index}` }));
  const data = { error: "invalid_request", code: "BAD_REQUEST", httpStatus: 400, message: "The request is not valid.", issues };
  await page.route(
    "**/trpc/*invitations.withdraw*",
    (route) => route.fulfill({ status: 400, json: [{ error: { code: -32_600, message: "no", data } }] }),
    { times: 1 },
  );
  await page.getByRole("button", { name: `Withdraw the invitation of ${email}` }).click();
  const box = async (text: string) => (await page.getByText(text).boundingBox()) ?? { x: -1, y: -1, width: 0, height: 0 };
  const isInView = async (text: string): Promise<boolean> => {
    const { x, y, width, height } = await box(text);
    return x >= 0 && y >= 0 && x + width <= PHONE.width && y + height <= PHONE.height;
  };
  await page.getByText("The request is not valid.").waitFor();
  await expect.poll(() => isInView("The request is not valid.")).toBe(true);
  expect(await isInView("is wrong at 59")).toBe(false);
  await page.getByText("The request is not valid.").hover();
  await page.mouse.wheel(0, 100_000);
  await expect.poll(() => isInView("is wrong at 59")).toBe(true);
  await page.mouse.wheel(0, -100_000);
  await page.getByRole("button", { name: "Close" }).click();
  await page.getByText("The request is not valid.").waitFor({ state: "detached" });
});

test("a click anywhere in a row opens it, but not on another control, nor with a selection of text", async () => {
  await page.setViewportSize({ width: 1280, height: 800 });
  await openScreen(page, "/clients?q=web");
  const id = page.getByRole("cell", { name: "web" }).getByText("web", { exact: true }).last();
  const { x = 0, y = 0, width = 0, height = 0 } = (await id.boundingBox()) ?? {};
  await page.mouse.move(x + 1, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width, y + height / 2, { steps: 5 });
  await page.mouse.up();
  expect(await page.evaluate(() => getSelection()?.toString())).toBe("web");
  expect(new URL(page.url()).pathname).toBe("/console/clients");
  await page.getByRole("cell", { name: "Enabled" }).click();
  await page.getByRole("heading", { name: "web", level: 1 }).waitFor();
  await page.getByRole("tab", { name: "Consents" }).click();
  const consent = page.getByRole("row", { name: /crm:read/ }).first();
  await consent
    .getByRole("cell")
    .last()
    .click({ position: { x: 2, y: 2 } });
  await page.getByRole("heading", { name: "web", level: 1 }).waitFor();
  await consent.getByRole("cell", { name: /crm:read/ }).click();
  await page.getByRole("heading", { name: /@example.test/, level: 1 }).waitFor();
  await openScreen(page, "/audit");
  await page.getByRole("cell", { name: "Success" }).first().click();
  await page.getByRole("dialog", { name: "Record", exact: true }).waitFor();
});

test("a developer sees one sentence in place of a screen for operators, in English and German", async ({ server }) => {
  const { email } = await server.signedInUser();
  const calls: string[] = [];
  for (const [locale, sentence] of [
    ["en-GB", "This page is for operators."],
    ["de-AT", "Diese Seite ist für Operatoren."],
  ] as const) {
    const other = await openPage(browser, { locale });
    other.page.on("request", (request) => void calls.push(request.url()));
    await other.page.goto(`${server.url}/console/users`);
    await other.page.locator("input[name=email]").fill(email);
    await other.page.locator("input[name=password]").fill(PASSWORD);
    await other.page.locator("form[action='/login'] button[type=submit]").click();
    await other.page.getByText(sentence).waitFor();
    expect(await other.page.locator("main").locator("button, input, [role=alert]").count()).toBe(0);
    await openScreen(other.page, "/resources");
    expect(await other.page.locator("main").locator("button, input, [role=alert]").count()).toBe(0);
    expect(other.problems).toEqual([]);
    await other.close();
  }
  expect(calls.filter((url) => url.includes("operator."))).toEqual([]);
});

test("no key leads into the navigation while it is closed", async () => {
  await page.setViewportSize(PHONE);
  await openScreen(page, "/clients");
  const links = page.getByRole("navigation", { name: "Main navigation" }).getByRole("link");
  await expect.poll(() => links.count()).toBe(0);
  await page.getByRole("button", { name: "Menu" }).click();
  await links.first().waitFor();
  await page.getByRole("button", { name: "Menu" }).click();
  await expect.poll(() => links.count()).toBe(0);
});

test("no screen reported an error", () => {
  expect(problems).toEqual([]);
});
