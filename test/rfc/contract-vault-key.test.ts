import { expect, onTestFinished, test } from "vitest";
import { codeOf, withApp } from "../support/authenticator-app.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { startServer } from "../support/server.ts";

test("a start with another VAULT_KEY than the one of stored secrets says so, as does the log of a sign-in that needs one", async () => {
  const server = await startServer({ env: { VAULT_KEY: Buffer.alloc(32, 1).toString("base64") } });
  onTestFinished(() => server.close());
  const { email, browser, secret } = await withApp(server);
  await server.restart(() =>
    runText(server.database.sql, "update authenticator_apps set secret = 'other' || secret").then(() => undefined),
  );
  await expect.poll(() => server.logged.filter((line) => line.includes('"event":"vault_unreadable"'))).toHaveLength(1);
  browser.cookies.clear();
  const page = await browser.submit(await browser.follow("/login"), { email, password: PASSWORD });
  expect((await browser.submit(page, { code: codeOf(secret, 1) })).status).toBe(500);
  expect(server.faults().join()).toContain('"code":"vault_key_unknown"');
});
