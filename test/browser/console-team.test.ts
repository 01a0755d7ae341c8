import type { Route } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { openScreen, startConsole, typeInSearch } from "../support/console.ts";
import { runText } from "../support/database.ts";
import { OPERATOR } from "../support/server.ts";
import { signIn } from "../support/visits.ts";

// Several operators at once, where there is much of everything. One server and one browser.

const { server, page } = await startConsole();
const run = (text: string) => runText(server.database.sql, text);
const operator = await operatorAt(server.url);

beforeEach(async () => {
  await page.unrouteAll();
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
});

/** Clients like the one of the tests that is called `agent`, but for some columns. */
const manyClients = (count: number, kind: string, columns: object) =>
  run(
    `insert into clients select (jsonb_populate_record(client, '${JSON.stringify(columns)}' || jsonb_build_object(
       'id', gen_random_uuid(), 'client_id', 'many-${kind}-' || n, 'name', 'many-${kind}-' || n))).*
     from clients client, generate_series(1001, ${1000 + count}) n where client.client_id = 'agent'`,
  );

const button = (name: string) => page.getByRole("button", { name, exact: true });

test("an agent is not called active where it is not known whether it is paused", async () => {
  await manyClients(201, "agent", { is_agent: true, enabled: true });
  await run(
    `insert into agent_pauses (agent, paused_by_type, paused_by, paused_at)
     select 'many-agent-' || n, 'user', 'somebody', now() + n * interval '1 second' from generate_series(1001, 1201) n`,
  );
  const { pauses } = await operator.agents.pauses.query({ userId: null, limit: 200 });
  const known = new Set(pauses.map(({ agent }) => agent.clientId));
  const beyond = Array.from({ length: 201 }, (_, n) => `many-agent-${n + 1001}`).find((id) => !known.has(id)) ?? "";
  await openScreen(page, `/agents?q=${beyond}`);
  await page.getByRole("link", { name: beyond, exact: true }).waitFor();
  expect(await page.getByText("Active", { exact: true }).count()).toBe(0);
});

test("the focus moves to the heading of the next screen, and stays where its user has put it", async () => {
  const focused = () => page.evaluate(() => `${document.activeElement?.tagName}: ${document.activeElement?.textContent?.slice(0, 40)}`);
  await page.getByRole("navigation").getByRole("link", { name: "Clients" }).press("Enter");
  await expect.poll(focused).toBe("H1: Clients");
  const client = page.locator(".row-link").first();
  const name = await client.innerText();
  await client.press("Enter");
  await expect.poll(focused).toBe(`H1: ${name}`);
  await page.getByRole("tab", { name: "Audit" }).press("Enter");
  await expect.poll(focused).toBe("BUTTON: Audit");
  await page.goBack();
  await expect.poll(focused).toBe("H1: Clients");
  await typeInSearch(page, "Keys");
  await page.keyboard.press("Enter");
  await expect.poll(focused).toBe("H1: Signing keys");
});

test("the list of clients names their owners, and the screen of a user the clients that they manage", async () => {
  const owner = await operator.users.create.mutate({ email: "owner@example.test", password: "a long enough secret 1" });
  await operator.clients.create.mutate({
    name: "Somebody's job",
    ownerId: owner.id,
    grantTypes: ["client_credentials"],
    tokenEndpointAuthMethod: "client_secret_basic",
  });
  await openScreen(page, "/clients?q=Somebody");
  await page.getByRole("row", { name: /Somebody's job.*owner@example\.test/ }).waitFor();
  await openScreen(page, `/users/${owner.id}`);
  const owned = page.getByRole("region", { name: "Clients they manage" });
  await owned.getByRole("link", { name: "Somebody's job" }).waitFor();
  const parts = Array.from({ length: 10 }, (_, n) => `owned-${n}`); // a statement may take two seconds
  for (const part of parts) await manyClients(1_000, part, { owner_id: owner.id });
  await page.reload();
  await owned.getByText("There are more than 10,000: the first 200 are shown.").waitFor();
  for (const part of parts) await run(`delete from clients where client_id like 'many-${part}-%'`);
});

test("a long list is fetched in few calls", async () => {
  await run(
    `insert into users (realm_id, email, email_key, role, enabled, email_verified)
     select realms.id, 'user-' || n || '@example.test', 'user-' || n || '@example.test', 'user', true, true
     from realms, generate_series(1, 2000) n where realms.name = 'default'`,
  );
  let calls = 0;
  page.on("request", (request) => {
    if (request.url().includes("operator.users.list")) calls++;
  });
  await openScreen(page, "/users?sort=email");
  await expect
    .poll(async () => {
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      return Number(await page.locator("[data-index]").last().getAttribute("data-index"));
    })
    .toBeGreaterThan(1000);
  expect(calls).toBeLessThan(10);
});

test("says how many clients were deleted before a call failed", async () => {
  await manyClients(150, "dead", { origin: "dynamic", last_used_at: null, created_at: "2020-01-01" });
  await openScreen(page, "/clients?unused=90&q=many-dead");
  await page.getByText("150 in total").waitFor();
  await expect
    .poll(async () => {
      await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight));
      return Number(await page.locator("[data-index]").last().getAttribute("data-index"));
    })
    .toBe(149);
  await page.getByRole("checkbox", { name: "Select all shown" }).check();
  let calls = 0;
  await page.route("**/trpc/*deleteMany*", (route) => (calls++ === 0 ? route.continue() : route.abort()));
  await button("Delete clients: 150").click();
  await page.getByRole("dialog").getByRole("button", { name: "Delete clients: 150" }).click();
  await page.getByText("The server cannot be reached.").waitFor();
  await page.getByText("Deleted: 100.").waitFor();
});

const expired = (route: Route) => route.fulfill({ status: 401, headers: { "www-authenticate": 'Bearer error="invalid_token"' }, json: {} });

test("what somebody else has added to or taken from a list stays so when another entry of it is saved", async () => {
  const [one, two, three, four] = ["one", "two", "three", "four"].map((name) => `https://${name}.example.test/`) as [string, ...string[]];
  const uris = (...some: readonly (string | undefined)[]) => some.filter((each) => each !== undefined);
  const { id } = await operator.clients.create.mutate({
    name: "Shared",
    redirectUris: uris(one, two),
    grantTypes: ["authorization_code"],
    tokenEndpointAuthMethod: "none",
  });
  await openScreen(page, `/clients/${id}`);
  await page.getByLabel("Redirect URIs").fill(uris(one, two, three).join("\n"));
  await operator.clients.update.mutate({ id, patch: { redirectUris: uris(one, four) } });
  await button("Save").click();
  await page.getByText("Saved. It is in force now.").waitFor();
  expect((await operator.clients.get.query({ id })).redirectUris).toEqual(uris(one, four, three));

  const resource = "https://shared.example.test/mcp";
  await operator.resources.create.mutate({ resource, name: "Shared", scopes: [{ name: "shared:read" }], clients: ["named", "document"] });
  await openScreen(page, `/resources/view?uri=${resource}&tab=settings`);
  await page.getByLabel("Those that registered themselves").check();
  await operator.resources.update.mutate({ resource, clients: ["named"] });
  await button("Save").click();
  await expect.poll(async () => (await operator.resources.get.query({ resource })).clients.toSorted()).toEqual(["named", "registered"]);
});

test("a name that somebody else has set in the meantime is shown before it is replaced", async () => {
  const { id } = await operator.clients.create.mutate({ name: "Before", grantTypes: ["client_credentials"] });
  await openScreen(page, `/clients/${id}`);
  await page.getByLabel("Name").fill("Mine");
  await operator.clients.update.mutate({ id, patch: { name: "Theirs" } });
  await button("Save").click();
  await page.getByText("It is now: Theirs.").waitFor();
  expect((await operator.clients.get.query({ id })).name).toBe("Theirs");
  await button("Save").click();
  await page.getByRole("heading", { name: "Mine", level: 1 }).waitFor();

  const realm = (await operator.realms.create.mutate({ name: "Branded" })).id;
  const name = async () => (await operator.realms.get.query({ id: realm })).branding.name;
  await openScreen(page, `/realms/${realm}`);
  await page.getByLabel("Product or company").fill("Mine");
  await operator.realms.setBranding.mutate({ id: realm, branding: { name: "Theirs" } });
  await button("Save branding").click();
  await page.getByText("It is now: Theirs.").waitFor();
  expect(await name()).toBe("Theirs");
  await button("Save branding").click();
  await expect.poll(name).toBe("Mine");
});

test("a logo and a role that somebody else has set in the meantime are named before they are replaced", async () => {
  const { id } = await operator.realms.create.mutate({ name: "With a logo" });
  const svg = (name: string) => Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" id="${name}"/>`);
  const logo = async () => (await operator.realms.get.query({ id })).branding.logoData;
  const choose = async (name: string): Promise<void> => {
    const chooser = page.waitForEvent("filechooser");
    await page.getByLabel("Logo").click();
    await (await chooser).setFiles({ name: `${name}.svg`, mimeType: "image/svg+xml", buffer: svg(name) });
  };
  await openScreen(page, `/realms/${id}`);
  await choose("mine");
  await button("Remove the logo").waitFor(); // once the file is read
  const theirs = svg("theirs").toString("base64");
  await operator.realms.setBranding.mutate({ id, branding: { logo: theirs } });
  await button("Save branding").click();
  await page.getByText("It is now: another logo.").waitFor();
  expect(await logo()).toBe(theirs);
  await button("Save branding").click();
  await expect.poll(logo).toBe(svg("mine").toString("base64"));

  const held = Promise.withResolvers<Route>();
  await page.route("**/operator.realms.setBranding**", (route) => held.resolve(route), { times: 1 });
  await choose("second");
  await button("Save branding").click();
  const saving = await held.promise;
  await choose("third"); // while the second is on its way
  await saving.continue();
  await expect.poll(logo).toBe(svg("second").toString("base64"));
  await button("Save branding").click();
  await expect.poll(logo).toBe(svg("third").toString("base64"));

  const email = "promoted@example.test";
  await operator.users.import.mutate({ users: [{ email, role: "user" }] });
  const [user] = (await operator.users.list.query({ search: email })).users;
  await openScreen(page, `/users/${user?.id}`);
  await page.getByLabel("Role").selectOption({ label: "Developer" });
  await run(`update users set role = 'operator' where email = '${email}'`);
  await page.getByRole("dialog").getByRole("button", { name: "Change the role" }).click();
  await page.getByText("It is now: Operator.").waitFor();
  expect(await run(`select role from users where email = '${email}'`)).toEqual([{ role: "operator" }]);
});

test("what somebody else has set for the registration in a realm stays when it is saved unchanged, or another scope is added", async () => {
  const { id } = await operator.realms.create.mutate({ name: "Shared" });
  const scopes = async () => (await operator.realms.get.query({ id })).dynamicRegistrationScopes;
  await openScreen(page, `/realms/${id}`);
  await page.getByText("a list has an effect there alone").waitFor(); // this realm is not the default one
  await operator.realms.update.mutate({ id, dynamicRegistrationScopes: ["openid", "email"] });
  await button("Save scopes").click();
  await page.getByText(/^Saved/).waitFor();
  expect(await scopes()).toEqual(["openid", "email"]);
  await page.getByLabel("Scopes", { exact: true }).fill("openid email profile");
  await operator.realms.update.mutate({ id, dynamicRegistrationScopes: ["openid"] });
  await button("Save scopes").click();
  await expect.poll(scopes).toEqual(["openid", "profile"]);
  const field = page.getByLabel("Scopes", { exact: true });
  await expect.poll(() => field.inputValue()).toBe("openid profile"); // read again: what comes next is not in that answer
  await field.fill("openid profile email");
  await operator.realms.update.mutate({ id, dynamicRegistrationScopes: null });
  await button("Save scopes").click();
  await expect.poll(scopes).toEqual(["openid", "profile", "email"]);
});

test("what was typed stays when the session ends, and is sent once its user has signed in again", async () => {
  await openScreen(page, "/clients/new");
  await page.getByLabel("Name").fill("Kept");
  // The judgement of the URIs comes after a pause, and would itself ask for a sign-in once the session has ended.
  const judged = page.waitForResponse((response) => /judgeRedirectUris.*kept\.example\.test/.test(response.url()));
  await page.getByLabel("Redirect URIs").fill("https://kept.example.test/");
  await judged;
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

test("asks by name before it replaces a secret or removes a record", async () => {
  const resource = "https://named.example.test/mcp";
  await operator.resources.create.mutate({ resource });
  const client = await operator.clients.create.mutate({
    name: "Named client",
    ownerId: null,
    environment: "development",
    redirectUris: ["https://named.example.test/cb"],
    grantTypes: ["authorization_code"],
    tokenEndpointAuthMethod: "client_secret_basic",
  });
  const asked = async (path: string, act: string): Promise<string> => {
    await openScreen(page, path);
    await button(act).click();
    const dialog = page.getByRole("dialog");
    await dialog.getByRole("button", { name: act }).waitFor();
    const text = await dialog.innerText();
    await dialog.getByRole("button", { name: "Cancel" }).click();
    return text;
  };
  expect(await asked(`/clients/${client.id}?tab=settings`, "Replace the secret")).toContain("Named client");
  expect(await asked(`/resources/view?uri=${resource}&tab=settings`, "Remove the record")).toContain(resource);
});
