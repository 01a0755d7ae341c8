import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, vi } from "vitest";
import { startNotesServer } from "../../examples/mcp-server/server.ts";
import { registerResourceCommands } from "../../src/cli/resources.ts";
import { operatorAt } from "../support/admin.ts";
import { OPERATOR, type TestServer, testOn } from "../support/server.ts";
import { aTerminal } from "../support/terminal.ts";

const test = testOn({ env: { NODE_ENV: "development" } });

/** @param answers to what the command asks at a terminal; without them there is none */
function atTerminal(server: TestServer, answers?: readonly string[]) {
  const left = [...(answers ?? [])];
  const { run, leave, terminal } = aTerminal(
    { serverUrl: server.url, email: OPERATOR.email, password: OPERATOR.password },
    async (question) => {
      terminal.complain(question);
      return left.shift() ?? "";
    },
  );
  Object.assign(terminal, { interactive: answers !== undefined });
  onTestFinished(leave);
  return (...words: string[]) => run([registerResourceCommands], ["resources", ...words]);
}

test("adds a resource by its metadata document, shows what it has grown, changes and removes it", async ({ server }) => {
  const countersign = atTerminal(server);
  expect((await countersign("list")).out).toContain("countersign resources add URL");
  const notes = await startNotesServer({ issuer: server.url });
  onTestFinished(notes.close);

  const added = await countersign("add", notes.resource, "--client", "named", "--client", "document", "--lifetime", "60");
  expect(added.out).toMatch(
    /name +Notes\nscopes +notes:read notes:write\nsign-in that they demand +-\nclients +document named\naccess token lifetime +60 s/,
  );
  expect((await countersign("list")).out).toContain(`${notes.resource}  Notes  notes:read notes:write`);

  expect((await countersign("diff", notes.resource)).out).toContain("has the scopes of the metadata document");
  const operator = await operatorAt(server.url);
  await operator.resources.update.mutate({ resource: notes.resource, scopes: [{ name: "notes:read", title: { en: "Read your notes" } }] });
  expect((await countersign("diff", notes.resource)).out).toBe("+ notes:write\n");

  const updated = await countersign(
    "update",
    notes.resource,
    "--scope",
    "notes:read",
    "--scope",
    "notes:write",
    "--lifetime",
    "default",
    "--disable",
    "--json",
  );
  expect(updated.err).toBe("");
  expect(JSON.parse(updated.out)).toMatchObject({
    scopes: [
      { name: "notes:read", title: { en: "Read your notes" } },
      { name: "notes:write", title: {} },
    ],
    accessTokenLifetime: null,
    enabled: false,
  });
  expect((await countersign("update", notes.resource, "--enable")).out).toMatch(/enabled +yes/);
  expect((await countersign("update", notes.resource, "--lifetime", "0")).err).toContain("\n  --lifetime: ");
  expect((await countersign("remove", notes.resource)).out).toBe(`removed ${notes.resource}\n`);
  expect(await countersign("show", notes.resource)).toMatchObject({
    code: 4,
    err: expect.stringContaining("This resource has no record at"),
  });
});

test("says why metadata cannot be used, and adds a resource without it by its scopes", async ({ server }) => {
  const countersign = atTerminal(server);
  const resource = "http://127.0.0.1:1/mcp";
  const refused = await countersign("add", resource);
  expect(refused).toMatchObject({
    code: 1,
    err: expect.stringContaining("/.well-known/oauth-protected-resource/mcp cannot be used: nothing answers there (unreachable)."),
  });
  expect(refused.err).toContain("--scope");
  expect((await countersign("add", resource, "--scope", "a:b", "--name", "A")).out).toMatch(/name +A\nscopes +a:b/);
  expect((await countersign("remove", resource)).code).toBe(0);
  expect((await countersign("diff", resource)).code).toBe(1);
});

test("asks at a terminal for what the metadata does not say", async ({ server }) => {
  const resource = "http://127.0.0.1:1/asked";
  const added = await atTerminal(server, ["a:b  a:c", "Asked"])("add", resource);
  expect(added.err).toMatch(
    /cannot be used: nothing answers there \(unreachable\)\.\nIts scopes, .+: \nWhat users see as its name .+: \n$/,
  );
  expect(added.out).toMatch(/name +Asked\nscopes +a:b a:c\n/);
  const unnamed = await atTerminal(server, ["a:b", ""])("add", `${resource}/unnamed`);
  expect(unnamed.out).toMatch(/scopes +a:b\n/);
  expect(await atTerminal(server, [" "])("add", `${resource}/nothing`)).toMatchObject({
    code: 1,
    err: expect.stringContaining("Nothing was added."),
  });
});

test("takes several scopes in one option, as requests have them", async ({ server }) => {
  const countersign = atTerminal(server);
  const resource = "http://127.0.0.1:1/scopes";
  const added = await countersign("add", resource, "--scope", "a:b a:c", "--scope", "a:d");
  expect(added.out).toMatch(/scopes +a:b a:c a:d\n/);
  expect((await countersign("update", resource, "--scope", "")).code).toBe(1);
});

const json = (response: ServerResponse, value: unknown): void =>
  void response.setHeader("content-type", "application/json").end(JSON.stringify(value));

test.for<[string, string, (response: ServerResponse, document: Record<string, unknown>) => void]>([
  ["is huge", "it is larger than 64 KiB", (response, document) => json(response, { ...document, padding: "x".repeat(70_000) })],
  ["redirects", "redirects are not followed", (response) => void response.writeHead(302, { location: "http://127.0.0.1:1/" }).end()],
  [
    "names another server",
    "its `authorization_servers` do not name this server",
    (response, document) => json(response, { ...document, authorization_servers: ["https://a.test"] }),
  ],
  [
    "lies about its resource",
    "its `resource` is another one",
    (response, document) => json(response, { ...document, resource: "https://bank.example.test/" }),
  ],
])("add refuses a metadata document that %s, and says so", async ([, words, answer], { server }) => {
  const site = createServer((_, response) =>
    answer(response, { resource, authorization_servers: [server.url], scopes_supported: ["notes:read"] }),
  ).listen(0, "127.0.0.1");
  await once(site, "listening");
  onTestFinished(() => {
    site.closeAllConnections();
    site.close();
  });
  const resource = `http://127.0.0.1:${(site.address() as AddressInfo).port}/mcp`;
  const countersign = atTerminal(server);
  expect(await countersign("add", resource)).toMatchObject({ code: 1, out: "", err: expect.stringContaining(words) });
  expect((await countersign("show", resource)).code).toBe(4);
});

test("--step-up does not undo what another operator changes at the same time", async ({ server }) => {
  const resource = "https://bank.example/mcp";
  const operator = await operatorAt(server.url);
  await operator.resources.create.mutate({ resource, scopes: [{ name: "bank:read" }] });
  const { fetch } = globalThis;
  const spy = vi.spyOn(globalThis, "fetch").mockImplementation(async (url, init) => {
    if (String(url).includes("operator.resources.update")) {
      spy.mockRestore();
      await operator.resources.update.mutate({ resource, scopes: [{ name: "bank:read" }, { name: "bank:pay" }] });
    }
    return fetch(url, init);
  });
  onTestFinished(() => spy.mockRestore());
  const countersign = atTerminal(server);
  const update = ["update", resource, "--step-up", "bank:read=mfa"];
  expect(await countersign(...update)).toMatchObject({ code: 1, err: expect.stringContaining("was changed since it was read") });
  expect(await countersign(...update)).toMatchObject({
    code: 0,
    out: expect.stringMatching(/scopes +bank:read bank:pay\n.+bank:read=mfa\n/),
  });
});
