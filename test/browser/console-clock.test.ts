import { expect, test } from "vitest";
import { openScreen, startConsole } from "../support/console.ts";

// A browser whose clock is wrong. One server and one browser.

const { server, page } = await startConsole();
const HOUR = 3_600_000;

test.for([-25, -1, 1, 25])(
  "counts the last hours, and says how long ago something was, by the server's clock: %i hours off",
  async (off) => {
    expect((await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "notes:read" })).status).toBe(200);
    await page.clock.setFixedTime(Date.now() + off * HOUR);
    await page.goto(`${server.url}/console`);
    const hours = page.getByRole("table", { name: "Tokens and refusals by hour" }).getByRole("row");
    await expect.poll(async () => (await hours.last().innerText()).split("\t").at(1)).toMatch(/^[1-9]/);
    await openScreen(page, "/clients?q=worker");
    await page.getByRole("row", { name: /worker.*(?: ago|now)/ }).waitFor();
  },
);
