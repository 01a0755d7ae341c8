import type { Route } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { adminAs, operatorAt } from "../support/admin.ts";
import { held as heldOn, openConsole, openScreen, startConsole } from "../support/console.ts";
import { PROVISIONED } from "../support/server.ts";

// What the console does with answers that arrive after its user has gone on. One server and one browser.

const { browser, server, page } = await startConsole({ provision: { ...PROVISIONED, realms: [{ name: "Partners" }] } });

beforeEach(async () => {
  await page.unrouteAll();
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
});

const held = (url: string) => heldOn(page, url);

const aClient = async (name: string) =>
  (await operatorAt(server.url)).clients.create.mutate({
    name,
    redirectUris: ["https://late.example.test/"],
    grantTypes: ["authorization_code"],
    tokenEndpointAuthMethod: "client_secret_basic",
  });

const button = (name: string) => page.getByRole("button", { name, exact: true });
const confirm = (name: string) => page.getByRole("dialog").getByRole("button", { name, exact: true }).click();

const refused = (route: Route) =>
  route.fulfill({
    status: 429,
    json: [{ error: { code: -32_029, message: "no", data: { code: "TOO_MANY_REQUESTS", httpStatus: 429, message: "Not now." } } }],
  });

test.for([
  [
    "client",
    "clients.delete",
    async () => {
      const { id } = await aClient("Late deletion");
      await openScreen(page, `/clients/${id}`);
      await button("Delete the client").click();
      await page.getByLabel("Type Late deletion to confirm").fill("Late deletion");
      await confirm("Delete the client");
    },
  ],
  [
    "user",
    "users.delete",
    async () => {
      const { email } = await server.signedInUser();
      const [user] = (await (await operatorAt(server.url)).users.list.query({ search: email })).users;
      await openScreen(page, `/users/${user?.id}`);
      await button("Delete").click();
      await page.getByLabel("Type the e-mail address to confirm").fill(email);
      await confirm("Delete");
    },
  ],
  [
    "resource",
    "resources.remove",
    async () => {
      const resource = "https://late.example.test/mcp";
      await (await operatorAt(server.url)).resources.create.mutate({ resource });
      await openScreen(page, `/resources/view?uri=${resource}&tab=settings`);
      await button("Remove the record").click();
      await confirm("Remove the record");
    },
  ],
] as const)(
  "the deletion of a %s that is answered late leaves its user on the screen that they have opened since",
  async ([, name, remove]) => {
    const deletion = await held(`**/trpc/*${name}*`);
    await remove();
    await deletion.asked;
    await openScreen(page, "/keys");
    const readAgain = page.waitForRequest("**/trpc/**"); // everything on the screen is, after a deletion
    await deletion.release();
    await readAgain;
    expect(page.url()).toBe(`${server.url}/console/keys`);
    await page.getByRole("heading", { name: "Signing keys", level: 1 }).waitFor();
  },
);

test("a change that fails after its user has gone on to another screen says so there", async () => {
  const { id } = await aClient("Late failure");
  await openScreen(page, `/clients/${id}`);
  const saving = await held("**/trpc/*clients.update*");
  await page.getByLabel("Name").fill("Never saved");
  await button("Save").click();
  await saving.asked;
  await openScreen(page, "/keys");
  await saving.release(refused);
  await page.getByRole("alert").getByText("Not now.").waitFor();
});

test.for([
  [
    "secret of a client that is made",
    "operator.clients.create",
    "Client secret: Made late",
    async () => {
      await openScreen(page, "/clients/new");
      await page.getByLabel("Name").fill("Made late");
      await page.getByLabel("Redirect URIs").fill("https://late.example.test/");
      await button("Create").click();
    },
  ],
  [
    "secret that replaces another",
    "operator.clients.regenerateSecret",
    "Client secret: Replaced late",
    async () => {
      const { id } = await aClient("Replaced late");
      await openScreen(page, `/clients/${id}`);
      await button("Replace the secret").click();
      await confirm("Replace the secret");
    },
  ],
  [
    "API key",
    "apiKeys.create",
    "API key: Late",
    async () => {
      const { admin, id: ownerId } = await adminAs(server.url);
      const { id } = await admin.operator.clients.create.mutate({
        name: "Keyed late",
        ownerId,
        environment: "development",
        redirectUris: ["https://late.example.test/"],
        grantTypes: ["authorization_code"],
        tokenEndpointAuthMethod: "none",
      });
      await openScreen(page, `/clients/${id}?tab=keys`);
      await page.getByLabel("Name of the key").fill("Late");
      await button("Create a key").click();
    },
  ],
] as const)("the %s is shown also where its user has gone on to another screen", async ([, name, label, make]) => {
  const making = await held(`**/trpc/*${name}*`);
  const answered = page.waitForResponse(`**/trpc/*${name}*`);
  await make();
  await making.asked;
  await openScreen(page, "/keys");
  await making.release();
  const [{ result }] = await (await answered).json();
  const secret = result.data.clientSecret ?? result.data.key;
  expect(await page.getByRole("region", { name: label, exact: true }).textContent()).toBe(secret);
});

test("a question about a record is gone with the screen of the record", async () => {
  const { id } = await aClient("Left behind");
  await openScreen(page, "/clients");
  await openScreen(page, `/clients/${id}`);
  await button("Replace the secret").click();
  await page.getByRole("dialog").waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "Clients", level: 1 }).waitFor();
  await page.getByRole("dialog").waitFor({ state: "detached" });
});

test("what was chosen for a resource is not kept for another one", async () => {
  const operator = await operatorAt(server.url);
  const [one, other] = ["https://one.example.test/mcp", "https://other.example.test/mcp"];
  for (const resource of [one, other]) await operator.resources.create.mutate({ resource, clients: ["named"] });
  const kind = page.getByLabel("Those that registered themselves");
  await openScreen(page, `/resources/view?uri=${one}&tab=settings`);
  await kind.waitFor();
  await openScreen(page, `/resources/view?uri=${other}&tab=settings`);
  await kind.check();
  await page.goBack();
  await page.getByRole("main").getByText(one, { exact: true }).first().waitFor();
  expect(await kind.isChecked()).toBe(false);
});

test("an invitation that is answered late leaves the dialog that was opened since, and what was typed there", async () => {
  await openScreen(page, "/users");
  const dialog = page.getByRole("dialog", { name: "Invite a user" });
  const open = () => button("Invite a user").click();
  await open();
  await dialog.getByLabel("E-mail address").fill("first@late.example.test");
  const sending = await held("**/trpc/*users.invite*");
  await dialog.getByRole("button", { name: "Send" }).click();
  await sending.asked;
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await open();
  await dialog.getByLabel("E-mail address").fill("second@late.example.test");
  await sending.release();
  await page.getByText("first@late.example.test").first().waitFor();
  expect(await dialog.getByLabel("E-mail address").inputValue()).toBe("second@late.example.test");
});

const notProven = (route: Route) =>
  route.fulfill({
    status: 401,
    json: [
      {
        error: {
          code: -32_001,
          message: "no",
          data: { error: "insufficient_user_authentication", code: "UNAUTHORIZED", httpStatus: 401, message: "Not yet.", maxAge: 300 },
        },
      },
    ],
  });

test("a sign-in that ends after it was given up leaves the next one to its user", async () => {
  const operator = await operatorAt(server.url);
  const emails = ["given-up@example.test", "next@example.test"];
  for (const email of emails) await operator.users.invite.mutate({ email });
  await openScreen(page, "/users");
  const question = page.getByRole("dialog", { name: "Confirm that it is you" });
  const withdraw = async (email = "") => {
    await page.route("**/trpc/*invitations.withdraw*", notProven, { times: 1 });
    await page.getByRole("button", { name: `Withdraw the invitation of ${email}` }).click();
    await question.waitFor();
  };
  await withdraw(emails[0]);
  const token = await held("**/oauth/token");
  await question.getByRole("button", { name: "Sign in again" }).click();
  await token.asked;
  await question.getByRole("button", { name: "Cancel" }).click();
  await withdraw(emails[1]);
  await token.release();
  await question.getByRole("button", { name: "Sign in again" }).click();
  await page.getByText(`The invitation of ${emails[1]} no longer works.`).waitFor();
});

test("a sign-in that fails leaves the question open, with the reason, and another window answers it", async () => {
  const email = "failed-once@example.test";
  await (await operatorAt(server.url)).users.invite.mutate({ email });
  await openScreen(page, "/users");
  await page.route("**/trpc/*invitations.withdraw*", notProven, { times: 1 });
  await button(`Withdraw the invitation of ${email}`).click();
  const question = page.getByRole("dialog", { name: "Confirm that it is you" });
  const busy = { error: "temporarily_unavailable", error_description: "Not right now." };
  await page.route("**/oauth/token", (route) => route.fulfill({ status: 503, json: busy }), { times: 1 });
  await question.getByRole("button", { name: "Sign in again" }).click();
  await question.getByText("temporarily_unavailable: Not right now.").waitFor();
  await question.getByRole("button", { name: "Sign in again" }).click();
  await page.getByText(`The invitation of ${email} no longer works.`).waitFor();
});

test("a flow that is stopped before its request was pushed ends", async () => {
  const operator = await operatorAt(server.url);
  const { id } = await operator.clients.create.mutate({
    name: "Pushing",
    scopes: ["openid"],
    redirectUris: [`${server.url}/console/try/callback`],
    grantTypes: ["authorization_code"],
    tokenEndpointAuthMethod: "none",
    requirePushedAuthorizationRequests: true,
  });
  await openScreen(page, `/clients/${id}?tab=try`);
  const pushing = await held("**/oauth/par");
  const opened = page.waitForEvent("popup");
  await button("Start the flow").click();
  await pushing.asked;
  await button("Cancel").click();
  await pushing.release();
  await page.getByText("You stopped the flow.").waitFor();
  const popup = await opened;
  await expect.poll(() => popup.isClosed()).toBe(true);
});

test("a double click on what sends a link for a new password, or withdraws an invitation, does it once", async () => {
  const operator = await operatorAt(server.url);
  const { email } = await server.signedInUser();
  const [user] = (await operator.users.list.query({ search: email })).users;
  const invited = "twice@late.example.test";
  await operator.users.invite.mutate({ email: invited });
  const sent: string[] = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(new URL(request.url()).pathname));
  await openScreen(page, `/users/${user?.id}`);
  await button("Send a link for a new password").dblclick();
  await page.getByText(email).last().waitFor();
  await openScreen(page, "/users");
  await button(`Withdraw the invitation of ${invited}`).dblclick();
  await page.getByText(`The invitation of ${invited} no longer works.`).first().waitFor();
  expect(sent.filter((path) => /sendReset|withdraw/.test(path))).toEqual([
    "/trpc/operator.users.sendReset",
    "/trpc/operator.invitations.withdraw",
  ]);
});

test("a sign-out ends at the first page, also where a call finds the session ended before that is there", async () => {
  const { page: own, close } = await openConsole(browser, server.url);
  await own.evaluate(() =>
    addEventListener("beforeunload", () => setTimeout(() => document.querySelector<HTMLElement>("a[href$='/console/agents']")?.click()), {
      once: true,
    }),
  );
  const left: string[] = [];
  own.on("request", (request) => request.isNavigationRequest() && left.push(new URL(request.url()).pathname));
  const first = Promise.withResolvers<Route>();
  await own.route(`${server.url}/`, first.resolve);
  await own.getByRole("button", { name: "Your account" }).click();
  const silently = own.waitForResponse(/error=login_required/);
  await own.getByRole("menuitem", { name: "Sign out" }).click({ noWaitAfter: true });
  const route = await first.promise;
  await silently;
  await route.continue();
  await own.waitForURL(`${server.url}/`);
  expect(left).toEqual(["/"]);
  await close();
});

test("a page that the browser has kept and shows again leaves for the sign-in where the session has ended since", async () => {
  const { page: own, close } = await openConsole(browser, server.url, "/keys", "Signing keys");
  await own.getByRole("table", { name: "Signing keys" }).waitFor();
  const other = await own.context().newPage();
  await other.goto(`${server.url}/logout`);
  await other.getByRole("button", { name: "Sign out" }).click();
  await other.getByRole("heading", { level: 1 }).waitFor();
  await own.evaluate(() => dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true })));
  await own.waitForURL(/\/login\?/);
  await close();
});

test("a double click on what ends a session, enables a user or resumes an agent does it once", async () => {
  const operator = await operatorAt(server.url);
  const { email } = await server.signedInUser();
  const [user] = (await operator.users.list.query({ search: email })).users;
  const id = user?.id ?? "";
  const agent = await operator.clients.create.mutate({
    name: "Resumed twice",
    isAgent: true,
    grantTypes: ["client_credentials"],
    tokenEndpointAuthMethod: "client_secret_basic",
  });
  await operator.agents.pause.mutate({ clientId: agent.clientId });
  const sent: string[] = [];
  page.on("request", (request) => request.method() === "POST" && sent.push(new URL(request.url()).pathname));
  await openScreen(page, `/users/${id}`);
  await page.getByRole("button", { name: /^Sign out: / }).dblclick();
  await page.getByText("Not signed in anywhere.").waitFor();
  await operator.users.disable.mutate({ id });
  await openScreen(page, `/agents/${agent.id}`);
  await button("Resume").dblclick();
  await button("Pause").waitFor();
  await openScreen(page, `/users/${id}`);
  await button("Enable").dblclick();
  await button("Disable").waitFor();
  expect(sent.filter((path) => /sessions|enable|resume/.test(path))).toEqual([
    "/trpc/operator.sessions.end",
    "/trpc/operator.agents.resume",
    "/trpc/operator.users.enable",
  ]);
});

test("a logo that cannot be read says so, and of two the last that was chosen is sent", async () => {
  const operator = await operatorAt(server.url);
  const id = (await operator.realms.list.query()).realms.find(({ name }) => name === "Partners")?.id ?? "";
  await openScreen(page, `/realms/${id}`);
  await page.evaluate(() => {
    const read = FileReader.prototype.readAsDataURL;
    FileReader.prototype.readAsDataURL = function (file) {
      if ((file as File).name === "gone.svg") this.dispatchEvent(new ProgressEvent("error"));
      else if ((file as File).name === "large.svg") addEventListener("small is read", () => read.call(this, file), { once: true });
      else {
        this.addEventListener("load", () => dispatchEvent(new Event("small is read")));
        read.call(this, file);
      }
    };
  });
  const choose = async (name: string) => {
    const chooser = page.waitForEvent("filechooser");
    await page.getByLabel("Logo").click();
    await (await chooser).setFiles({ name, mimeType: "image/svg+xml", buffer: Buffer.from(`<svg id="${name}"/>`) });
  };
  await choose("gone.svg");
  await page.getByText("This file could not be read.").waitFor();
  const previewed: string[] = [];
  page.on("request", (request) => request.url().includes("previewBranding") && previewed.push(request.postData() ?? ""));
  await choose("large.svg");
  await choose("small.svg");
  const hasLogo = (name: string) => previewed.at(-1)?.includes(Buffer.from(`<svg id="${name}"/>`).toString("base64"));
  await expect.poll(() => hasLogo("small.svg")).toBe(true);
});

test("an export that fails after its user has gone on to another screen says so there", async () => {
  await openScreen(page, "/audit");
  const exporting = await held("**/trpc/*audit.export*");
  await button("Export").click();
  await exporting.asked;
  await openScreen(page, "/realms");
  await exporting.release(refused);
  await page.getByRole("alert").getByText("Not now.").waitFor();
});

test("a step back to an earlier address of a new resource has it in the field too", async () => {
  const [first, second] = ["https://localhost:9/first", "https://localhost:9/second"];
  await openScreen(page, `/resources/new?uri=${encodeURIComponent(first)}`);
  await page.getByLabel("Address").fill(second);
  await button("Read its metadata").click();
  await page.waitForURL(/second/);
  await page.goBack();
  await page.waitForURL(/first/);
  await expect.poll(() => page.getByLabel("Address").inputValue()).toBe(first);
});
