import { expect } from "vitest";
import { startPage, typeInSearch } from "../support/console.ts";
import { test } from "../support/delegation.ts";
import { OPERATOR } from "../support/server.ts";
import { signIn } from "../support/visits.ts";

// The ten main acts (docs/console.md#keyboard), without a mouse: no test here clicks or fills.

const { page, problems } = await startPage();

const press = (key: string) => page.keyboard.press(key);
const type = (text: string) => page.keyboard.type(text);
const shown = (text: string | RegExp) => page.getByText(text).first().waitFor();
const title = (name: string) => page.getByRole("heading", { name, level: 1 }).waitFor();

/** The name of what has the focus, as a screen reader says it first. */
const focused = () =>
  page.evaluate(() => {
    const element = document.activeElement as (HTMLElement & { readonly labels?: NodeListOf<HTMLElement> }) | null;
    const label = element?.getAttribute("aria-label") ?? element?.labels?.[0]?.innerText ?? element?.innerText ?? "";
    return label.replace(/\s*\*$/, "").trim();
  });

/** Tabs to the control of this name. */
async function reach(name: string | RegExp): Promise<void> {
  const passed: string[] = [];
  for (let tabs = 0; tabs < 120; tabs++) {
    const now = await focused();
    if (typeof name === "string" ? now === name : name.test(now)) return;
    passed.push(now);
    await press("Tab");
  }
  throw new Error(`no ${name} among ${passed.join(", ")}`);
}

const act = async (name: string | RegExp): Promise<void> => {
  await reach(name);
  await press("Enter");
};

/** Opens the first of what the search of all screens finds. */
async function find(text: string, found: string): Promise<void> {
  const field = await typeInSearch(page, text);
  await page.getByRole("dialog").getByRole("button").first().filter({ hasText: found }).waitFor();
  await press("Enter");
  await field.waitFor({ state: "hidden" }); // keys in its field are its own
}

test("an operator does the ten main acts without a mouse", { timeout: 180_000 }, async ({ server }) => {
  const { subject } = await server.subjectFor(["agent-1"]);
  await server.chainOf(["agent-3"]);
  const refused = await server.exchange("agent-1", subject, { scope: "crm:read admin" });
  await page.goto(`${server.url}/console`);
  await signIn(page, OPERATOR.email, OPERATOR.password);
  await title("Home");

  await find("Users", "Users");
  await title("Users");
  await act("Invite a user");
  await reach("E-mail address");
  await type("grace@example.test");
  await press("Enter");
  await shown("An invitation is on its way to grace@example.test.");

  await act("Withdraw the invitation of grace@example.test");
  await shown("The invitation of grace@example.test no longer works.");

  await find("agent-3", "agent-3");
  await title("agent-3");
  await act("For whom it acts");
  await act("Pause");
  await reach("Reason");
  await type("Under review.");
  await press("Enter");
  await shown("Under review.");
  await act("Resume");
  await page.getByRole("row", { name: /agent-3.*Live/ }).waitFor();

  await act("Cut the access of agent-3");
  await shown("This cannot be undone.");
  await act("Cut");
  await shown("The access of agent-3 has ended.");

  await find("Clients", "Clients");
  await title("Clients");
  await act("Create a client");
  await reach("Name");
  await type("Keyboard Notes");
  await reach("Redirect URIs");
  await type("https://keyboard.example.test/cb");
  await act("Create");
  await shown("Copy the secret now");

  await act("Open its settings");
  await act("Replace the secret");
  await shown("The present secret stops working at once.");
  await act("Replace the secret");
  await shown("Copy the secret now");

  await find("Resources", "Resources");
  await title("Resources");
  await act("Add a resource");
  await reach("Address");
  await type("http://localhost:1/mcp");
  await press("Enter");
  await shown("It must be at an https address.");
  await reach("Scopes");
  await type("keyboard:read");
  await press("Enter");
  await title("localhost:1");

  await find(refused.headers.get("x-request-id") ?? "", "Explain this request");
  await shown("Refused by scope");

  await find("Audit", "Audit");
  await title("Audit");
  await act("Follow live");
  await shown(/^Live: /);
  await act("Follow live");
  await act(/open the record/);
  await shown(/of the chain|not sealed yet/);
  await press("Escape");

  const downloading = page.waitForEvent("download");
  await act("Export");
  expect((await downloading).suggestedFilename()).toBe("countersign-audit.ndjson");
  await shown("npx countersign audit verify countersign-audit.ndjson");
  expect(problems).toEqual([]);
});
