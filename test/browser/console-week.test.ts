import type { Dialog, Route } from "playwright-core";
import { beforeEach, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { openScreen, refusing, startConsole, typeInSearch } from "../support/console.ts";
import { runText } from "../support/database.ts";
import { PROVISIONED } from "../support/server.ts";

// A week of an operator: two tabs, answers that are late or lost, a browser that refuses. One server and one browser.

const { server, page } = await startConsole({ provision: { ...PROVISIONED, realms: [{ name: "Partners" }] } });
const operator = await operatorAt(server.url);
const realm = (await operator.realms.list.query({ search: "Partners" })).realms[0]?.id ?? "";

beforeEach(async () => {
  await page.unrouteAll();
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
});

const aClient = (name: string) =>
  operator.clients.create.mutate({ name, grantTypes: ["client_credentials"], tokenEndpointAuthMethod: "client_secret_basic" });

const button = (name: string) => page.getByRole("button", { name, exact: true });

/** Holds the next request to an address until it is let go. */
async function held(url: string) {
  const asked = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  await page.route(
    url,
    async (route) => {
      asked.resolve();
      await released.promise;
      await route.continue();
    },
    { times: 1 },
  );
  return { asked: asked.promise, release: released.resolve };
}

const unreadable = (route: Route) => route.fulfill({ status: 502, contentType: "text/html", body: "<h1>502 Bad Gateway</h1>" });

/** Does something at the server whose answer is lost on the way. */
const lost = async (route: Route) => {
  await route.fetch();
  await route.abort();
};

test("opens every screen and the search, and exports, while no file of the console can be had, as after a release", async () => {
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
  const asked: string[] = [];
  await page.route("**/console/**", (route) => {
    asked.push(route.request().url());
    return route.fulfill({ status: 404, body: "" });
  });
  const rail = page.getByRole("navigation").getByRole("link");
  await rail.filter({ hasText: "Workloads" }).waitFor(); // for operators, once it is known that the user is one
  const headings: Readonly<Record<string, string>> = { Keys: "Signing keys", Workloads: "Workload platforms" };
  const labels = await rail.allInnerTexts();
  expect(labels.length).toBeGreaterThan(10);
  for (const label of labels) {
    await rail.filter({ hasText: label }).click();
    await page.getByRole("heading", { name: headings[label] ?? label, level: 1, exact: true }).waitFor();
  }
  await page.keyboard.press("Control+k");
  await page.getByPlaceholder("Find a screen").waitFor();
  await page.keyboard.press("Escape");
  await page.getByRole("link", { name: "Audit", exact: true }).click();
  await Promise.all([page.waitForEvent("download"), button("Export").click()]);
  await page.getByRole("dialog", { name: "Verify it yourself" }).getByRole("button", { name: "Close" }).click();
  expect(asked).toEqual([]);
  await page.unrouteAll();
});

test("no more can be typed into a search than the server searches for", async () => {
  await openScreen(page, "/clients");
  const field = page.getByLabel("Search by name or client ID");
  const longest = `https://client.example.test/${"x".repeat(484)}`;
  await field.fill(longest);
  await field.press("x");
  expect(await field.inputValue()).toBe(longest);
  await page.getByText("No client matches.").waitFor();
  expect(await page.getByRole("link", { name: "Open the client that publishes this document" }).getAttribute("href")).toContain(
    encodeURIComponent(longest),
  );
});

test("the search says that it has found nothing only once the server has answered", async () => {
  const answer = await held("**/trpc/*users.list*search*");
  await typeInSearch(page, "no-such-name");
  await answer.asked;
  expect(await page.getByText("Nothing has this name or id.").count()).toBe(0);
  answer.release();
  await page.getByText("Nothing has this name or id.").waitFor();
});

test("the search says why it could not search", async () => {
  await page.route("**/trpc/*search*", unreadable);
  await typeInSearch(page, "no-such-name");
  await page.getByRole("dialog").getByText("The server cannot be reached.").waitFor();
});

test("says how long to wait, and offers to try again only what may work then", async () => {
  const often = { error: "too_many_requests", message: "Too many.", httpStatus: 429, retryAfter: 90 };
  await page.route("**/trpc/*operator.realms.list*", refusing("operator.realms.list", often));
  await openScreen(page, "/realms");
  await page.getByText("You can try again in 2 minutes.").waitFor();
  await page.getByText("Too many.").waitFor();
  await button("Try again").waitFor();
  const busy = { error: "temporarily_unavailable", message: "temporarily_unavailable", httpStatus: 503, retryAfter: 5 };
  await page.route("**/trpc/*operator.resources.inspect*", refusing("operator.resources.inspect", busy));
  await openScreen(page, "/resources/new?uri=https://busy.example.test");
  await page.getByText("The server cannot answer at the moment.").waitFor();
  expect(await page.getByText("temporarily_unavailable").count()).toBe(0);
  await openScreen(page, `/clients/${"x".repeat(36)}`);
  await page.getByText("Not found.").first().waitFor();
  expect(await button("Try again").count()).toBe(0);
});

test("what a user has stays when it cannot be read again, and what could not be read is read when asked for", async () => {
  const { email } = await server.signedInUser();
  const [user] = (await operator.users.list.query({ search: email })).users;
  const section = page.getByRole("region", { name: "Signed in" });
  await page.route("**/trpc/*sessions.list*", unreadable);
  await page.evaluate((to) => {
    history.pushState({}, "", to);
    dispatchEvent(new PopStateEvent("popstate"));
  }, `/console/users/${user?.id}`);
  await section.getByRole("button", { name: "Try again" }).waitFor();
  await page.unrouteAll();
  await section.getByRole("button", { name: "Try again" }).click();
  await section.getByRole("button", { name: /^Sign out/ }).waitFor();
  await page.route("**/trpc/*sessions.list*", unreadable);
  await button("Send a link for a new password").click();
  await page.getByText("What is shown may be out of date").waitFor();
  await section.getByRole("button", { name: /^Sign out/ }).waitFor();
});

test("a client that somebody else has removed is not shown as if it were there", async () => {
  const { id } = await aClient("Removed elsewhere");
  await openScreen(page, `/clients/${id}`);
  await runText(server.database.sql, `delete from clients where id = '${id}'`);
  await page.getByLabel("Name").fill("Renamed");
  await button("Save").click();
  await page.getByRole("alert").first().waitFor();
  await expect.poll(() => page.getByText("Enabled", { exact: true }).count()).toBe(0);
});

test("a change whose answer was lost is shown all the same", async () => {
  const { id } = await aClient("Lost answer");
  await openScreen(page, `/clients/${id}`);
  await page.route("**/trpc/*clients.update*", lost, { times: 1 });
  await page.getByLabel("Name").fill("Renamed all the same");
  await button("Save").click();
  await page.getByText("The server cannot be reached.").waitFor();
  await page.getByRole("heading", { name: "Renamed all the same", level: 1 }).waitFor();
});

test("a choice by keyboard leaves the focus where it is", async () => {
  await openScreen(page, `/realms/${realm}`);
  const field = page.getByLabel("Required sign-in");
  await field.focus();
  await page.keyboard.press("ArrowDown");
  await page.getByText("Saved.").last().waitFor();
  await expect.poll(() => field.inputValue()).toBe("urn:countersign:mfa");
  await field.and(page.locator(":focus")).waitFor();
});

test("a button that was busy has the focus again, after a failure and a success", async () => {
  const { id } = await aClient("Focused");
  await openScreen(page, `/clients/${id}`);
  const focused = button("Save").and(page.locator(":focus"));
  await page.getByLabel("Name").fill("x".repeat(300));
  await button("Save").press("Enter");
  await page.getByText("The request is not valid.").waitFor();
  await focused.waitFor();
  await page.getByLabel("Name").fill("Refocused");
  await button("Save").press("Enter");
  await page.getByRole("heading", { name: "Refocused", level: 1 }).waitFor();
  await focused.waitFor();
});

/** Replaces the secret of a new client. @returns where its screen shows that */
async function aNewSecret(name: string) {
  const { id } = await aClient(name);
  await openScreen(page, `/clients/${id}`);
  await button("Replace the secret").click();
  await page.getByRole("dialog").getByRole("button", { name: "Replace the secret" }).click();
  const secret = page.getByRole("region", { name: "Client secret" });
  await secret.waitFor();
  return secret;
}

test("what was typed, and a new secret, stay while another tab of the record is looked at", async () => {
  const secret = await aNewSecret("Tabs");
  await page.getByLabel("Name").fill("Typed");
  await page.getByRole("tab", { name: "Audit" }).click();
  await secret.waitFor({ state: "hidden" });
  await page.getByRole("tab", { name: "Settings" }).click();
  await secret.waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("Typed");
});

test("scopes of a realm that are typed while others are saved stay", async () => {
  await openScreen(page, `/realms/${realm}`);
  await page.getByLabel("This realm has its own list of scopes").check();
  await page.getByLabel("Scopes", { exact: true }).fill("openid");
  const answer = await held("**/trpc/*realms.update*");
  await button("Save scopes").click();
  await answer.asked;
  await page.getByLabel("Scopes", { exact: true }).fill("openid email");
  const readAgain = page.waitForResponse("**/trpc/*realms.get*");
  answer.release();
  await readAgain;
  await page.getByText("Saved.").last().waitFor();
  expect(await page.getByLabel("Scopes", { exact: true }).inputValue()).toBe("openid email");
});

test("the name of a second realm that is typed while the first is created stays", async () => {
  await openScreen(page, "/realms");
  await page.getByLabel("Name of a new realm").fill("First realm");
  const answer = await held("**/trpc/*realms.create*");
  await button("Create realm").click();
  await answer.asked;
  await page.getByLabel("Name of a new realm").fill("Second realm");
  answer.release();
  await page.getByRole("link", { name: "First realm" }).waitFor();
  expect(await page.getByLabel("Name of a new realm").inputValue()).toBe("Second realm");
});

test("a reason that is typed while an earlier one is sent stays", async () => {
  await runText(server.database.sql, "update clients set is_agent = true where client_id = 'agent'");
  await openScreen(page, "/agents");
  await page.getByRole("link", { name: "agent", exact: true }).click();
  await button("Pause").click();
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("textbox").fill("first reason");
  const answer = await held("**/trpc/*agents.pause?*");
  await dialog.getByRole("button", { name: "Pause", exact: true }).click();
  await answer.asked;
  await dialog.getByRole("button", { name: "Cancel" }).click();
  await dialog.waitFor({ state: "detached" });
  await button("Pause").click();
  await dialog.getByRole("textbox").fill("second reason");
  answer.release();
  await page.getByText("agent is paused.").waitFor();
  expect(await dialog.getByRole("textbox").inputValue()).toBe("second reason");
});

test("a logo that is removed is no longer named", async () => {
  await openScreen(page, `/realms/${realm}`);
  const chooser = page.waitForEvent("filechooser");
  await page.getByLabel("Logo").click();
  await (await chooser).setFiles({
    name: "first.svg",
    mimeType: "image/svg+xml",
    buffer: Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>"),
  });
  await page.getByText("first.svg").waitFor();
  await button("Remove the logo").click();
  await page.getByText("first.svg").waitFor({ state: "detached" });
});

test("what was filled in by hand stays when the metadata of the resource is found", async () => {
  let fault: string | null = "unreachable";
  const resource = "https://hand.example.test/mcp";
  await page.route("**/trpc/*resources.inspect*", (route) => {
    const metadata = fault === null ? { name: "Found", scopes: ["found:read"] } : null;
    return route.fulfill({
      json: [{ result: { data: { resource, metadataUrl: `${resource}/metadata`, fault, metadata, difference: null } } }],
    });
  });
  await openScreen(page, `/resources/new?uri=${resource}`);
  await page.getByLabel("Name").fill("By hand");
  fault = null;
  await button("Read its metadata").click();
  await page.getByText("Its metadata was found").waitFor();
  expect(await page.getByLabel("Name").inputValue()).toBe("By hand");
  expect(await page.getByLabel("Scopes", { exact: true }).inputValue()).toBe("found:read");
});

test("a client whose name has invisible characters, and two spaces in a row, can be deleted", async () => {
  const { id } = await aClient("Two  spaces\u200b");
  await openScreen(page, `/clients/${id}`);
  await button("Delete the client").click();
  await page.getByRole("dialog").getByRole("textbox").fill("Two spaces");
  await page.getByRole("dialog").getByRole("button", { name: "Delete the client" }).click();
  await page.getByRole("heading", { name: "Clients", level: 1 }).waitFor();
});

test("says so where the browser does not copy a secret", async () => {
  await page.evaluate(() => {
    navigator.clipboard.writeText = () => Promise.reject(new Error("refused"));
  });
  const { id } = await aClient("Copied");
  await openScreen(page, `/clients/${id}`);
  await button("Replace the secret").click();
  await page.getByRole("dialog").getByRole("button", { name: "Replace the secret" }).click();
  await page.getByRole("button", { name: "Copy: Client secret" }).click();
  await page.getByText("Your browser did not copy it.").waitFor();
});

test("the search opens by / where that is on the key 7", async () => {
  await page.evaluate(() =>
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "/", code: "Digit7", shiftKey: true, bubbles: true })),
  );
  await page.getByPlaceholder("Find a screen").waitFor();
});

test("asks before a page is left that alone shows a secret, until that is copied", async () => {
  const asked: string[] = [];
  const stay = (dialog: Dialog) => {
    asked.push(dialog.type());
    return dialog.dismiss();
  };
  page.on("dialog", stay);
  const secret = await aNewSecret("Once");
  const [settings, audit] = [page.getByRole("tab", { name: "Settings" }), page.getByRole("tab", { name: "Audit" })];
  await audit.click();
  await page.evaluate(() => location.reload());
  await expect.poll(() => asked).toEqual(["beforeunload"]);
  await settings.click();
  await secret.click({ clickCount: 3 });
  await page.keyboard.press("Control+c");
  await audit.click();
  await settings.click();
  await page.reload();
  await secret.waitFor({ state: "detached" });
  expect(asked).toHaveLength(1);
  page.off("dialog", stay);
});

test("a user who stays for a secret, instead of signing out, can go on", async () => {
  const stay = (dialog: Dialog) => dialog.dismiss();
  page.on("dialog", stay);
  await aNewSecret("Stays");
  const asked = page.waitForEvent("dialog");
  await page.getByRole("button", { name: "Your account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await asked;
  page.off("dialog", stay);
  await page.getByRole("tab", { name: "Audit" }).click();
  await page.getByText("Your session has ended").waitFor();
});
