import { afterAll, expect, onTestFinished, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { openScreen, refusing, startConsole, startPage } from "../support/console.ts";
import { startUpstream } from "../support/upstream.ts";

// Identity providers in the console: one is added, tested by the server, changed, and signed in by.

const upstream = await startUpstream();
afterAll(() => upstream.close());
const { server, page } = await startConsole();
const operator = await operatorAt(server.url);

const button = (name: string) => page.getByRole("button", { name, exact: true });
const field = (name: string) => page.getByRole("textbox", { name, exact: true });
const stored = (name: string) => operator.connections.get.query({ name });

test("adds a provider by its issuer, tests it, and users sign in by it", async () => {
  await openScreen(page, "/connections");
  await page.getByText("No identity providers yet").waitFor();
  await page.getByRole("link", { name: "Add an identity provider" }).first().click();
  await page.getByLabel("Provider", { exact: true }).selectOption("Another OpenID Connect provider");
  await field("Issuer").fill(upstream.url);
  await field("Name").fill("acme");
  const redirectUri = `${server.url}/signin/acme/callback`;
  await page.getByRole("region", { name: "Redirect URI to register at the provider" }).getByText(redirectUri, { exact: true }).waitFor();
  await field("Client ID").fill("us");
  await page.getByLabel("Client secret").fill("upstream-secret");
  await field("Trusted mail domains").fill("acme.test  acme.example");
  await button("Add an identity provider").click();
  await page.getByRole("heading", { level: 1, name: new URL(upstream.url).host }).waitFor();
  expect(await stored("acme")).toMatchObject({
    issuer: upstream.url,
    clientId: "us",
    authMethod: "client_secret",
    domains: ["acme.test", "acme.example"],
    redirectUri,
  });
  await button("Test the connection").click();
  await page.getByText("It works", { exact: true }).waitFor();
  const { page: user } = await startPage();
  await user.goto(`${server.url}/login`);
  await user.getByRole("link", { name: new URL(upstream.url).host }).click();
  await user.waitForURL(`${upstream.url}/**`);
  const claims = { email: "new@acme.test", email_verified: true };
  await user.goto(server.url + upstream.signIn(user.url(), "somebody", { claims }));
  expect((await operator.users.list.query({ search: "new@acme.test" })).users).toHaveLength(1);
});

test("saves what was changed alone, and keeps what another operator has changed", async () => {
  const name = "changed";
  const made = { name, issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret", domains: ["one.test"] };
  await operator.connections.create.mutate({ ...made, title: "Before" });
  await openScreen(page, `/connections/view?name=${name}`);
  await page.getByRole("heading", { level: 1, name: "Before" }).waitFor();
  await operator.connections.update.mutate({ name, domains: ["one.test", "two.test"], title: "Of another operator" });
  await field("Title").fill("Mine");
  await field("Trusted mail domains").fill("one.test three.test");
  await page.getByRole("switch", { name: "Trust how users signed in there" }).click();
  await button("Save settings").click();
  await page.getByText("It is now: Of another operator").waitFor();
  await button("Save settings").click();
  await page.getByText("Saved.", { exact: true }).waitFor();
  expect(await stored(name)).toMatchObject({ title: "Mine", domains: ["one.test", "two.test", "three.test"], trustsAcr: true });
});

test("replaces a secret, and says why a connection does not work", async () => {
  const name = "secret";
  await operator.connections.create.mutate({ name, issuer: upstream.url, clientId: "us", clientSecret: "upstream-secret" });
  onTestFinished(async () => void (await operator.connections.remove.mutate({ name })));
  await openScreen(page, `/connections/view?name=${name}`);
  await page.getByLabel("New client secret").fill("another-secret");
  await button("Replace the secret").click();
  await page.getByText("The secret is replaced.").waitFor();
  expect(await page.getByLabel("New client secret").inputValue()).toBe("");
  await button("Test the connection").click();
  await page.getByText("The provider does not accept the client ID and secret").waitFor();
});

test("shows the public key of a provider that wants one, and removes it once its name was typed", async () => {
  await openScreen(page, "/connections/new");
  await page.getByLabel("Provider", { exact: true }).selectOption("Another OpenID Connect provider");
  await field("Issuer").fill(upstream.url);
  await field("Name").fill("by-key");
  await field("Client ID").fill("us");
  await page.getByLabel("Authentication at the provider").selectOption("Key pair, made here (private_key_jwt)");
  expect(await page.getByLabel("Client secret").count()).toBe(0);
  await button("Add an identity provider").click();
  const key = page.getByRole("region", { name: "Public key to register at the provider (JWK)" });
  expect(await key.textContent()).toContain('"crv":"P-256"');
  await button("Remove the provider").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Type by-key to confirm").fill("by-key");
  await dialog.getByRole("button", { name: "Remove the provider" }).click();
  await page.getByRole("heading", { level: 1, name: "Identity providers" }).waitFor();
  await expect(stored("by-key")).rejects.toThrow();
});

test("a provider that cannot be stored is refused at its field, and what was typed stays", async () => {
  await openScreen(page, "/connections/new");
  await page.getByLabel("Provider", { exact: true }).selectOption("Microsoft Entra ID");
  await field("Directory (tenant) ID").fill("common");
  await field("Client ID").fill("us");
  await page.getByLabel("Client secret").fill("a-secret");
  await button("Add an identity provider").click();
  await page.getByRole("alert").getByText("give the id of one directory").waitFor();
  expect(await page.getByLabel("Client secret").inputValue()).toBe("a-secret");
  expect(await field("Name").inputValue()).toBe("microsoft");
});

test("no provider is added while it is not known in which realm", async () => {
  await operator.realms.create.mutate({ name: "guests" });
  await page.route("**/trpc/*realms.list*", refusing("operator.realms.list"));
  await page.goto(`${server.url}/console/connections/new`);
  await page.getByRole("alert").getByText("Not now.").waitFor();
  expect(await button("Add an identity provider").isDisabled()).toBe(true);
  await page.unrouteAll();
  await button("Try again").click();
  await page.getByLabel("Realm").selectOption("guests");
  expect(await button("Add an identity provider").isDisabled()).toBe(false);
});
