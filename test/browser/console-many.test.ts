import axe from "axe-core";
import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { axeFlaws } from "../support/axe.ts";
import { openScreen, startConsole, typeInSearch } from "../support/console.ts";
import { runText } from "../support/database.ts";

// What the console shows where there is much of everything. One server and one browser.

const USERS = 210;

const { server, page } = await startConsole();
const run = (text: string) => runText(server.database.sql, text);

await run(
  `insert into users (realm_id, email, email_key, role, enabled, email_verified)
     select realms.id, 'user-' || n || '@example.test', 'user-' || n || '@example.test', 'user', true, true
     from realms, generate_series(1, ${USERS}) n where realms.name = 'default'`,
);

test("an agent that operators paused is shown as paused, however many users have paused it since", async () => {
  await run("update clients set is_agent = true where client_id = 'agent'");
  await (await operatorAt(server.url)).agents.pause.mutate({ clientId: "agent", reason: "Under review" });
  await run(
    `insert into agent_pauses (agent, user_id, paused_by_type, paused_by)
     select 'agent', id, 'user', id::text from users where email like 'user-%'`,
  );
  await openScreen(page, "/agents");
  await page.getByRole("row", { name: /agent.*Paused/ }).waitFor();
  await page.getByRole("link", { name: "agent", exact: true }).click();
  await page.getByText("Under review").waitFor();
  await page.getByRole("button", { name: "Resume" }).waitFor();
});

test("a long list below a long head has rows wherever it is in sight", async () => {
  await run(
    `insert into invitations (token_hash, email, email_key, role, expires_at)
     select sha256(int4send(n)), 'new-' || n || '@example.test', 'new-' || n || '@example.test', 'user', now() + interval '1 day'
     from generate_series(1, 30) n`,
  );
  await openScreen(page, "/users");
  const more = page.getByRole("button", { name: "Show more invitations" });
  for (let shown = 5; shown < 30; shown += 5) {
    await more.click();
    await page
      .getByText(/new-\d+@example/)
      .nth(shown + 4)
      .waitFor();
  }
  await page.locator(".data-table tbody").evaluate((body) => scrollTo(0, scrollY + body.getBoundingClientRect().top - 100));
  await expect.poll(() => page.locator("[data-index='0']").isVisible()).toBe(true);
});

test("a step back to a long list arrives at the row from which its user went on", async () => {
  await openScreen(page, "/users?sort=email");
  /** Undefined until the rows above it are there too: until then the rows are those of the place before. */
  const inSight = () =>
    page.locator("[data-index]").evaluateAll((rows) => {
      const at = rows.findIndex((row) => row.getBoundingClientRect().top > 100);
      return at > 0 ? rows[at]?.getAttribute("data-index") : undefined;
    });
  const scrolled = () =>
    page.locator("[data-index]").evaluateAll((rows) => {
      scrollTo(0, document.body.scrollHeight);
      return Number(rows.at(-1)?.getAttribute("data-index"));
    });
  await expect.poll(scrolled).toBeGreaterThan(190);
  await page.evaluate(() => scrollBy(0, -1500));
  await expect.poll(inSight).toMatch(/^1\d\d$/);
  const before = await inSight();
  await page.locator(`[data-index='${before}'] .row-link`).click();
  await page.getByRole("heading", { name: /@example\.test/, level: 1 }).waitFor();
  await page.goBack();
  await expect.poll(inSight).toBe(before);
});

test("the search, and a question before an act, have no accessibility flaw", async () => {
  await run("update clients set created_at = now() - interval '200 days', last_used_at = null where client_id = 'web'");
  await page.evaluate(axe.source);
  await openScreen(page, "/clients?unused=90");
  await page.getByLabel("Select all shown").check();
  await page.getByRole("button", { name: /^Delete clients/ }).click();
  await page.getByRole("dialog", { name: /^Delete clients/ }).waitFor();
  await expect.poll(() => axeFlaws(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await typeInSearch(page, "user-1");
  await page.getByRole("dialog", { name: "Search" }).waitFor();
  await expect.poll(() => axeFlaws(page)).toEqual([]);
  await page.keyboard.press("Escape");
});

test("what is on, chosen or in front can be seen where the colours are those of the system", async () => {
  await page.emulateMedia({ forcedColors: "active" });
  const differs = async (one: Locator, other: Locator = one, act = async () => undefined as unknown) => {
    const before = await one.screenshot();
    await act();
    await page.mouse.move(0, 0);
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    expect((await other.screenshot()).equals(before)).toBe(false);
  };
  await openScreen(page, "/audit");
  const live = page.getByRole("button", { name: "Follow live" });
  await differs(live, live, () => live.click());
  await openScreen(page, `/clients?q=worker`);
  await page.getByRole("link", { name: "worker", exact: true }).click();
  const enabled = page.getByRole("switch", { name: "Enabled" });
  const track = page.locator(".mantine-Switch-track").last();
  await differs(track, track, () => enabled.click());
  await differs(page.getByRole("tab", { name: "Settings" }), undefined, () => page.getByRole("tab", { name: "Audit" }).click());
  await page.emulateMedia({ forcedColors: "none" });
});
