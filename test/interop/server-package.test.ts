import { spawn } from "node:child_process";
import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { publint } from "publint";
import { afterAll, expect, test } from "vitest";
import { commandsOf } from "../support/documents.ts";
import { claimsOf, serverDriver } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { packed, scratch, unpack } from "../support/packed.ts";
import { until } from "../support/processes.ts";

const DOCUMENT = "docs/packages.md";
const { dir, remove } = scratch();
const [server, admin] = await Promise.all([packed("."), packed("admin")]);
const manifest = JSON.parse(readFileSync(join(import.meta.dirname, "../../package.json"), "utf8"));
const declared = Object.keys(manifest.dependencies).filter((name) => name !== "@countersign/admin");
await unpack(dir, { countersign: server, "@countersign/admin": admin }, [...declared, "@trpc/client"]);
const installed = join(dir, "node_modules/countersign");
const groups = new Set<number>();
afterAll(() => {
  for (const group of groups) process.kill(-group, "SIGKILL");
  remove();
});

const filesIn = (path: string) => readdirSync(join(installed, path), { recursive: true }).map(String).toSorted();

test("the packed server has no problem that publint reports", async () => {
  const { messages } = await publint({ pack: { tarball: new Uint8Array(readFileSync(server)).buffer }, strict: true });
  expect(messages).toEqual([]);
});

test("the packed server contains the build with the files that it reads, and no source or test", () => {
  const top = readdirSync(installed).toSorted();
  expect(top).toEqual(["CHANGELOG.md", "LICENSE", "README.md", "SECURITY.md", "bin", "dist", "package.json"]);
  const source = join(import.meta.dirname, "../../src");
  const expected = readdirSync(source, { recursive: true }).map((path) => String(path).replace(/\.ts$/, ".js"));
  expect(filesIn("dist")).toEqual(expected.toSorted());
});

test("the packed server imports only packages that it declares", () => {
  const imports = /^(?:import|export)\s[^;]*?\bfrom "([^"]+)"|\bimport\("([^"]+)"\)|\bcreateRequire\([^)]*\)\.resolve\([`"]([^`"$]+)/gm;
  const code = filesIn("dist").filter((path) => path.endsWith(".js") && !path.includes("/assets/"));
  const used = code.flatMap((path) =>
    [...readFileSync(join(installed, "dist", path), "utf8").matchAll(imports)].map((match) => match[1] ?? match[2] ?? match[3] ?? ""),
  );
  const packages = used.filter((name) => !name.startsWith(".") && !isBuiltin(name)).map((name) => /^(?:@[^/]+\/)?[^/]+/.exec(name)?.[0]);
  expect(new Set(packages).size).toBeGreaterThan(30);
  expect([...new Set(packages)].filter((name) => manifest.dependencies[name ?? ""] === undefined)).toEqual([]);
});

/** Starts a command of the document in the project. */
function start(command: string, env: Record<string, string>) {
  const child = spawn(command, {
    cwd: dir,
    shell: true,
    detached: true,
    env: { ...process.env, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  groups.add(child.pid ?? 0);
  const said = { out: "", err: "" };
  child.stdout.on("data", (text) => (said.out += text));
  child.stderr.on("data", (text) => (said.err += text));
  const ended = new Promise<number | null>((resolve) =>
    child.on("close", (code) => {
      groups.delete(child.pid ?? 0);
      resolve(code);
    }),
  );
  return { said, ended };
}

test("the commands of docs/packages.md start the packed server in an empty directory and get a token", async () => {
  const url = `http://localhost:${await freePort()}`;
  const env = { PORT: new URL(url).port, GRPC_PORT: String(await freePort()), COUNTERSIGN_URL: url, XDG_CONFIG_HOME: join(dir, "config") };
  mkdirSync(join(dir, "config"));
  const replacements = { "http://localhost:3000": url };
  const [serve = "", token = "", doctor = "", ...rest] = commandsOf(DOCUMENT, "the-server-in-an-empty-directory", replacements);
  expect(rest).toEqual([]);
  const { said } = start(serve, env);
  await until("the server is up", async () => said.out.includes("Countersign is up"));
  expect(said.out).toContain("npx countersign token --scope openid");
  expect(said.out).not.toContain("npm run");

  const { browser, id } = await serverDriver(url, join(dir, "data/outbox")).signedInUser();
  const running = start(token, env);
  await until("the command shows the page to open", async () => /^http\S+$/m.test(running.said.err));
  const page = await browser.follow(/^http\S+$/m.exec(running.said.err)?.[0] ?? "");
  await fetch((await browser.submit(page, { decision: "approve" })).url);
  expect([await running.ended, claimsOf(running.said.out)]).toEqual([0, expect.objectContaining({ iss: url, sub: id, scope: "openid" })]);

  const checked = start(doctor, env);
  expect([await checked.ended, checked.said.out]).toEqual([0, expect.stringContaining(`Authorization server ${url}`)]);
});
