import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { operatorAt } from "../support/admin.ts";
import { startChromium } from "../support/chromium.ts";
import { openConsole, openScreen } from "../support/console.ts";
import { runText } from "../support/database.ts";
import { startServer, type TestServer } from "../support/server.ts";

// What the console shows where there is much of everything. One server and one browser.

const USERS = 210;

let browser: Awaited<ReturnType<typeof startChromium>>;
let server: TestServer;
let view: Awaited<ReturnType<typeof openConsole>>;
let page: Page;

const run = (text: string) => runText(server.database.sql, text);

beforeAll(async () => {
  [browser, server] = await Promise.all([startChromium(), startServer()]);
  await run(
    `insert into users (realm_id, email, email_key, role, enabled, email_verified)
     select realms.id, 'user-' || n || '@example.test', 'user-' || n || '@example.test', 'user', true, true
     from realms, generate_series(1, ${USERS}) n where realms.name = 'default'`,
  );
  view = await openConsole(browser, server.url);
  page = view.page;
});
afterAll(async () => {
  await view.close();
  await browser.close();
  await server.close();
});

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
