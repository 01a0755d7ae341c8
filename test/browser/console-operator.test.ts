import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect } from "vitest";
import { verification } from "../../src/audit-chain/verify.ts";
import { startPage } from "../support/console.ts";
import { test } from "../support/delegation.ts";
import { OPERATOR } from "../support/server.ts";
import { signIn } from "../support/visits.ts";

const { page, problems } = await startPage();

const title = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();
const click = (name: string | RegExp) => page.getByRole("button", { name, exact: typeof name === "string" }).click();
/** `npm run screenshots` sets a folder, in which docs/console.md finds its pictures. */
const PICTURES = process.env.SCREENSHOTS_DIR;
/** What axe finds on these screens is the matter of console-screens.test.ts. */
async function picture(name: string): Promise<void> {
  if (PICTURES !== undefined) await page.screenshot({ path: join(PICTURES, `console-${name}.png`) });
}

describe("an operator", () => {
  test("sees for whom an agent acts, pauses it with a reason, and cuts a branch", async ({ server }) => {
    const { accessTokens } = await server.chainOf(["agent-1", "agent-2"]);
    const live = () => Promise.all(accessTokens.slice(1).map(server.active));
    await page.goto(`${server.url}/console/agents`);
    await signIn(page, OPERATOR.email, OPERATOR.password);
    await title("Agents");
    await page.getByRole("link", { name: "agent-1" }).waitFor();
    await page.getByRole("link", { name: "agent-1" }).click();
    await page.getByRole("row", { name: /agent-2.*Live.*1 live/ }).waitFor();
    expect(await page.locator(".tree-node").count()).toBe(4);
    await picture("agent");

    await page.getByRole("button", { name: "Pause", exact: true }).first().click();
    await page.getByLabel("Reason").fill("It answers <b>strangers</b>.");
    await page.getByRole("dialog").getByRole("button", { name: "Pause" }).click();
    await page.getByText("It answers <b>strangers</b>.").waitFor();
    expect(await live()).toEqual([false, false]);
    await click("Resume");
    await page.getByRole("row", { name: /agent-2.*Live/ }).waitFor();
    expect(await live()).toEqual([true, true]);
    await page.getByRole("button", { name: "Pause", exact: true }).first().click();
    expect(await page.getByLabel("Reason").inputValue()).toBe("");
    await click("Cancel");

    await click("Cut the access of agent-2");
    await page.getByText("1 token of agent-2 for 1 user will end at once.").waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Cut", exact: true }).click();
    await page.getByText("The access of agent-2 has ended.").waitFor();
    expect(await live()).toEqual([true, false]);
  });

  test("explains a refused request by its id", async ({ server }) => {
    const { subject } = await server.subjectFor(["agent-1"]);
    const refused = await server.exchange("agent-1", subject, { scope: "crm:read admin" });
    expect(refused.status).toBe(400);
    await page.goto(`${server.url}/console/explain`);
    await page.getByLabel("Request id").fill(refused.headers.get("x-request-id") ?? "");
    await click("Explain");
    await page.getByText("Refused by scope").waitFor();
    await page.getByRole("row", { name: /^Refused scope/ }).waitFor();
    expect(await page.getByRole("link", { name: "The client's settings" }).first().getAttribute("href")).toBe("/console/clients?q=agent-1");
    await picture("explain");
  });

  test("follows the audit log live, reads a record as a sentence, and verifies the exported trail", async ({ server }) => {
    await page.goto(`${server.url}/console/audit?event=token.issued&clientId=agent-3`);
    await title("Audit");
    await page.getByText("Client: agent-3").waitFor();
    await page.getByText("No record matches.").waitFor();
    await click("Follow live");
    await page.getByText(/^Live: /).waitFor();
    await server.chainOf(["agent-3"]);
    await page.getByRole("button", { name: /token\.issued: open the record/ }).click();
    await page.getByText("Client agent-3 got a token.").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    await click("Follow live");
    await page.getByRole("button", { name: "Remove the filter Client" }).click();
    await page.waitForURL(({ search }) => search === "?event=token.issued");
    await page
      .getByRole("button", { name: /open the record/ })
      .first()
      .waitFor();
    await picture("audit");

    const downloading = page.waitForEvent("download");
    await click("Export");
    const file = await (await downloading).path();
    await page.getByText("npx countersign audit verify countersign-audit.ndjson").waitFor();
    await page.getByRole("button", { name: "Close" }).click();
    const reading = verification();
    for (const line of readFileSync(file, "utf8").trimEnd().split("\n")) reading.take(line);
    expect(reading.end()).toMatchObject({ kind: "sound", proof: { first: 1 } });
  });

  test("finds who registered a client", async ({ server }) => {
    const { user } = await server.subjectFor(["agent-1"]);
    const registered = await user.browser.json("/oauth/register", {
      redirect_uris: ["https://new.example.test/cb"],
      client_name: "<i>New</i>",
    });
    const { client_id: clientId } = registered.body;
    await page.goto(`${server.url}/console/audit?event=client.registered&clientId=${clientId}`);
    await page.getByRole("button", { name: /client\.registered: open the record/ }).click();
    await page.getByText(/registered a client\./).waitFor();
    await page.getByRole("button", { name: "Close" }).click();
  });

  test("invites a user, withdraws the invitation, and disables an account", async ({ server }) => {
    const { user } = await server.subjectFor(["agent-1"]);
    await page.goto(`${server.url}/console/users`);
    const invite = async (email: string): Promise<void> => {
      await click("Invite a user");
      await page.getByRole("dialog").getByLabel("E-mail address").fill(email);
      await click("Send the invitation");
      await page.getByText(`An invitation is on its way to ${email}.`).waitFor();
    };
    const waiting = page.getByRole("region", { name: "Invitations not accepted yet" });
    await invite("grace@example.test");
    await waiting.getByText("grace@example.test").waitFor();
    for (const n of [1, 2, 3, 4, 5]) await invite(`guest${n}@example.test`);
    await waiting.getByText("guest5@example.test").waitFor();
    expect(await waiting.getByText("grace@example.test").count()).toBe(0); // the newest five
    await click("Show more invitations");
    await waiting.getByText("grace@example.test").waitFor();
    await click("Withdraw the invitation of grace@example.test");
    await page.getByText("The invitation of grace@example.test no longer works.").waitFor();

    await page.getByLabel("Search by e-mail address").fill(user.email);
    await page.getByRole("link", { name: user.email }).click();
    await title(user.email);
    await page.getByRole("region", { name: "Applications they allowed" }).getByText("crm:read", { exact: false }).waitFor();
    const dialog = page.getByRole("dialog");
    const invitationsEnd = dialog.getByText("Invitations that they sent and that are not accepted yet stop working.");
    await page.getByRole("combobox", { name: "Role" }).selectOption("Operator");
    await dialog.getByText("They can do everything here, as you can.").waitFor();
    expect(await invitationsEnd.count()).toBe(0);
    await dialog.getByRole("button", { name: "Change the role" }).click();
    await page.getByText(`${user.email} is now operator.`).waitFor();
    await click("Disable");
    await page.getByText("You can enable them again at any time.").waitFor();
    await invitationsEnd.waitFor();
    await page.getByRole("dialog").getByRole("button", { name: "Disable" }).click();
    await page.getByText(`${user.email} is disabled.`).waitFor();
    await page.getByRole("button", { name: "Enable", exact: true }).waitFor();
  });

  test("has sent no request elsewhere, and caused no error", () => {
    expect(problems).toEqual([]);
  });
});
