import type { Locator, Page, Route } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { aClientWithKeys, operatorAt } from "../support/admin.ts";
import { held as heldOn, openScreen, REFUSED, startConsole } from "../support/console.ts";
import { runText } from "../support/database.ts";
import { PROVISIONED } from "../support/server.ts";

// The console on a slow computer and over a slow network: every moment in between lasts. One server and one browser.

const { server, page } = await startConsole({ provision: { ...PROVISIONED, realms: [{ name: "Partners" }] } });
const operator = await operatorAt(server.url);

beforeEach(async () => {
  await page.unrouteAll();
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
});

const held = (url: string) => heldOn(page, url);
const button = (name: string) => page.getByRole("button", { name, exact: true });
const confirm = (name: string) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click();
const hasFocus = (control: Locator) => control.evaluate((element) => element === document.activeElement);

async function aUser() {
  const { email } = await server.signedInUser();
  return { email, id: (await operator.users.list.query({ search: email })).users[0]?.id ?? "" };
}

const aClient = (name: string) =>
  operator.clients.create.mutate({
    name,
    redirectUris: ["https://slow.example.test/"],
    grantTypes: ["authorization_code"],
    tokenEndpointAuthMethod: "client_secret_basic",
  });

test("an act after a question is not offered again until the screen shows what it has changed, and its button has the focus then", async () => {
  const { id } = await aUser();
  await openScreen(page, `/users/${id}`);
  const disabling = await held("**/trpc/*users.disable*");
  await button("Disable").click();
  await confirm("Disable");
  await disabling.asked;
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await button("Disable").isDisabled()).toBe(true);
  const reading = await held("**/trpc/*users.get*");
  await disabling.release();
  await reading.asked;
  expect(await button("Disable").isDisabled()).toBe(true);
  await reading.release();
  await expect.poll(() => hasFocus(button("Enable"))).toBe(true);
});

test.for([
  ["client", "Replace the secret", "regenerateSecret"],
  ["user", "Sign out", "sessions.end"],
] as const)("%s: '%s' is busy while the server has not answered", async ([kind, name, procedure]) => {
  const { id } = kind === "client" ? await aClient("Slow rotation") : await aUser();
  await openScreen(page, `/${kind}s/${id}`);
  const acting = await held(`**/trpc/*${procedure}*`);
  await button(name).click();
  await confirm(name);
  await acting.asked;
  await page.getByRole("dialog").waitFor({ state: "detached" });
  expect(await button(name).isDisabled()).toBe(true);
  await acting.release();
  await expect.poll(() => button(name).isEnabled()).toBe(true);
});

test("the role that is being set is shown, and no other can be chosen until it is", async () => {
  const { id } = await aUser();
  await operator.users.setRole.mutate({ id, role: "user" });
  await openScreen(page, `/users/${id}`);
  const role = page.getByLabel("Role");
  const setting = await held("**/trpc/*users.setRole*");
  await role.selectOption({ label: "Developer" });
  await page.getByRole("dialog").getByRole("button").last().click();
  await setting.asked;
  expect([await role.inputValue(), await role.isDisabled()]).toEqual(["developer", true]);
  await setting.release();
  await expect.poll(() => role.isEnabled()).toBe(true);
  expect(await role.inputValue()).toBe("developer");
});

test("what was done is said once the screen shows it: what is asked next is about the record as it is now", async () => {
  const { email, id } = await aUser();
  await operator.users.setRole.mutate({ id, role: "developer" });
  await openScreen(page, `/users/${id}`);
  const setting = await held("**/trpc/*users.setRole*");
  await page.getByLabel("Role").selectOption({ label: "Operator" });
  await page.getByRole("dialog").getByRole("button").last().click();
  await setting.asked;
  const reading = await held("**/trpc/*users.get*");
  await setting.release();
  await reading.asked;
  const done = page.getByText(`${email} is now operator.`);
  expect(await done.count()).toBe(0);
  await reading.release();
  await done.waitFor();
  await button("Disable").click();
  await page.getByRole("dialog").getByText("Invitations that they sent and that are not accepted yet stop working.").waitFor();
  await page.keyboard.press("Escape");
});

test("what is made while a list is read for the first time is in the list, though that answer is from before", async () => {
  const id = await aClientWithKeys(server.url);
  const listing = await held("**/trpc/*apiKeys.list*");
  await openScreen(page, `/clients/${id}?tab=keys`);
  const before = await (await listing.asked).fetch();
  await page.getByLabel("Name of the key").fill("first");
  await button("Create a key").click();
  await page.getByRole("region", { name: "API key" }).waitFor();
  await listing.release((route) => route.fulfill({ response: before }));
  await page.getByRole("row", { name: "first" }).waitFor();
});

test("a branding is not saved without a logo that is still being read, and one that is read after that takes its place", async () => {
  const id = (await operator.realms.list.query({ search: "Partners" })).realms[0]?.id ?? "";
  await openScreen(page, `/realms/${id}`);
  await page.evaluate(() => {
    const read = FileReader.prototype.readAsDataURL;
    FileReader.prototype.readAsDataURL = function (file) {
      addEventListener("read", () => read.call(this, file), { once: true });
    };
  });
  const read = () => page.evaluate(() => dispatchEvent(new Event("read")));
  const choose = async (name: string) => {
    const chooser = page.waitForEvent("filechooser");
    await page.getByLabel("Logo").click();
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h${name.length}v9z"/></svg>`;
    await (await chooser).setFiles({ name, mimeType: "image/svg+xml", buffer: Buffer.from(svg) });
  };
  const save = button("Save branding");
  await choose("a.svg");
  await page.getByText("a.svg").waitFor();
  expect(await save.isDisabled()).toBe(true);
  await read();
  const saving = await held("**/trpc/*setBranding*");
  await save.click();
  await saving.asked;
  await choose("longer.svg");
  await saving.release();
  await page.getByText(/^Saved/).waitFor();
  const first = (await operator.realms.get.query({ id })).branding.logoData;
  expect(first).not.toBeNull();
  await read();
  await save.click();
  await expect.poll(async () => (await operator.realms.get.query({ id })).branding.logoData).not.toBe(first);
});

test("what is typed back while a form is saved stays, and is saved next", async () => {
  const { id } = await aClient("Before");
  await openScreen(page, `/clients/${id}`);
  const name = page.getByLabel("Name");
  const saving = await held("**/trpc/*clients.update*");
  await name.fill("After");
  await button("Save").click();
  await saving.asked;
  await name.fill("Before");
  await saving.release();
  await expect.poll(() => button("Save").isEnabled()).toBe(true);
  expect(await name.inputValue()).toBe("Before");
  await button("Save").click();
  await expect.poll(async () => (await operator.clients.get.query({ id })).name).toBe("Before");
});

test("a form that was saved shows what was saved where its record cannot be read again", async () => {
  const { id } = await aClient("Before");
  await openScreen(page, `/clients/${id}`);
  const name = page.getByLabel("Name");
  await name.fill("After");
  const saving = await held("**/trpc/*clients.update*");
  await button("Save").click();
  await saving.asked;
  const refused = (route: Route) => route.fulfill({ status: 429, json: [REFUSED] });
  await page.route("**/trpc/*clients.get*", refused);
  await saving.release();
  await page.getByText("Saved").waitFor();
  await expect.poll(() => button("Save").isEnabled()).toBe(true);
  expect(await name.inputValue()).toBe("After");
});

test("a client that is chosen while others are deleted stays chosen", async () => {
  await runText(
    server.database.sql,
    `insert into clients (client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method, created_at)
     select 'slow-' || n, realms.id, 'dynamic', 'Slow ' || n, '{https://slow.example.test/cb}', '{}', '{authorization_code}', '{code}', 'none', now() - interval '200 days'
     from realms, generate_series(1, 2) as n where realms.name = 'default'`,
  );
  await openScreen(page, "/clients?unused=90&q=Slow");
  await page.getByRole("checkbox", { name: "Slow 1" }).check();
  const deleting = await held("**/trpc/*deleteMany*");
  await button("Delete clients: 1").click();
  await confirm("Delete clients: 1");
  await deleting.asked;
  await page.getByRole("checkbox", { name: "Slow 2" }).check();
  await deleting.release();
  await page.getByText("Deleted: 1.").waitFor();
  await page.getByRole("checkbox", { name: "Slow 1" }).waitFor({ state: "detached" });
  await page.getByText("1 selected").waitFor();
  expect(await page.getByRole("checkbox", { name: "Slow 2" }).isChecked()).toBe(true);
});

const NOT_PROVEN = { error: "insufficient_user_authentication", code: "UNAUTHORIZED", httpStatus: 401, message: "Not yet.", maxAge: 300 };
const notProven = (route: Route) => route.fulfill({ status: 401, json: [{ error: { code: -32_001, message: "no", data: NOT_PROVEN } }] });

test("a double click on what opens the sign-in opens one window", async () => {
  const { id, email } = await aUser();
  await openScreen(page, `/users/${id}`);
  await page.route("**/trpc/*sendReset*", notProven, { times: 1 });
  await button("Send a link for a new password").click();
  const windows: Page[] = [];
  page.on("popup", (popup) => windows.push(popup));
  await button("Sign in again").evaluate((element) => {
    for (const detail of [1, 2]) element.dispatchEvent(new MouseEvent("click", { bubbles: true, detail }));
  });
  await page.getByText(`A link for a new password is on its way to ${email}.`).waitFor();
  expect(windows).toHaveLength(1);
});

test("a call that is refused after its user has signed in again for another one is sent again without another question", async () => {
  const emails = ["early@example.test", "late@example.test"];
  for (const email of emails) await operator.users.invite.mutate({ email });
  await openScreen(page, "/users");
  const withdraw = async (email = "") => {
    const withdrawal = await held("**/trpc/*invitations.withdraw*");
    await button(`Withdraw the invitation of ${email}`).click();
    await withdrawal.asked;
    return withdrawal;
  };
  const late = await withdraw(emails[1]);
  const early = await withdraw(emails[0]);
  await early.release(notProven);
  await button("Sign in again").click();
  await page.getByText(`The invitation of ${emails[0]} no longer works.`).waitFor();
  await late.release(notProven);
  await page.getByText(`The invitation of ${emails[1]} no longer works.`).waitFor();
});

test("a client is made only once it is known whether its user is an operator, whose clients are made by another call", async () => {
  await page.goto("about:blank"); // the screen before may not have asked yet
  const viewer = await held("**/trpc/*viewer.get*");
  await page.goto(`${server.url}/console/clients/new`);
  await viewer.asked;
  await page.getByLabel("Name").fill("Made early");
  await page.getByLabel("Redirect URIs").fill("https://slow.example.test/");
  expect(await button("Create").isDisabled()).toBe(true);
  const making = page.waitForRequest("**/trpc/*clients.create*");
  await viewer.release();
  await button("Create").click();
  expect(new URL((await making).url()).pathname).toBe("/trpc/operator.clients.create");
});

test("a resource that was added is shown without waiting for its metadata to be read again", async () => {
  const resource = "https://slow.example.test/mcp";
  const answer = { resource, metadataUrl: `${resource}/metadata`, fault: "unreachable", metadata: null, difference: null };
  await page.route("**/trpc/*resources.inspect*", (route) => route.fulfill({ json: [{ result: { data: answer } }] }), { times: 1 });
  await openScreen(page, `/resources/new?uri=${resource}`);
  await page.getByLabel("Name").fill("Slow resource");
  await held("**/trpc/*resources.inspect*");
  const givenUp: string[] = [];
  page.on("requestfailed", (request) => givenUp.push(request.url()));
  await button("Add a resource").click();
  await page.getByRole("heading", { name: "Slow resource", level: 1 }).waitFor();
  expect(givenUp).toEqual([]);
});
