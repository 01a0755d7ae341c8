import { expect, test } from "vitest";
import { adminAs } from "../support/admin.ts";
import { openScreen, startConsole } from "../support/console.ts";
import { recordOf } from "../support/mcp-hosts.ts";

// A browser whose clock is wrong, or in the test's hands. One server and one browser.

const { server, page } = await startConsole();
const HOUR = 3_600_000;

test.for([-25, -1, 1, 25])(
  "counts the last hours, and says how long ago something was, by the server's clock: %i hours off",
  async (off) => {
    await page.clock.setFixedTime(Date.now() + off * HOUR);
    const hours = page.getByRole("table", { name: "Tokens and refusals by hour" }).getByRole("row");
    // A token and a look within the same hour.
    const ofThisHour = async () => {
      expect((await server.token(server.clients.worker, { grant_type: "client_credentials", scope: "notes:read" })).status).toBe(200);
      await page.goto(`${server.url}/console`);
      return (await hours.last().innerText()).split("\t").at(1);
    };
    await expect.poll(ofThisHour).toMatch(/^[1-9]/);
    await openScreen(page, "/clients?q=worker");
    await page.getByRole("row", { name: /worker.*(?: ago|now)/ }).waitFor();
  },
);

test("looks no more for a first step that is done", async () => {
  const { admin } = await adminAs(server.url);
  await admin.operator.resources.create.mutate(recordOf("https://notes.example.test/mcp"));
  await page.clock.install();
  await page.goto(`${server.url}/console`);
  await page.getByRole("heading", { name: "Home", level: 1 }).waitFor();
  const asked: string[] = [];
  page.on("request", (request) => void asked.push(new URL(request.url()).pathname));
  const times = (procedure: string) => asked.filter((path) => path.includes(procedure)).length;
  await expect
    .poll(async () => {
      await page.clock.runFor(3_000);
      return times("operator.audit.chain");
    })
    .toBeGreaterThan(3);
  expect(times("operator.resources.list")).toBeLessThan(3);
});
