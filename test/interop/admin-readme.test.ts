import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, expect } from "vitest";
import { packed, scratch, unpack } from "../support/packed.ts";
import { test } from "../support/server.ts";

const readme = readFileSync(join(import.meta.dirname, "../../admin/README.md"), "utf8");
const { dir, remove } = scratch();
afterAll(remove);
await unpack(dir, { "@countersign/admin": await packed("admin") }, ["@trpc/client", "@trpc/server"]);

test("the program of the admin client's README works unchanged with the packed tarball", async ({ server }) => {
  const { login, browser } = await server.signedInUser();
  const [, code = ""] = /^```js\n([\s\S]*?)^```$/m.exec(readme) ?? [];
  writeFileSync(join(dir, "clients.js"), code.replaceAll("https://auth.example", server.url));
  const env = { ...process.env, ACCESS_TOKEN: login.access_token };
  const { stdout } = await promisify(execFile)(process.execPath, ["clients.js"], { cwd: dir, env });
  const [shown = "", ...issues] = stdout.split("\n");
  const [clientId, clientSecret] = shown.split(" ");
  const { body } = await browser.json("/api/clients/", undefined, "GET", { authorization: `Bearer ${login.access_token}` });
  expect([clientSecret?.length, JSON.stringify(body)]).toEqual([expect.any(Number), expect.stringContaining(clientId ?? "none")]);
  expect(clientSecret).not.toBe("undefined");
  expect(issues.join(" ")).toMatch(/path: 'redirectUris\.0', +message: 'must be https, or http on localhost/);
});
