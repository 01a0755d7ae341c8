import { expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { openScreen, startConsole } from "../support/console.ts";

// The scopes and settings of a resource in the console.

const { server, page } = await startConsole();
const operator = await operatorAt(server.url);

const button = (name: string) => page.getByRole("button", { name, exact: true });
const dialog = page.getByRole("dialog");

/** A resource with a scope of each kind, and its screen. Its scopes have names of their own: messages of earlier tests may still be shown. */
async function aResource(name: string, tab: "scopes" | "settings") {
  const resource = `https://${name}.example.test/mcp`;
  const scopes = [
    { name: `${name}:read`, title: { en: "Read notes" }, detail: {} },
    { name: `${name}:write`, title: {}, detail: { de: "Auch neue." }, stepUp: { acr: "phr" as const, maxAge: 90 } },
  ];
  await operator.resources.create.mutate({ resource, name, scopes });
  await openScreen(page, `/resources/view?uri=${resource}&tab=${tab}`);
  return { resource, stored: () => operator.resources.get.query({ resource }) };
}

test("a scope gets the words that users read, and the sign-in that it needs", async () => {
  const { stored } = await aResource("words", "scopes");
  await page.getByText("Resistant to phishing (passkey), sign-in at most 2 minutes old").waitFor();
  await button("Edit words:read").click();
  await dialog.getByLabel("Title, English").fill("Read your notes");
  await dialog.getByLabel("Title, German").fill("Ihre Notizen lesen");
  await dialog.getByLabel("More about it, English").fill("All of them.");
  await dialog.getByLabel("Needs a sign-in").selectOption("Two factors");
  await dialog.getByLabel("At most so many minutes ago").fill("10");
  await dialog.getByRole("button", { name: "Save scope" }).click();
  await page.getByText("words:read is saved.").waitFor();
  await page.getByText("Read your notes").waitFor();
  const [read, write] = (await stored()).scopes;
  expect(read).toEqual({
    name: "words:read",
    title: { en: "Read your notes", de: "Ihre Notizen lesen" },
    detail: { en: "All of them." },
    stepUp: { acr: "urn:countersign:mfa", maxAge: 600 },
  });
  expect(write).toEqual({ name: "words:write", title: {}, detail: { de: "Auch neue." }, stepUp: { acr: "phr", maxAge: 90 } });
});

test("a scope that is edited keeps what is not shown in whole minutes", async () => {
  const { stored } = await aResource("seconds", "scopes");
  await button("Edit seconds:write").click();
  await dialog.getByLabel("Title, English").fill("Write");
  await dialog.getByRole("button", { name: "Save scope" }).click();
  await page.getByText("seconds:write is saved.").waitFor();
  expect((await stored()).scopes[1]?.stepUp).toEqual({ acr: "phr", maxAge: 90 });
});

test("scopes are added and removed, beside those that another operator adds in the meantime", async () => {
  const { resource, stored } = await aResource("list", "scopes");
  const names = async () => (await stored()).scopes.map(({ name }) => name);
  await button("Add a scope").click();
  await dialog.getByLabel("Scope", { exact: false }).first().fill("list:share");
  await operator.resources.update.mutate({ resource, scopes: [...(await stored()).scopes, { name: "list:print" }] });
  await dialog.getByRole("button", { name: "Save scope" }).click();
  await page.getByText("list:share is saved.").waitFor();
  expect(await names()).toEqual(["list:read", "list:write", "list:print", "list:share"]);
  await button("Remove list:print").click();
  await dialog.getByRole("button", { name: "Remove" }).click();
  await page.getByText("list:print is removed.").waitFor();
  expect(await names()).toEqual(["list:read", "list:write", "list:share"]);
});

test("words that another operator has given a scope in the meantime are shown before they are replaced", async () => {
  const { resource, stored } = await aResource("team", "scopes");
  await button("Edit team:read").click();
  await dialog.getByLabel("Title, English").fill("Mine");
  const [, write] = (await stored()).scopes;
  await operator.resources.update.mutate({
    resource,
    scopes: [{ name: "team:read", title: { en: "Theirs" } }, ...(write ? [write] : [])],
  });
  await dialog.getByRole("button", { name: "Save scope" }).click();
  await page.getByText("It is now: Theirs").waitFor();
  expect((await stored()).scopes[0]?.title).toEqual({ en: "Theirs" });
  await dialog.getByRole("button", { name: "Save scope" }).click();
  await page.getByText("team:read is saved.").waitFor();
  expect((await stored()).scopes[0]?.title).toEqual({ en: "Mine" });
});

test("a scope that cannot be stored is refused, and its dialog stays", async () => {
  const { stored } = await aResource("refused", "scopes");
  await button("Add a scope").click();
  await dialog.getByLabel("Scope", { exact: false }).first().fill("two words");
  await dialog.getByRole("button", { name: "Save scope" }).click();
  await page.getByRole("alert").getByText("scope").first().waitFor();
  expect(await dialog.count()).toBe(1);
  expect((await stored()).scopes).toHaveLength(2);
});

test("name and lifetime are saved, and a lifetime that is cleared is that of the server", async () => {
  const { stored } = await aResource("settings", "settings");
  await page.getByLabel("Name").fill("Notes of the team");
  await page.getByLabel("Seconds for which its access tokens are valid").fill("120");
  await button("Save").click();
  await page.getByRole("heading", { level: 1, name: "Notes of the team" }).waitFor();
  expect(await stored()).toMatchObject({ name: "Notes of the team", accessTokenLifetime: 120 });
  await page.getByLabel("Seconds for which its access tokens are valid").fill("");
  await button("Save").click();
  await expect.poll(async () => (await stored()).accessTokenLifetime).toBe(null);
});
