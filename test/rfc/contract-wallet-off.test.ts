import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import { aDirectory, endProcesses, startProcess } from "../support/processes.ts";

// Each test starts a process.
afterEach(endProcesses);

/** Its modules are counted, which a bundle has fewer of. */
const CHECKOUT = join(import.meta.dirname, "../..");

/** Source of a preloaded module that records every module that a process loads. */
const RECORDER = `import { registerHooks } from "node:module";
import { appendFileSync } from "node:fs";
registerHooks({ load(url, context, next) { appendFileSync(process.env.LOADED_MODULES, url + "\\n"); return next(url, context); } });`;

async function loadedWith(env: Record<string, string>) {
  const notes = join(aDirectory(), "loaded");
  const preload = `data:text/javascript;base64,${Buffer.from(RECORDER).toString("base64")}`;
  const process = await startProcess({ ...env, LOADED_MODULES: notes, NODE_OPTIONS: `--import=${preload}` }, undefined, CHECKOUT);
  const paths = await Promise.all([
    fetch(`${process.url}/auth/link/wallet`, { method: "POST" }),
    fetch(`${process.url}/auth/link/wallet/handle`),
    fetch(`${process.url}/account/wallet`),
  ]);
  const modules = readFileSync(notes, "utf8").split("\n");
  return { statuses: paths.map(({ status }) => status), modules };
}
const WALLET = /node_modules\/(?:@openid4vc|@sd-jwt|dcql|valibot)\/|\/src\/(?:wallet|front\/wallet|compose\/wallet)/;

test("without WALLET_FEDERATION_ENABLED the wallet paths return 404 and no wallet module is loaded", async () => {
  const { statuses, modules } = await loadedWith({});
  expect(statuses).toEqual([404, 404, 404]);
  expect(modules.length).toBeGreaterThan(100);
  expect(modules.filter((url) => WALLET.test(url) && !url.endsWith("/src/front/wallet/routes.ts"))).toEqual([]);
});

test("with WALLET_FEDERATION_ENABLED the wallet paths answer and the wallet modules are loaded", async () => {
  const { statuses, modules } = await loadedWith({ WALLET_FEDERATION_ENABLED: "true" });
  expect(statuses).toEqual([401, 401, 200]);
  for (const name of ["@openid4vc", "@sd-jwt", "dcql", "uqr"])
    expect(modules.some((url) => url.includes(`node_modules/${name}/`))).toBe(true);
});
