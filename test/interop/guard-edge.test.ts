import { spawn } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { build } from "rolldown";
import { afterAll, describe, expect, onTestFinished } from "vitest";
import { freePort } from "../support/free-port.ts";
import { AS_RESOURCE_SERVER, RESOURCE } from "../support/guard-modes.ts";
import { packed, scratch, unpack } from "../support/packed.ts";
import { runtimes } from "../support/runtimes.ts";
import { type TestServer, test } from "../support/server.ts";

const { clientId, clientSecret } = AS_RESOURCE_SERVER;
const { dir, remove } = scratch();
afterAll(remove);
const { workerd } = await runtimes();
await unpack(dir, { "@countersign/guard": await packed("guard-sdk") }, ["jose"]);
copyFileSync(join(import.meta.dirname, "../runtimes/worker.mjs"), join(dir, "worker.mjs"));
// One file, bundled as edge platforms do: with the conditions of a worker and without built-in modules.
const conditionNames = ["workerd", "worker", "browser", "import", "default"];
const { output } = await build({
  input: join(dir, "worker.mjs"),
  cwd: dir,
  platform: "neutral",
  resolve: { conditionNames },
  output: { file: join(dir, "bundle.js"), format: "esm" },
});

test("the bundle of the guard for workers imports no Node module", () => {
  expect(
    output.flatMap(({ type, ...chunk }) => (type === "chunk" && "imports" in chunk ? [...chunk.imports, ...chunk.dynamicImports] : [])),
  ).toEqual([]);
});

/** @param date the compatibility date, which selects the platform's behaviour */
const configuration = (port: number, issuer: string, date: string) => `
using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .guarded), (name = "internet", network = (allow = ["local", "private"]))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")]
);
const guarded :Workerd.Worker = (
  modules = [(name = "bundle.js", esModule = embed "bundle.js")],
  compatibilityDate = "${date}",
  bindings = [${Object.entries({ RESOURCE, ISSUER: issuer, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret }).map(([name, text]) => `(name = "${name}", text = "${text}")`)}]
);
`;

async function start(file: string, date: string, { url }: TestServer): Promise<string> {
  const port = await freePort();
  const config = join(dir, `${port}.capnp`);
  writeFileSync(config, configuration(port, url, date));
  const child = spawn(file, ["serve", config], { stdio: ["ignore", "inherit", "inherit"] });
  onTestFinished(async () => {
    if (child.kill("SIGKILL") && child.exitCode === null) await once(child, "exit");
  });
  const origin = `http://127.0.0.1:${port}`;
  for (;;) {
    if (child.exitCode !== null) throw new Error(`workerd ended with ${child.exitCode}`);
    const answered = await fetch(origin).then(
      () => true,
      () => false,
    );
    if (answered) return origin;
    await setTimeout(50);
  }
}

const TITLE = "the guard verifies locally and by introspection, and refuses invalid tokens";

describe.for([
  ["a worker without Node compatibility", "2025-01-01"],
  ["a worker with Node compatibility, the default since 2026", "2026-11-01"],
] as const)("in %s", ([, date]) => {
  test.skipIf(workerd === undefined)(workerd === undefined ? "missing toolchain: workerd" : TITLE, async ({ server }) => {
    const origin = await start(workerd!, date, server);
    const { browser, id } = await server.signedInUser();
    const tokenFor = async (scope: string, resource = RESOURCE) =>
      (await server.tokens(server.clients.web, browser, { scope, resource })).access_token as string;
    const good = await tokenFor("notes:read");
    const [poor, foreign] = [await tokenFor("notes:write"), await tokenFor("notes:read", "https://b.example.test")];
    for (const path of ["/", "/introspection"]) {
      const call = (token?: string) =>
        fetch(`${origin}${path}`, token === undefined ? {} : { headers: { authorization: `Bearer ${token}` } });
      const together = await Promise.all(Array.from({ length: 20 }, () => call(good))); // before it has loaded a key or the endpoint
      expect(await Promise.all(together.map(async (response) => `${response.status} ${await response.text()}`))).toEqual(
        together.map(() => expect.stringMatching(/^200 .*"authorization":null/)),
      );
      expect((await (await call(good)).json()) as object).toMatchObject({
        principal: { sub: id, clientId: "web", scopes: ["notes:read"] },
        hasNodeCrypto: date > "2026",
      });
      const answers = [await call(), await call(poor), await call(`${good.slice(0, -4)}AAAA`), await call(foreign)];
      expect(answers.map(({ status, headers }) => [status, /error="(\w+)"/.exec(headers.get("www-authenticate") ?? "")?.[1]])).toEqual([
        [401, undefined],
        [403, "insufficient_scope"],
        [401, "invalid_token"],
        [401, "invalid_token"],
      ]);
    }
    const document = await fetch(`${origin}/.well-known/oauth-protected-resource`);
    expect(await document.json()).toMatchObject({ resource: RESOURCE, authorization_servers: [server.url] });
  });
});
