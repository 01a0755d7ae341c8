import { once } from "node:events";
import { linkSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { registerTokenCommand } from "../../src/cli/token/command.ts";
import type { Browser } from "../support/browser.ts";
import { claimsOf } from "../support/flow.ts";
import { runInTerminal } from "../support/pseudo-terminal.ts";
import { PROVISIONED, startServer, type TestServer } from "../support/server.ts";
import { aTerminal } from "../support/terminal.ts";

const RESOURCE = "https://notes.example.test/mcp";
const OWN_CLIENT = {
  clientId: "own-tool",
  name: "own-tool",
  tokenEndpointAuthMethod: "none",
  grantTypes: ["authorization_code"],
  redirectUris: ["http://127.0.0.1/callback"],
  scopes: ["notes:read"],
  environment: "development",
};

const PUSHING_CLIENT = { ...OWN_CLIENT, clientId: "pushing-tool", name: "pushing-tool", requirePushedAuthorizationRequests: true };

let server: TestServer;
let user: Awaited<ReturnType<TestServer["signedInUser"]>>;

beforeAll(async () => {
  server = await startServer({ provision: { ...PROVISIONED, clients: [...PROVISIONED.clients, OWN_CLIENT, PUSHING_CLIENT] } });
  user = await server.signedInUser();
});
afterAll(async () => {
  await server.close();
});

/** Submits the decision in the browser and follows the redirect to the callback of the command. */
async function decideAt(url: string, browser: Browser, decision: "approve" | "deny"): Promise<void> {
  let visit = await browser.follow(url);
  if (visit.html.includes('name="decision"')) visit = await browser.submit(visit, { decision });
  const answer = await fetch(visit.url);
  await answer.text();
}

/** A terminal whose browser submits the decision. */
function atTerminal(decision: "approve" | "deny" = "approve", serverUrl = server.url) {
  const { terminal, run, leave, ...rest } = aTerminal({ serverUrl, email: undefined, password: undefined });
  onTestFinished(leave);
  const opened: string[] = [];
  Object.assign(terminal, {
    open(url: string) {
      opened.push(url);
      void decideAt(url, user.browser, decision);
    },
  });
  return { ...rest, terminal, opened, run: (...words: string[]) => run([registerTokenCommand], ["token", ...words]) };
}

/** Another authorization server on this machine, which also has what `members` adds to its metadata, and answers by path. */
async function anotherServer(members: (issuer: string) => object, answers: Readonly<Record<string, object>>): Promise<string> {
  const other = createServer((request, response) => {
    const metadata = { issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, ...members(issuer) };
    const answer = request.url?.startsWith("/.well-known/") ? metadata : answers[request.url ?? ""];
    response.writeHead(answer === undefined ? 404 : 200, { "content-type": "application/json" }).end(JSON.stringify(answer ?? {}));
  }).listen(0, "127.0.0.1");
  onTestFinished(() => void other.close());
  await once(other, "listening");
  const issuer = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
  return issuer;
}

describe("countersign token at a server that means harm", () => {
  test.for(["file:///etc/passwd", "javascript:alert(1)", "ms-msdt:/id"])("hands the system no address like %s", async (address) => {
    const pushing = (issuer: string) => ({
      authorization_endpoint: address,
      pushed_authorization_request_endpoint: `${issuer}/par`,
      require_pushed_authorization_requests: true,
    });
    const url = await anotherServer(pushing, { "/par": { request_uri: "urn:ietf:params:oauth:request_uri:x" } });
    const { run, terminal } = atTerminal("approve", url);
    const opened: string[] = [];
    Object.assign(terminal, {
      open(opening: string) {
        opened.push(opening);
        throw new Error("the command waits for the browser");
      },
    });
    const said = await run("--client", "own-tool");
    expect([opened, said.code, said.err]).toEqual([[], 5, expect.stringContaining("There is no authorization server at")]);
  });

  test("prints no token with control characters, which would reach the terminal", async () => {
    const url = await anotherServer(() => ({}), { "/token": { access_token: "t\u001b]0;planted\u0007", token_type: "Bearer" } });
    const { run, terminal } = atTerminal("approve", url);
    Object.assign(terminal, {
      open(opening: string) {
        const { redirect_uri, state } = Object.fromEntries(new URL(opening).searchParams);
        void fetch(`${redirect_uri}?code=c&state=${state}`);
      },
    });
    const said = await run("--client", "own-tool");
    expect([said.out, said.code]).toEqual(["", 5]);
  });
});

describe("countersign token", () => {
  test("prints only the access token on standard output", async () => {
    const { run, opened } = atTerminal();
    const { out, code } = await run("--resource", RESOURCE, "--scope", "notes:read");
    expect([code, out.trim().split(/\s/).length]).toEqual([0, 1]);
    expect(claimsOf(out)).toMatchObject({ sub: user.id, aud: RESOURCE, scope: "notes:read" });
    const asked = new URL(opened[0] ?? "").searchParams;
    expect(asked.get("redirect_uri")).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/callback$/);
    expect([asked.get("code_challenge_method"), asked.get("prompt")]).toEqual(["S256", null]);
  });

  test("says on standard error which scopes the token does not have", async () => {
    const { run } = atTerminal();
    const less = await run("--client", "own-tool", "--scope", "notes:read notes:share", "--scope", "notes:write");
    expect([less.code, claimsOf(less.out).scope]).toEqual([0, "notes:read"]);
    expect(less.err).toContain("The token does not have these scopes: notes:share notes:write.");
    expect((await run("--client", "own-tool", "--scope", "notes:read")).err).not.toContain("does not have");
  });

  test("registers one client for each server", async () => {
    const { run, opened } = atTerminal();
    for (let times = 0; times < 2; times++) await run("--scope", "notes:read");
    expect(new Set(opened.map((url) => new URL(url).searchParams.get("client_id"))).size).toBe(1);
  });

  test("registers one client for two first commands at once", async () => {
    const { run, opened } = atTerminal();
    await Promise.all([run("--scope", "notes:read"), run("--scope", "notes:read")]);
    const clientIds = opened.map((url) => new URL(url).searchParams.get("client_id"));
    expect([clientIds.length, new Set(clientIds).size]).toEqual([2, 1]);
  });

  test("replaces the file of its client_ids as a whole", async () => {
    const { run, terminal } = atTerminal();
    const file = join(terminal.configDir, "clients.json");
    mkdirSync(terminal.configDir, { recursive: true });
    writeFileSync(file, "{}");
    linkSync(file, `${file}.old`);
    await run("--scope", "notes:read");
    expect([readFileSync(`${file}.old`, "utf8"), Object.keys(JSON.parse(readFileSync(file, "utf8")))]).toEqual(["{}", [server.url]]);
  });

  test("registers again when the server does not know its client_id", async () => {
    const { run, terminal } = atTerminal();
    await run("--scope", "notes:read");
    const file = join(terminal.configDir, "clients.json");
    const kept = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, JSON.stringify(Object.fromEntries(Object.keys(kept).map((issuer) => [issuer, "c_gone"]))));
    expect((await run("--scope", "notes:read")).code).toBe(0);
  });

  test("--decode prints header and claims, --json the token response without refresh token", async () => {
    const { run } = atTerminal();
    const decoded = JSON.parse((await run("--resource", RESOURCE, "--decode")).out);
    expect(decoded).toMatchObject({ header: { typ: "at+jwt" }, claims: { iss: server.url, aud: RESOURCE } });
    const whole = JSON.parse((await run("--resource", RESOURCE, "--json")).out);
    expect(whole).toMatchObject({ access_token: expect.any(String), token_type: "Bearer" });
    expect(Object.keys(whole)).not.toContain("refresh_token");
  });

  test("--client selects the client", async () => {
    const { out } = await atTerminal().run("--client", "own-tool");
    expect(claimsOf(out)).toMatchObject({ client_id: "own-tool" });
  });

  test("pushes the request of a client that demands it", async () => {
    const { run, opened } = atTerminal();
    expect(claimsOf((await run("--client", "pushing-tool")).out)).toMatchObject({ client_id: "pushing-tool", scope: "notes:read" });
    expect([...new URL(opened[0] ?? "").searchParams.keys()]).toEqual(["client_id", "request_uri"]);
  });

  test.for([
    ["a scope that does not exist", ["--scope", "bank:write"], 1, "invalid_scope: "],
    [
      "a scope that a client with pushed requests may not have",
      ["--client", "pushing-tool", "--scope", "bank:write"],
      1,
      "invalid_scope: ",
    ],
    ["a resource that is not a URI", ["--resource", "notes"], 1, "invalid_target: "],
    ["an unknown client", ["--client", "c_unknown"], 4, "The client c_unknown does not exist there"],
    ["a client without the device grant", ["--client", "own-tool", "--device"], 1, "unauthorized_client: "],
  ] as const)("exits with a message and without a browser for %s", async ([, words, code, message]) => {
    const { run, opened } = atTerminal();
    const said = await run(...words);
    expect([said.code, said.out, opened]).toEqual([code, "", []]);
    expect(said.err).toContain(message);
  });

  test("exits with 3 when the user denies", async () => {
    const said = await atTerminal("deny").run("--scope", "notes:write");
    expect([said.code, said.out]).toEqual([3, ""]);
    expect(said.err).toContain("The user denied the access.");
  });

  test("exits with 5 and names the server when it does not answer", async () => {
    const said = await atTerminal("approve", "http://127.0.0.1:9").run();
    expect([said.code, said.err]).toEqual([5, "The server at http://127.0.0.1:9 does not answer.\n"]);
  });

  test("returns 404 to callback requests with another state", async () => {
    const { run, terminal } = atTerminal();
    const statuses: number[] = [];
    Object.assign(terminal, {
      async open(url: string) {
        const callback = new URL(url).searchParams.get("redirect_uri") ?? "";
        for (const query of ["?code=planted&state=guessed", ""]) statuses.push((await fetch(callback + query)).status);
        await decideAt(url, user.browser, "approve");
      },
    });
    expect((await run("--scope", "notes:read")).code).toBe(0);
    expect(statuses).toEqual([404, 404]);
  });
});

test("token --device prints a user code, and the token after the user has allowed it", async () => {
  const home = mkdtempSync(join(tmpdir(), "countersign-home-"));
  const run = runInTerminal(["token", "--device", "--scope", "notes:read", "--decode"], { HOME: home, COUNTERSIGN_URL: server.url });
  onTestFinished(async () => {
    run.kill();
    await run.ended;
    rmSync(home, { recursive: true, force: true });
  });
  await run.shows(`Open ${server.url}/device in a browser on any device`);
  const code = /^ {4}([A-Z]{4}-[A-Z]{4})$/m.exec(run.screen())?.[1] ?? "";
  const asked = await user.browser.submit(await user.browser.follow("/device"), { user_code: code });
  expect(asked.html).toContain("countersign command line");
  await user.browser.submit(asked, { decision: "approve" });
  await run.shows('"scope": "notes:read"');
  expect(await run.ended).toBe(0);
});
