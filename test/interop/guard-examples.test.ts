import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { afterAll, describe, expect, onTestFinished } from "vitest";
import { listenForBrowser } from "../../examples/mcp-client/callback.ts";
import { startNotesServer } from "../../examples/mcp-server/server.ts";
import { freePort } from "../support/free-port.ts";
import { approve, recordOf } from "../support/mcp-hosts.ts";
import { scratch } from "../support/packed.ts";
import { PROVISIONED, testOn } from "../support/server.ts";
import { gitHub, kubernetes, SERVICE_ACCOUNT } from "../support/workloads.ts";

const root = join(import.meta.dirname, "../..");
const scripts: Record<string, string> = JSON.parse(readFileSync(join(root, "package.json"), "utf8")).scripts;
const [job, provisioned] = JSON.parse(readFileSync(join(root, "examples/provision.json"), "utf8")).clients;
const [cluster, actions] = await Promise.all([kubernetes(), gitHub()]);
const { dir, remove } = scratch();
afterAll(async () => {
  remove();
  await Promise.all([cluster.close(), actions.close()]);
});
/** The agent of the file, on platforms of these tests. */
const agent = {
  ...provisioned,
  workloadIdentities: [
    { issuer: cluster.issuer, subject: SERVICE_ACCOUNT },
    { issuer: actions.issuer, subject: "repo:acme/agents:environment:production" },
  ],
};
const workloadIssuers = [
  { issuer: cluster.issuer, kind: "kubernetes", allowPrivate: true },
  { issuer: actions.issuer, kind: "oidc", allowPrivate: true },
];
const port = await freePort();
const resources = [recordOf(`http://localhost:${port}/mcp`)];
const test = testOn({ provision: { ...PROVISIONED, workloadIssuers, clients: [...PROVISIONED.clients, agent, job], resources } });

/** Runs the command of `npm run example:…`. */
function run(script: string, env: Record<string, string>): ChildProcessByStdio<Writable, Readable, Readable> {
  const [exec, command, ...args] = scripts[`example:${script}`]?.split(" ") ?? [];
  expect([exec, command]).toEqual(["exec", "node"]);
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...env }, stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return child;
}

const ended = async (child: ReturnType<typeof run>) => {
  const [said, complained, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { said, complained, code };
};

describe("the example API", () => {
  const RESOURCE = "https://notes.example.test/api";

  test("requires the scopes of each route, and identifies its caller by the token", async ({ server }) => {
    const child = run("rest-api", { PORT: "0", RESOURCE, ISSUER: server.url });
    let heading = "";
    child.stdout.on("data", (chunk) => {
      heading += chunk;
    });
    while (!heading.includes("GET /me")) await once(child.stdout, "data");
    const origin = /http:\/\/127\.0\.0\.1:\d+/.exec(heading)?.[0];
    const { browser, id } = await server.signedInUser();
    const tokenFor = async (scope: string) =>
      (await server.tokens(server.clients.web, browser, { scope, resource: RESOURCE })).access_token;
    const call = async (method: string, path: string, token?: string, body?: object) => {
      const headers = { "content-type": "application/json", ...(token !== undefined && { authorization: `Bearer ${token}` }) };
      const response = await fetch(`${origin}${path}`, { method, headers, ...(body && { body: JSON.stringify(body) }) });
      const challenge = response.headers.get("www-authenticate");
      return [response.status, challenge === null ? await response.json() : /scope="([^"]*)"/.exec(challenge)?.[1]];
    };
    const [reader, writer, openid] = [await tokenFor("notes:read"), await tokenFor("notes:read notes:write"), await tokenFor("openid")];
    expect(await call("GET", "/notes")).toEqual([401, "notes:read"]);
    expect(await call("GET", "/notes", openid)).toEqual([403, "notes:read"]);
    expect(await call("POST", "/notes", reader, { text: "buy milk" })).toEqual([403, "notes:read notes:write"]);
    expect((await call("POST", "/notes", writer, { text: "" }))[0]).toBe(400);
    for (const [status, body] of [
      [400, '{"text":'],
      [413, JSON.stringify({ text: "x".repeat(10_000) })],
    ] as const) {
      const headers = { "content-type": "application/json", authorization: `Bearer ${writer}` };
      const unreadable = await fetch(`${origin}/notes`, { method: "POST", headers, body });
      const error_description = "the body cannot be read as JSON of at most 8 kB";
      expect([unreadable.status, await unreadable.json()]).toEqual([status, { error: "invalid_request", error_description }]);
    }
    expect(await call("POST", "/notes", writer, { text: "buy milk" })).toEqual([201, { owner: id, text: "buy milk" }]);
    expect(await call("GET", "/notes", reader)).toEqual([200, { notes: ["buy milk"] }]);
    const nothing = { error: "invalid_request", error_description: "there is nothing at this path for this method" };
    expect([await call("GET", "/nothing", reader), await call("PUT", "/notes", writer)]).toEqual([
      [404, nothing],
      [404, nothing],
    ]);
    expect(await call("GET", "/me", openid)).toEqual([200, { sub: id, clientId: "web", scopes: ["openid"], actors: [] }]);
    child.kill("SIGTERM");
    expect((await once(child, "exit"))[0]).toBe(0);
  });

  test("accepts the client of its provisioning file, as its README says", async ({ server }) => {
    const credential = { clientId: job.clientId, secret: job.clientSecret, redirectUri: "" };
    const { body } = await server.token(credential, { grant_type: "client_credentials", scope: "notes:read notes:write" });
    expect(JSON.parse(Buffer.from(body.access_token.split(".")[1], "base64url").toString())).toMatchObject({
      aud: "http://127.0.0.1:4100",
      scope: "notes:read notes:write",
    });
  });

  test("stops with the npm process that started it", async ({ server }) => {
    const env = { ...process.env, PORT: "0", ISSUER: server.url };
    const npm = spawn("npm", ["run", "example:rest-api"], { cwd: root, env, stdio: ["ignore", "pipe", "ignore"] });
    onTestFinished(() => void npm.kill("SIGKILL"));
    let heading = "";
    for await (const chunk of npm.stdout) {
      heading += chunk;
      if (heading.includes("GET /me")) npm.kill("SIGTERM");
    } // the end of its output is the end of every process that could write to it
    const [origin = ""] = /http:\/\/127\.0\.0\.1:\d+/.exec(heading) ?? [];
    await expect(fetch(`${origin}/me`)).rejects.toThrow("fetch failed");
  });

  test("reports an invalid setting in one line", async () => {
    const { complained, code } = await ended(run("rest-api", { PORT: "0", ISSUER: "http://as.example" }));
    expect([complained, code]).toEqual([expect.stringMatching(/^the notes API cannot start: .*must be https.*\n$/), 1]);
  });

  test.each(["rest-api", "mcp-server"])("names the settings of %s when its port is taken", async (script) => {
    const taken = createServer().listen(0, "127.0.0.1");
    onTestFinished(() => void taken.close());
    await once(taken, "listening");
    const PORT = `${(taken.address() as AddressInfo).port}`;
    const { complained, code } = await ended(run(script, { PORT, ISSUER: "" }));
    expect([complained, code]).toEqual([
      expect.stringMatching(/ cannot start: .*EADDRINUSE.*; its settings are ISSUER, RESOURCE and PORT\n$/),
      1,
    ]);
  });
});

describe("the example client", () => {
  test("registers itself, is allowed by its user, and again for the scope of a second tool; the tools answer", async ({ server }) => {
    const notes = await startNotesServer({ issuer: server.url, port });
    onTestFinished(notes.close);
    const { browser } = await server.signedInUser();
    const child = run("mcp-client", { RESOURCE: notes.resource, BROWSER: "true" });
    let said = "";
    child.stdout.on("data", (text) => {
      said += text;
    });
    const complained = text(child.stderr);
    const opened = () => [...said.matchAll(/asks you:\n(\S+)/g)].map(([, url = ""]) => url);
    for (const times of [1, 2]) {
      while (opened().length < times) await once(child.stdout, "data");
      await fetch(await approve(browser, opened().at(-1) ?? ""));
    }
    expect(await complained).toBe("");
    expect(said).toContain("list_notes: []\nYour browser asks you:");
    expect(said).toMatch(/add_note: {"added":"buy milk","count":1}\nlist_notes: \["buy milk"\]\n$/);
    expect(opened().map((url) => new URL(url).searchParams.get("scope")?.includes("notes:write"))).toEqual([false, true]);
  });

  test("takes one answer for each state, and none for the state of an earlier request", async () => {
    const callback = await listenForBrowser();
    onTestFinished(callback.close);
    const send = async (state: string) => (await fetch(`${callback.redirectUri}?state=${state}&code=c`)).status;
    expect(await send("undefined")).toBe(404);
    const [first, second] = [callback.newState(), callback.newState()];
    expect(first).not.toBe(second);
    expect([await send(first), await send(second), await send(second)]).toEqual([404, 200, 404]);
    expect((await callback.answer()).get("state")).toBe(second);
  });

  test("reports a RESOURCE that is no URL", async () => {
    const { complained, code } = await ended(run("mcp-client", { RESOURCE: "notes" }));
    expect([code, complained]).toEqual([1, expect.stringMatching(/^RESOURCE must be the URL of an MCP server, .*; it is notes\n$/)]);
  });

  test("reports an MCP server that does not answer", async () => {
    const { complained, code } = await ended(run("mcp-client", { RESOURCE: "http://127.0.0.1:1/mcp" }));
    expect([code, complained]).toEqual([1, "http://127.0.0.1:1/mcp does not answer. Is `npm run example:mcp-server` running?\n"]);
  });
});

describe("the example agent", () => {
  /** The variable that Kubernetes' projected token is found by. */
  const pod = (audience: string) => {
    const TOKEN_FILE = join(dir, `token-${Buffer.from(audience).toString("hex")}`);
    writeFileSync(TOKEN_FILE, cluster.token([audience]));
    return { TOKEN_FILE };
  };
  /** The variables of a job of GitHub Actions. */
  const job = (issuer: string) => {
    const path = "/token?api-version=2.0";
    actions.answers = {
      [`${path}&audience=${encodeURIComponent(issuer)}`]: (response) => response.end(JSON.stringify({ value: actions.token(issuer) })),
    };
    return { ACTIONS_ID_TOKEN_REQUEST_URL: `${actions.url}${path}`, ACTIONS_ID_TOKEN_REQUEST_TOKEN: "of the job" };
  };

  test("acts for the user whose token it is given, without a secret, in a pod and in a workflow", async ({ server }) => {
    const notes = await startNotesServer({ issuer: server.url, dpop: "required" });
    onTestFinished(notes.close);
    const { browser, id } = await server.signedInUser();
    const resource = [notes.resource, agent.clientId];
    const { access_token: handed } = await server.tokens(server.clients.web, browser, { scope: "notes:read notes:write", resource });
    const settings = { ISSUER: server.url, RESOURCE: notes.resource };
    const started = [pod(server.url), job(server.url)].map((platform) => run("agent", { ...settings, ...platform }));
    for (const child of started) {
      child.stdin.end(`${handed}\n`);
      const { said, complained, code } = await ended(child);
      expect([complained, code]).toEqual(["", 0]);
      expect(JSON.parse(said)).toEqual({ user: id, actors: [agent.clientId], notes: 0, longest: 0 });
    }

    const { access_token: notForIt } = await server.tokens(server.clients.web, browser, { scope: "notes:read", resource: notes.resource });
    const refused = run("agent", { ...settings, ...pod(server.url) });
    refused.stdin.end(notForIt);
    const { complained: why, code: failed } = await ended(refused);
    expect(failed).toBe(1);
    expect(why).toMatch(/^the agent did not do it: \S+ refused: invalid_request.*; the token was not handed to this agent: /);
    expect(why).toContain(`two resource parameters, ${notes.resource} and summary-agent`);
    expect(why).not.toContain(notForIt);
  });

  test("keeps the key of its stand-in cluster out of the directory for temporary files, where every user of the machine can make files", async () => {
    const TMPDIR = mkdtempSync(join(dir, "temporary-"));
    const child = run("agent", { TMPDIR, PLATFORM: "http://localhost:0" });
    child.stdin.end();
    expect((await ended(child)).complained).toContain("standard input");
    expect(readdirSync(TMPDIR)).toEqual([]);
  });

  test("reports the error of the authorization server, or which server is unreachable", async ({ server }) => {
    const { browser } = await server.signedInUser();
    const away = "http://127.0.0.1:1";
    const { access_token: handed } = await server.tokens(server.clients.web, browser, {
      scope: "notes:read",
      resource: [`${away}/mcp`, agent.clientId],
    });
    const complaint = async (settings: Record<string, string>, token = handed) => {
      const child = run("agent", { ISSUER: server.url, RESOURCE: `${away}/mcp`, ...pod(server.url), ...settings });
      child.stdin.end(token);
      return (await ended(child)).complained;
    };
    expect(await complaint(pod("https://elsewhere.example"))).toMatch(/^the agent did not do it: .*invalid_client/);
    expect(await complaint({}, "no-token")).toMatch(/^the agent did not do it: .*invalid_request/);
    expect(await complaint({ RESOURCE: "http://127.0.0.1:2/mcp" })).toMatch(/^the agent did not do it: .*invalid_target/);
    expect(await complaint({ ISSUER: away })).toContain(`${away} does not answer`);
    expect(await complaint({})).toContain(`${away}/mcp does not answer`);
    expect(await complaint({ TOKEN_FILE: join(dir, "none") })).toContain("no workload token: ");
    expect(await complaint({}, "")).toContain("standard input");
  });
});
