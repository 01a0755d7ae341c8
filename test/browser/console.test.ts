import axe from "axe-core";
import { describe, expect, test } from "vitest";
import { axeFlaws } from "../support/axe.ts";
import { openScreen, startConsole, typeInSearch } from "../support/console.ts";
import { runText } from "../support/database.ts";
import { recordOf } from "../support/mcp-hosts.ts";
import { OPERATOR, PROVISIONED } from "../support/server.ts";

// The acts of an operator: one server and one browser. What every screen looks like is in console-screens.test.ts.

const { server, page, problems } = await startConsole(
  { provision: { ...PROVISIONED, resources: [recordOf("https://notes.example.test/mcp")] } },
  "/clients",
  "Clients",
);

const open = (path: string) => openScreen(page, path);

describe("an operator, by keyboard alone", () => {
  test("finds a client through the search of all screens", async () => {
    await open("/");
    await typeInSearch(page, "command line");
    await page.getByRole("dialog").getByText("countersign-cli").waitFor();
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "countersign command line" }).waitFor();
  });

  test("creates a client, whose secret is shown once, and replaces the secret after a warning", async () => {
    await open("/clients/new");
    await page.getByLabel("Name").focus();
    await page.keyboard.type("Field Notes");
    await page.keyboard.press("Tab");
    await page.keyboard.type("http://app.example.test/cb");
    await page.getByText("must be https on a public host, or http on localhost").waitFor();
    await page.keyboard.press("Control+a");
    await page.keyboard.type("https://app.example.test/cb");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    const secret = await page.getByRole("region", { name: "Client secret" }).innerText();
    expect(secret.trim()).toMatch(/^[\w-]{43}$/);
    expect(await page.getByRole("region", { name: ".env" }).innerText()).toContain(`OAUTH_ISSUER=${server.url}`);
    await page.getByRole("link", { name: "Open its settings" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Replace the secret" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("dialog").getByText("The present secret stops working at once.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Replace the secret" }).focus();
    await page.keyboard.press("Enter");
    expect(await page.getByRole("region", { name: "Client secret" }).innerText()).not.toBe(secret);
  });

  test("tries it with its real code flow, and reads the decoded tokens", async () => {
    const secret = (await page.getByRole("region", { name: "Client secret" }).innerText()).trim();
    await page.getByRole("tab", { name: "Try it" }).click();
    await page.getByRole("button", { name: "Add the redirect URI" }).click();
    await page.getByRole("textbox", { name: "Client secret" }).fill(secret);
    const [popup] = await Promise.all([page.waitForEvent("popup"), page.getByRole("button", { name: "Start the flow" }).click()]);
    await popup.getByRole("button", { name: "Allow" }).click();
    const token = page.getByRole("region", { name: "access_token" });
    await token.waitFor();
    expect(await token.innerText()).toContain('"typ": "at+jwt"');
  });

  test("deletes it without another sign-in so soon after the first", async () => {
    await page.getByRole("tab", { name: "Settings" }).click();
    await page.getByRole("button", { name: "Delete the client" }).click();
    await page.getByRole("dialog").getByRole("textbox").fill("Field Notes");
    await page.getByRole("dialog").getByRole("button", { name: "Delete the client" }).click();
    await page.getByRole("heading", { name: "Clients", level: 1 }).waitFor();
    expect(await runText(server.database.sql, "select 1 from clients where name = 'Field Notes' and enabled")).toEqual([]);
  });
});

describe("an operator looks after the server", () => {
  const heading = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();

  test("sees which keys sign, and how one is replaced", async () => {
    await open("/keys");
    await page.getByRole("cell", { name: "Signs" }).first().waitFor();
    await page.getByText("countersign keys generate").waitFor();
  });

  test("reads all settings and none of the secrets, and sends a test mail", async () => {
    await open("/settings");
    await page.getByLabel("Search settings").fill("sign_up_rate_limit");
    await page.getByRole("cell", { name: "SIGN_UP_RATE_LIMIT", exact: true }).waitFor();
    await page.getByRole("button", { name: "Send me a test mail" }).click();
    await page.getByText(`A mail is on its way to ${OPERATOR.email}.`).waitFor();
  });

  test("moves on while a search is still to be written to the address, and stays there", async () => {
    await open("/settings");
    await page.getByLabel("Search settings").fill("token");
    await open("/realms");
    // Timers of one page run in their order, so the pause of the search is over after this one.
    await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 500)));
    await page.getByLabel("Name of a new realm").waitFor();
    expect(page.url()).toBe(`${server.url}/console/realms`);
  });

  test("makes a realm and sees its branding before it is stored", async () => {
    await open("/realms");
    await page.getByLabel("Name of a new realm").fill("<b>Partners</b>");
    await page.getByRole("button", { name: "Create realm" }).click();
    await page.getByLabel("Search by name").fill("no such realm");
    await page.getByText("No realm matches.").waitFor();
    await page.getByLabel("Search by name").fill("partners");
    await page.getByText("1 in total").waitFor();
    await page.getByRole("link", { name: "<b>Partners</b>" }).click();
    await heading("<b>Partners</b>");
    await page.frameLocator("iframe").getByRole("heading").first().waitFor();
    await page.getByLabel("Product or company").fill("Acme Partners");
    await page.frameLocator("iframe").getByText("Acme Partners").first().waitFor();
    await page.getByRole("button", { name: "Save branding" }).click();
    await page.getByText("Saved.").waitFor();
    await page.getByText("Saved.").waitFor({ state: "hidden" });
    await page.getByLabel("Required sign-in").selectOption({ label: "Two factors" });
    await page.getByText("Saved.").waitFor();
    await page.evaluate(axe.source); // by the debugger, so that the policy of the page stays in force
    expect(await axeFlaws(page)).toEqual([]);
  });
});

describe("an operator tidies up", () => {
  const run = (text: string) => runText(server.database.sql, text);
  const left = async (name: string) => (await run(`select 1 from clients where name = '${name}' and enabled`)).length;

  test("deletes registrations without use for 90 days, but not one that was used after it was chosen", async () => {
    await run(
      `insert into clients (client_id, realm_id, origin, name, redirect_uris, scopes, grant_types, response_types, token_endpoint_auth_method, created_at)
       select 'dead-' || n, realms.id, 'dynamic', 'Dead ' || n, '{https://dead.example.test/cb}', '{}', '{authorization_code}', '{code}', 'none', now() - interval '200 days'
       from realms, generate_series(1, 2) as n where realms.name = 'default'`,
    );
    await open("/clients");
    await page.getByLabel("Registered by").selectOption({ label: "Itself" });
    await page.getByLabel("Use", { exact: true }).selectOption({ label: "Not for 90 days" });
    await page.getByLabel("Select all shown").check();
    await page.getByText("2 selected").waitFor();
    await run("update clients set last_used_at = now() where client_id = 'dead-2'");
    await page.getByRole("button", { name: "Delete clients: 2" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Delete clients: 2" }).click();
    await page.getByText("Deleted: 1. Not deleted: 1.").waitFor();
    expect([await left("Dead 1"), await left("Dead 2")]).toEqual([0, 1]);
  });

  test("removes what a user allowed, from the screen of the client", async () => {
    await run(
      `insert into consents (user_id, client_id, client_name, scopes, resources, allowed)
       select users.id, 'dead-2', 'Dead 2', '{openid}', '{}', '{"": ["openid"]}' from users where email = '${OPERATOR.email}'`,
    );
    await open("/clients");
    await page.getByLabel("Search by name or client ID").fill("Dead 2");
    await page.getByRole("link", { name: "Dead 2" }).click();
    await page.getByRole("tab", { name: "Consents" }).click();
    await page.getByRole("button", { name: `Remove access: ${OPERATOR.email}` }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Remove access" }).click();
    await page.getByText("Access removed.").waitFor();
    await page.getByText("No user has allowed this client anything yet.").waitFor();
    expect(await run("select 1 from consents where client_id = 'dead-2'")).toEqual([]);
  });
});

test("signing out ends the session of the browser", async () => {
  await page.getByRole("button", { name: "Your account" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.waitForURL(`${server.url}/`);
  await page.goto(`${server.url}/console`);
  await page.getByLabel("E-mail address").waitFor();
});

test("no page sent a request elsewhere, reported an error, or broke the policy", () => {
  expect(problems).toEqual([]);
});
