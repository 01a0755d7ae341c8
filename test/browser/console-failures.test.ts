import type { Page, Route } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { aClientWithKeys, operatorAt } from "../support/admin.ts";
import { openPage } from "../support/chromium.ts";
import { openScreen, REFUSED, refusing, startConsole, typeInSearch } from "../support/console.ts";
import { runText } from "../support/database.ts";
import { OPERATOR, PROVISIONED, startServer } from "../support/server.ts";
import { signIn } from "../support/visits.ts";

// What the console shows when the server does not do what it is asked. One server and one browser.

const SECOND = { email: "second@example.test", password: "second operator password 1" };

const { browser, server, page } = await startConsole({
  provision: {
    ...PROVISIONED,
    realms: [{ name: "Partners" }],
    users: [...PROVISIONED.users, { ...SECOND, emailVerified: true, role: "operator" }],
  },
});

/** Answers the calls of a batch, each by its name and the index of its input. */
const answering = (answer: (name: string, input: unknown) => object) => (route: Route) => {
  const { pathname, searchParams } = new URL(route.request().url());
  const inputs = JSON.parse(searchParams.get("input") ?? "{}") as Readonly<Record<string, unknown>>;
  const names = pathname.replace("/trpc/", "").split(",");
  return route.fulfill({ status: 207, json: names.map((name, index) => answer(name, inputs[index])) });
};

/** Runs work while requests are answered here. */
async function whileAnswering(url: string, answer: (route: Route) => Promise<void>, work: () => Promise<void>): Promise<void> {
  await page.route(url, answer);
  await work();
  await page.unroute(url, answer);
}

test("says why a figure of home is missing", async () => {
  await whileAnswering("**/trpc/*operator.users.list*", refusing("operator.users.list"), async () => {
    await page.goto(`${server.url}/console`);
    await page.getByRole("region", { name: "Server" }).getByText("Not now.").waitFor();
  });
});

test("the first call of a client counts however many tokens the console has got since", async () => {
  await runText(server.database.sql, "update clients set last_used_at = now() where client_id = 'web'");
  await page.goto(`${server.url}/console`);
  const step = page.getByRole("list", { name: "First steps" }).getByRole("listitem").filter({ hasText: "Watch the first call" });
  await step.getByRole("status").waitFor();
  expect(await step.getByRole("status").innerText()).toBe("Done");
});

test("keeps what was typed when a screen cannot be read again", async () => {
  await openScreen(page, "/realms");
  await page.getByRole("link", { name: "Partners" }).click();
  await page.getByLabel("Product or company").fill("Acme Partners");
  await whileAnswering(
    "**/trpc/*operator.realms.get*",
    answering(() => REFUSED),
    async () => {
      await page.getByLabel("Required sign-in").selectOption({ label: "Two factors" });
      await page.getByText("What is shown may be out of date").waitFor();
    },
  );
  expect(await page.getByLabel("Product or company").inputValue()).toBe("Acme Partners");
});

test("keeps a new secret in sight when the client is read again", async () => {
  await openScreen(page, "/clients");
  await page.getByRole("link", { name: "web", exact: true }).click();
  await page.getByRole("button", { name: "Replace the secret" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Replace the secret" }).click();
  const secret = await page.getByRole("region", { name: "Client secret" }).innerText();
  await page.getByLabel("Name").fill("Renamed");
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "Renamed" }).waitFor();
  expect(await page.getByRole("region", { name: "Client secret" }).innerText()).toBe(secret);
});

test("shows nothing of another client on the way back to a client", async () => {
  await openScreen(page, "/clients");
  await page.getByRole("link", { name: "poster", exact: true }).click();
  await page.getByRole("heading", { name: "poster", level: 1 }).waitFor();
  await typeInSearch(page, "worker");
  await page.getByRole("dialog").getByText("worker").first().waitFor();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "worker", level: 1 }).waitFor();
  await page.getByRole("button", { name: "Replace the secret" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Replace the secret" }).click();
  await page.getByRole("region", { name: "Client secret" }).waitFor();
  await page.goBack();
  await page.getByRole("heading", { name: "poster", level: 1 }).waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("poster");
  expect(await page.getByRole("region", { name: "Client secret" }).count()).toBe(0);
});

test("asks for a further page once, and then waits for the user", async () => {
  let further = 0;
  const user = { id: "u", email: "first@example.test", firstName: null, lastName: null, role: "user", emailVerified: true, enabled: true };
  const data = { users: [{ ...user, createdAt: 0 }], nextCursor: "next", total: 2, totalIsExact: true };
  const answer = answering((name, input) => {
    if (name !== "operator.users.list") return REFUSED;
    if (!Object.hasOwn(Object(input), "cursor")) return { result: { data } };
    further += 1;
    return REFUSED;
  });
  await whileAnswering("**/trpc/*operator.users.list*", answer, async () => {
    await openScreen(page, "/users");
    await page.getByRole("button", { name: "Try again" }).nth(1).waitFor(); // below the invitations, which are refused too
    await openScreen(page, "/keys");
  });
  expect(further).toBe(1);
});

test("does not call an agent active whose pauses cannot be read", async () => {
  await runText(server.database.sql, "update clients set is_agent = true where client_id = 'agent'");
  await whileAnswering("**/trpc/*operator.agents.pauses*", refusing("operator.agents.pauses"), async () => {
    await openScreen(page, "/agents");
    await page.getByRole("alert").getByText("Not now.").waitFor();
    expect(await page.getByRole("row", { name: "agent" }).getByText("Active").count()).toBe(0);
    await page.getByRole("link", { name: "agent", exact: true }).click();
    await page.getByRole("heading", { name: "agent", level: 1, exact: true }).waitFor(); // not "Agents", of the list
    await page.getByRole("alert").getByText("Not now.").waitFor();
    expect(await page.getByText("Active", { exact: true }).count()).toBe(0);
  });
});

test("says that invitations cannot be read", async () => {
  const users = { users: [], nextCursor: null, total: 0, totalIsExact: true };
  const answer = answering((name) => (name === "operator.invitations.list" ? REFUSED : { result: { data: users } }));
  await whileAnswering("**/trpc/*operator.invitations.list*", answer, async () => {
    await openScreen(page, "/users");
    await page.getByRole("region", { name: "Invitations not accepted yet" }).getByText("Not now.").waitFor();
  });
});

test("offers no invitation where sign-up is closed", async () => {
  const closed = await startServer({ env: { SIGN_UP: "closed" } });
  const other = await openPage(browser);
  onTestFinished(() => Promise.all([closed.close(), other.close()]).then(() => undefined));
  await other.page.goto(`${closed.url}/console/users`);
  await signIn(other.page, OPERATOR.email, OPERATOR.password);
  await other.page.getByRole("link", { name: OPERATOR.email }).waitFor();
  expect(await other.page.getByRole("button", { name: "Invite a user" }).count()).toBe(0);
});

test("a change that is made offline fails at once, and is not made later", async () => {
  const operator = await operatorAt(server.url);
  const id = (await operator.clients.list.query({ search: "other" })).clients[0]?.id ?? "";
  await openScreen(page, `/clients/${id}`);
  await page.getByLabel("Name").fill("Made offline");
  onTestFinished(() => page.context().setOffline(false));
  await page.context().setOffline(true);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("alert").getByText("The server cannot be reached.").waitFor();
  await page.context().setOffline(false);
  await openScreen(page, "/clients");
  expect((await operator.clients.get.query({ id })).name).toBe("other");
});

test("reads the metadata of a resource again", async () => {
  let fault: string | null = "unreachable";
  const resource = "https://late.example.test/mcp";
  const answer = answering((name) => {
    if (name !== "operator.resources.inspect") return REFUSED;
    const metadata = fault === null ? { name: "Late notes", scopes: ["late:read"] } : null;
    return { result: { data: { resource, metadataUrl: `${resource}/metadata`, fault, metadata, difference: null } } };
  });
  await whileAnswering("**/trpc/*operator.resources.inspect*", answer, async () => {
    await openScreen(page, "/resources/new");
    await page.getByLabel("Address").fill(resource);
    await page.getByRole("button", { name: "Read its metadata" }).click();
    await page.getByText("Nothing answers at this address.").waitFor();
    fault = null;
    await page.getByRole("button", { name: "Read its metadata" }).click();
    await page.getByText("Its metadata was found").waitFor();
    expect(await page.getByLabel("Name").inputValue()).toBe("Late notes");
  });
});

test("says why records cannot be followed live", async () => {
  await openScreen(page, `/audit?userId=${"x".repeat(600)}`);
  await page.getByRole("button", { name: "Follow live" }).click();
  await page.getByRole("button", { name: "Follow live", pressed: true }).waitFor();
  await page.getByRole("alert").getByText("userId").waitFor();
  await openScreen(page, "/keys");
});

test("stays where it is when the server does not end the session", async () => {
  await whileAnswering(
    "**/auth/logout*",
    (route) => route.fulfill({ status: 503, json: {} }),
    async () => {
      await page.getByRole("button", { name: "Your account" }).click();
      await page.getByRole("menuitem", { name: "Sign out" }).click();
      await page.getByText("The server cannot be reached.").waitFor();
    },
  );
  expect(page.url()).toBe(`${server.url}/console/keys`);
});

/** Waits for what only a token can get: the heading is there without one. */
const homeIsRead = () => page.getByText("Tokens issued", { exact: true }).first().waitFor();

test("offers to try again when there is no token for now", async () => {
  await whileAnswering(
    "**/oauth/token",
    (route) => route.fulfill({ status: 503, json: { error: "temporarily_unavailable" } }),
    async () => {
      await page.goto(`${server.url}/console`);
      await page.getByRole("button", { name: "Try again" }).waitFor();
    },
  );
  await page.getByRole("button", { name: "Try again" }).click();
  await homeIsRead();
});

test("says why a sign-in is refused, and does not try it over and over", async () => {
  await whileAnswering(
    "**/oauth/token",
    (route) => route.fulfill({ status: 400, json: { error: "invalid_grant" } }),
    async () => {
      await page.goto(`${server.url}/console`);
      await page.getByText("The sign-in was not completed.").waitFor();
      await page.getByText("invalid_grant").waitFor();
    },
  );
  await page.getByRole("link", { name: "Try again" }).click();
  await homeIsRead();
});

test("Enter opens what fits the whole text while its results are on their way", async () => {
  const client = (id: string, name: string) => ({ id, name, clientId: `client-${id}` });
  const data = { clients: [client("other", "Cecil"), client("fits", "Command line")], nextCursor: null, total: 2, totalIsExact: true };
  const held = Promise.withResolvers<void>();
  const answer = answering((name) => (name === "operator.clients.list" ? { result: { data } } : REFUSED));
  const onlyTheBeginning = async (route: Route) => {
    if (!route.request().url().includes(encodeURIComponent('"search":"c"'))) await held.promise;
    await answer(route);
  };
  await whileAnswering("**/trpc/*operator.clients.list*", onlyTheBeginning, async () => {
    const field = await typeInSearch(page, "c");
    await page.getByRole("dialog").getByText("client-other").waitFor();
    await field.pressSequentially("ommand");
    await page.keyboard.press("Enter");
    await page.waitForURL(/\/clients\/fits$/);
    held.resolve();
  });
});

test("a request that cannot be explained for now can be asked about again", async () => {
  await whileAnswering("**/trpc/*explain.refusal*", refusing("operator.explain.refusal"), async () => {
    await openScreen(page, "/explain?request=unknown-request");
    await page.getByText("Not now.").waitFor();
  });
  await page.getByRole("button", { name: "Try again" }).click();
  await page.getByText("There is no refused token request with this id").waitFor();
});

test("shows the preview of a branding after the server was busy for a moment", async () => {
  const { realms } = await (await operatorAt(server.url)).realms.list.query({ search: "Partners" });
  const data = { error: "temporarily_unavailable", code: "SERVICE_UNAVAILABLE", httpStatus: 503, message: "Not now." };
  await page.route(
    "**/trpc/*previewBranding*",
    (route) => route.fulfill({ status: 503, json: [{ error: { code: -32_603, message: "no", data } }] }),
    { times: 1 },
  );
  await openScreen(page, `/realms/${realms[0]?.id}`);
  await page.frameLocator("iframe").getByRole("heading").first().waitFor();
});

const NOT_PROVEN = { error: "insufficient_user_authentication", code: "UNAUTHORIZED", httpStatus: 401, message: "Not yet.", maxAge: 300 };

test("calls that are refused together until the user has signed in again are all sent again", async () => {
  const operator = await operatorAt(server.url);
  const emails = ["one@example.test", "two@example.test"];
  for (const email of emails) await operator.users.invite.mutate({ email });
  await openScreen(page, "/users");
  const both = Promise.withResolvers<void>();
  let calls = 0;
  const refusing = async (route: Route) => {
    calls += 1;
    if (calls === emails.length) both.resolve();
    await both.promise;
    await route.fulfill({ status: 401, json: [{ error: { code: -32_001, message: "no", data: NOT_PROVEN } }] });
  };
  await whileAnswering("**/trpc/*invitations.withdraw*", refusing, async () => {
    for (const email of emails) await page.getByRole("button", { name: `Withdraw the invitation of ${email}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Sign in again" }).waitFor();
  });
  await page.getByRole("dialog").getByRole("button", { name: "Sign in again" }).click();
  for (const email of emails) await page.getByText(`The invitation of ${email} no longer works.`).waitFor();
});

test("a sign-in is asked for above the dialog whose call needs it, and nothing is sent when it is cancelled", async () => {
  await openScreen(page, "/users");
  await page.getByRole("button", { name: "Invite a user" }).click();
  const invite = page.getByRole("dialog", { name: "Invite a user" });
  await invite.getByLabel("E-mail address").fill("three@example.test");
  let calls = 0;
  const refusing = async (route: Route) => {
    calls += 1;
    await route.fulfill({ status: 401, json: [{ error: { code: -32_001, message: "no", data: NOT_PROVEN } }] });
  };
  await whileAnswering("**/trpc/*users.invite*", refusing, async () => {
    await invite.getByRole("button", { name: "Send" }).click();
    await page.getByRole("dialog", { name: "Confirm that it is you" }).getByRole("button", { name: "Cancel" }).click();
    await page.getByText("The sign-in was not completed.").waitFor();
    expect(await invite.getByLabel("E-mail address").inputValue()).toBe("three@example.test");
    await invite.getByRole("button", { name: "Cancel" }).click();
  });
  expect(calls).toBe(1);
});

test("says why the acts on a user are not offered", async () => {
  const user = (await (await operatorAt(server.url)).users.list.query({ search: SECOND.email })).users[0];
  await whileAnswering("**/trpc/*viewer.user*", refusing("viewer.user"), async () => {
    await openScreen(page, `/users/${user?.id}`);
    await page.getByRole("main").getByRole("alert").getByText("Not now.").waitFor();
  });
});

test("a search that waits for the next key is given up when the user opens its list from the rail", async () => {
  await openScreen(page, "/users");
  const field = page.getByLabel("Search by e-mail address");
  await field.fill("second");
  await page.waitForURL(/q=second$/);
  await field.press("@");
  await page.getByRole("navigation").getByRole("link", { name: "Users" }).click();
  await page.evaluate(() => new Promise((passed) => setTimeout(passed, 500))); // starts after the pause of the search, and is longer
  expect([await field.inputValue(), new URL(page.url()).search]).toEqual(["", ""]);
});

test("an unknown tab in an address shows the first one", async () => {
  const resource = "https://tabs.example.test/mcp";
  await (await operatorAt(server.url)).resources.create.mutate({ resource });
  await openScreen(page, `/resources/view?uri=${resource}&tab=unknown`);
  await page.getByRole("tab", { name: "Connect", selected: true }).waitFor();
  await openScreen(page, "/clients/document?client=https://tabs.example.test/client&tab=unknown");
  await page.getByRole("tab", { name: "Document", selected: true }).waitFor();
});

test("the screen of a metadata document names what it is about, or leads to the clients", async () => {
  await openScreen(page, "/clients/document?client=urn:example:client");
  await page.getByRole("heading", { name: "urn:example:client", level: 1 }).waitFor();
  await openScreen(page, "/clients/document");
  await page.getByRole("heading", { name: "Clients", level: 1 }).waitFor();
});

test("the buttons and questions by which keys are revoked name the key", async () => {
  const id = await aClientWithKeys(server.url);
  await openScreen(page, `/clients/${id}?tab=keys`);
  for (const name of ["first", "second"]) {
    await page.getByLabel("Name of the key").fill(name);
    await page.getByRole("button", { name: "Create a key" }).click();
    await page.getByRole("row", { name }).waitFor();
  }
  await page.getByRole("button", { name: "Revoke the key first" }).click();
  await page.getByRole("dialog", { name: "Revoke the key first" }).getByRole("button", { name: "Cancel" }).click();
});

test("an export that failed is not offered to be verified", async () => {
  await openScreen(page, "/audit");
  await whileAnswering("**/trpc/*operator.audit.export*", refusing("operator.audit.export"), async () => {
    await page.getByRole("button", { name: "Export" }).click();
    const dialog = page.getByRole("dialog", { name: "Export" });
    await dialog.getByText("Not now.").waitFor();
    await dialog.getByRole("button", { name: "Close" }).click();
  });
});

test("the file of an export stays until the browser has read it", async () => {
  await openScreen(page, "/audit");
  await page.evaluate(() => {
    const { revokeObjectURL } = URL;
    URL.revokeObjectURL = (url) => {
      document.title = "revoked";
      revokeObjectURL.call(URL, url);
    };
  });
  await page.getByRole("button", { name: "Export" }).click();
  await page.getByRole("dialog", { name: "Verify it yourself" }).waitFor();
  expect(await page.title()).toBe("Audit · Countersign");
});

test.for([
  ["/users/", "Users"],
  ["/clients/", "Clients"],
  ["/agents/", "Agents"],
  ["/realms/", "Realms"],
  ["/resources/view?uri=https://none.example.test/", "Resources"],
] as const)("the screen of an unknown record below %s has a heading and a title of its own", async ([path, title]) => {
  await openScreen(page, "/audit");
  await openScreen(page, path + crypto.randomUUID());
  await page.getByRole("heading", { name: title, level: 1 }).waitFor();
  await page.getByRole("main").getByRole("alert").waitFor();
  expect(await page.title()).toBe(`${title} · Countersign`);
});

test("saving without changes sends nothing", async () => {
  const operator = await operatorAt(server.url);
  const { id } = await operator.clients.create.mutate({
    name: "Unchanged",
    redirectUris: ["https://unchanged.example.test/"],
    grantTypes: ["authorization_code"],
    tokenEndpointAuthMethod: "none",
  });
  const resource = "https://unchanged.example.test/mcp";
  await operator.resources.create.mutate({ resource, name: "Unchanged", scopes: [{ name: "unchanged:read" }], clients: ["named"] });
  const realm = (await operator.realms.list.query({ search: "Partners" })).realms[0]?.id ?? "";
  const sent: string[] = [];
  page.on("request", (request) => /\.(update|setBranding)\b/.test(request.url()) && sent.push(request.url()));
  await openScreen(page, `/clients/${id}`);
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("Saved. It is in force now.").first().waitFor();
  await openScreen(page, `/resources/view?uri=${resource}&tab=settings`);
  const again = (name: string) => page.waitForResponse((response) => response.url().includes(name));
  await Promise.all([again("operator.resources.get"), page.getByRole("button", { name: "Save" }).click()]);
  await openScreen(page, `/realms/${realm}`);
  await Promise.all([again("operator.realms.get"), page.getByRole("button", { name: "Save branding" }).click()]);
  expect(sent).toEqual([]);
});

test("the redirect URI of a trial is added to those that others have added since the client was read", async () => {
  const operator = await operatorAt(server.url);
  const { id, redirectUris } = await operator.clients.create.mutate({
    name: "Trial",
    redirectUris: ["https://trial.example.test/one"],
    grantTypes: ["authorization_code"],
    tokenEndpointAuthMethod: "none",
  });
  await openScreen(page, `/clients/${id}?tab=try`);
  const add = page.getByRole("button", { name: "Add the redirect URI" });
  await add.waitFor();
  const others = [...redirectUris, "https://trial.example.test/two"];
  await operator.clients.update.mutate({ id, patch: { redirectUris: others } });
  await add.click();
  await add.waitFor({ state: "detached" });
  expect((await operator.clients.get.query({ id })).redirectUris).toEqual([...others, `${server.url}/console/try/callback`]);
});

test("saving one member of a client, a resource or a branding leaves alone what others have changed since it was read", async () => {
  const operator = await operatorAt(server.url);
  const found = (await operator.clients.list.query({ search: "one-shot" })).clients[0];
  const id = found?.id ?? "";
  await openScreen(page, `/clients/${id}`);
  await page.getByLabel("Name").fill("One shot");
  await operator.clients.update.mutate({ id, patch: { enabled: false } });
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByRole("heading", { name: "One shot", level: 1 }).waitFor();
  expect(await operator.clients.get.query({ id })).toMatchObject({ name: "One shot", enabled: false });

  const resource = "https://notes.example.test/mcp";
  await operator.resources.create.mutate({ resource, name: "Notes", scopes: [{ name: "notes:read" }], clients: ["named"] });
  await openScreen(page, `/resources/view?uri=${resource}&tab=settings`);
  await page.getByLabel("Those that registered themselves").check();
  await operator.resources.update.mutate({ resource, enabled: false });
  await page.getByRole("button", { name: "Save" }).click();
  await expect.poll(async () => (await operator.resources.get.query({ resource })).clients.length).toBe(2);
  expect((await operator.resources.get.query({ resource })).enabled).toBe(false);

  const realm = (await operator.realms.list.query({ search: "Partners" })).realms[0]?.id ?? "";
  const branding = async () => (await operator.realms.get.query({ id: realm })).branding;
  await openScreen(page, `/realms/${realm}`);
  await page.getByLabel("Product or company").fill("Acme Partners");
  await operator.realms.setBranding.mutate({ id: realm, branding: { termsUrl: "https://acme.example.test/terms" } });
  await page.getByRole("button", { name: "Save branding" }).click();
  await expect.poll(async () => (await branding()).name).toBe("Acme Partners");
  await page.getByLabel("Product or company").fill("Partners of Acme");
  await page.getByRole("button", { name: "Save branding" }).click();
  await expect.poll(async () => (await branding()).name).toBe("Partners of Acme");
  expect((await branding()).termsUrl).toBe("https://acme.example.test/terms");
});

test("a form that was saved never shows what it showed before, however late the browser's timers run", async () => {
  const operator = await operatorAt(server.url);
  const realm = (await operator.realms.list.query({ search: "Partners" })).realms[0]?.id ?? "";
  await operator.realms.setBranding.mutate({ id: realm, branding: { name: "Before" } });
  const tab = await page.context().newPage();
  await tab.addInitScript(() => {
    const { setTimeout } = globalThis;
    Object.assign(globalThis, { setTimeout: (run: () => void, delay = 0) => setTimeout(run, Math.max(delay, 500)) });
  });
  await tab.goto(`${server.url}/console/realms/${realm}`);
  const field = tab.getByLabel("Product or company");
  await field.fill("After");
  await field.evaluate((input) => {
    const shown: (string | null)[] = [];
    new MutationObserver(() => shown.push(input.getAttribute("value"))).observe(input, { attributeFilter: ["value"] });
    Object.assign(globalThis, { shown });
  });
  const save = tab.getByRole("button", { name: "Save branding" });
  await save.click();
  await tab.getByText(/^Saved/).waitFor();
  await expect.poll(() => save.isEnabled()).toBe(true);
  expect(await tab.evaluate(() => Object(globalThis).shown)).not.toContain("Before");
  expect((await operator.realms.get.query({ id: realm })).branding.name).toBe("After");
  await tab.close();
});

test("what is typed while a form is saved stays, and is saved next", async () => {
  const operator = await operatorAt(server.url);
  const realm = (await operator.realms.list.query({ search: "Partners" })).realms[0]?.id ?? "";
  const id = (await operator.clients.list.query({ search: "public-app" })).clients[0]?.id ?? "";
  /** Saves `field` with a first text, and types a second one before the server answers. */
  const typeWhileSaving = async (procedure: string, save: string, field: string) => {
    const url = `**/trpc/*${procedure}*`;
    const { promise: typed, resolve } = Promise.withResolvers<void>();
    await page.route(url, (route) => typed.then(() => route.continue()), { times: 1 });
    await page.getByLabel(field).fill("First");
    const answered = page.waitForResponse(url);
    await page.getByRole("button", { name: save }).click();
    await page.getByLabel(field).fill("Second");
    resolve();
    await answered;
    await page
      .getByText(/^Saved/)
      .last()
      .waitFor();
    expect(await page.getByLabel(field).inputValue()).toBe("Second");
    await page.getByRole("button", { name: save }).click();
  };
  await page.reload(); // what it has read before can be older than what another tab has saved
  await openScreen(page, `/realms/${realm}`);
  await typeWhileSaving("realms.setBranding", "Save branding", "Product or company");
  await expect.poll(async () => (await operator.realms.get.query({ id: realm })).branding.name).toBe("Second");
  await openScreen(page, `/clients/${id}`);
  await typeWhileSaving("clients.update", "Save", "Name");
  await expect.poll(async () => (await operator.clients.get.query({ id })).name).toBe("Second");
});

test("what was typed stays when somebody else has changed the record", async () => {
  const operator = await operatorAt(server.url);
  const id = (await operator.clients.list.query({ search: "worker" })).clients[0]?.id ?? "";
  const tab = await page.context().newPage();
  await tab.clock.install();
  await tab.goto(`${server.url}/console/clients/${id}`);
  await tab.getByLabel("Name").fill("Typed");
  await operator.clients.update.mutate({ id, patch: { scopes: ["notes:write"] } });
  await tab.clock.fastForward(60_000);
  await tab.evaluate(() => dispatchEvent(new Event("visibilitychange"))); // as after a visit to another window
  await expect.poll(() => tab.getByLabel("Scopes", { exact: true }).inputValue()).toBe("notes:write");
  expect(await tab.getByLabel("Name").inputValue()).toBe("Typed");
  await tab.close();
});

/** Ends the session of the browser in another tab, and signs in there. The tab stays open: with it closed, the page would be read again by itself. */
async function switchUser({ email, password }: typeof OPERATOR): Promise<Page> {
  const other = await page.context().newPage();
  await other.goto(`${server.url}/console`);
  await other.getByRole("button", { name: "Your account" }).click();
  await other.getByRole("menuitem", { name: "Sign out" }).click();
  await other.waitForURL(`${server.url}/`);
  await other.goto(`${server.url}/console`);
  await signIn(other, email, password);
  await other.getByRole("heading", { name: "Home", level: 1 }).waitFor();
  return other;
}

test("sends nothing that a user has begun as another who has signed in to the browser in the meantime", async () => {
  await openScreen(page, "/users");
  await page.getByRole("button", { name: "Invite a user" }).click();
  const invite = page.getByRole("dialog", { name: "Invite a user" });
  await invite.getByLabel("E-mail address").fill("four@example.test");
  const other = await switchUser(SECOND);
  const reloaded = page.waitForEvent("load");
  const headers = { "www-authenticate": 'Bearer error="invalid_token"' };
  const expired = (route: Route) => route.fulfill({ status: 401, headers, json: {} }); // as for a token that has expired
  await page.route("**/trpc/*users.invite*", expired, { times: 1 });
  await invite.getByRole("button", { name: "Send" }).click();
  await reloaded;
  await page.getByRole("button", { name: "Your account" }).click();
  await page.getByText(SECOND.email).first().waitFor();
  const { invitations } = await (await operatorAt(server.url)).invitations.list.query({});
  expect(invitations.map(({ email }) => email)).not.toContain("four@example.test");
  await other.close();
});
