import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { asFailure } from "../../src/cli/as-failure.ts";
import { forgetSession, type Kept, keepSession, withSessionLock } from "../../src/cli/kept-sessions.ts";
import { logout, signedIn } from "../../src/cli/session.ts";
import { registerSignInCommands } from "../../src/cli/sign-in.ts";
import { registerUserCommands } from "../../src/cli/users.ts";
import { systemClock } from "../../src/clock.ts";
import { auditOf } from "../support/accounts.ts";
import { aBrowser, type Browser } from "../support/browser.ts";
import { claimsOf, PASSWORD } from "../support/flow.ts";
import { runInTerminal } from "../support/pseudo-terminal.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { aTerminal } from "../support/terminal.ts";

let server: TestServer;
let operator: Browser;
let developer: { readonly browser: Browser; readonly email: string };

beforeAll(async () => {
  server = await startServer();
  operator = await browserOf(OPERATOR);
  developer = await server.signedInUser({ verified: false });
});
afterAll(() => server.close());

async function browserOf(credentials: { readonly email: string; readonly password: string }): Promise<Browser> {
  const browser = aBrowser(server.url);
  await browser.submit(await browser.follow("/login"), credentials);
  return browser;
}

/** A terminal without credentials, whose browser belongs to a user who allows what the command line asks for. */
function terminalOf(browser: Browser) {
  const { terminal, run, leave } = aTerminal({ serverUrl: server.url, email: undefined, password: undefined });
  onTestFinished(leave);
  const pages: string[] = [];
  Object.assign(terminal, {
    async open(url: string) {
      const asked = await browser.follow(url);
      pages.push(asked.html);
      await fetch((await browser.submit(asked, { decision: "approve" })).url);
    },
  });
  const file = join(terminal.configDir, "sessions.json");
  const kept = () => Object.values(JSON.parse(readFileSync(file, "utf8"))[`${server.url}/`].users)[0] as Kept;
  return { terminal, pages, file, kept, run: (...words: string[]) => run([registerSignInCommands, registerUserCommands], words) };
}

describe("countersign login", () => {
  test("signs in through the browser, with all rights of the user, in a file that only the user can read", async () => {
    const { run, pages, file, kept } = terminalOf(operator);
    expect(await run("login")).toMatchObject({ code: 0, out: `signed in as ${OPERATOR.email} (operator)\n` });
    expect(pages[0]).toContain("Manage this server as you");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(claimsOf(kept().accessToken)).toMatchObject({ client_id: "countersign-cli", aud: server.url });
    expect((await run("users", "list")).out).toContain(OPERATOR.email);
    expect((await run("whoami")).out).toMatch(/^role +operator$/m);
  });

  test("is not disturbed by a request to its listener whose target is no URL, as of a scan of ports", async () => {
    const { terminal, run } = terminalOf(operator);
    const { open } = terminal;
    const statuses: number[] = [];
    Object.assign(terminal, {
      async open(url: string) {
        const { port } = new URL(new URL(url).searchParams.get("redirect_uri") ?? "");
        for (const path of ["//", "*"]) {
          const [response] = (await once(get({ host: "127.0.0.1", port, path }), "response")) as [IncomingMessage];
          statuses.push(response.resume().statusCode ?? 0);
        }
        await open(url);
      },
    });
    expect([(await run("login")).code, statuses]).toEqual([0, [404, 404]]);
  });

  test("asks the user each time, because any program could listen where it redirects to", async () => {
    for (let times = 0; times < 2; times++) {
      const { run, pages } = terminalOf(operator);
      await run("login");
      expect(pages[0]).toContain('name="decision"');
    }
  });

  test("stays signed in when several commands renew its token at once", async () => {
    const here = terminalOf(operator);
    await here.run("login");
    writeFileSync(here.file, readFileSync(here.file, "utf8").replace(/"expiresAt":[\d.]+/, '"expiresAt":0'));
    const commands = Array.from({ length: 4 }, () => {
      const other = terminalOf(operator);
      Object.assign(other.terminal, { configDir: here.terminal.configDir });
      return other.run("whoami");
    });
    expect((await Promise.all(commands)).map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    expect(readdirSync(here.terminal.configDir)).toEqual(["sessions.json"]);
  });

  test("a command that outlasts its access token goes on with the next one, until the session has ended", async () => {
    const { terminal, run, kept } = terminalOf(operator);
    await run("login");
    const first = kept().accessToken;
    const admin = await signedIn(terminal);
    Object.assign(terminal, { clock: () => systemClock() + 890 });
    await admin.operator.users.list.query({});
    expect(kept().accessToken).not.toBe(first);
    keepSession(`${server.url}/`, developer.email, { ...kept(), accessToken: "of another user" }, terminal, "sign-in");
    expect(await admin.account.get.query()).toMatchObject({ email: OPERATOR.email });
    forgetSession(`${server.url}/`, OPERATOR.email, terminal);
    const error = await admin.operator.users.list.query({}).catch((thrown: unknown) => thrown);
    const context = { server: server.url, email: undefined, named: [], takes: new Map() };
    expect(asFailure(error, context)).toMatchObject({
      exitCode: 3,
      message: expect.stringContaining(`${OPERATOR.email} is not signed in at`),
    });
  });

  test("of two commands at once, a renewal that began earlier does not replace the tokens of a sign-in", async () => {
    const { terminal, run, kept } = terminalOf(operator);
    await run("login");
    const [before, other] = [kept(), { ...terminal }];
    const ready = Promise.withResolvers<void>();
    Object.defineProperty(terminal, "configDir", {
      get() {
        ready.resolve();
        return other.configDir;
      },
    });
    const { login } = await withSessionLock(other, async () => {
      const login = run("login");
      await ready.promise;
      keepSession(`${server.url}/`, OPERATOR.email, before, other, "renewal");
      return { login };
    });
    expect((await login).code).toBe(0);
    expect(kept().accessToken).not.toBe(before.accessToken);
  });

  test("of two commands at once, a renewal that began earlier does not bring back what logout forgets", async () => {
    const { terminal, run, kept } = terminalOf(operator);
    await run("login");
    const before = kept();
    const { ended } = await withSessionLock(terminal, () => {
      const ended = logout(terminal);
      keepSession(`${server.url}/`, OPERATOR.email, before, terminal, "renewal");
      return { ended };
    });
    expect(await ended).toBe(OPERATOR.email);
    expect(kept()).toBeUndefined();
  });

  test("renewing the token of another user does not change as whom commands act", async () => {
    const [first, last] = [terminalOf(operator), terminalOf(developer.browser)];
    await first.run("login");
    Object.assign(last.terminal, { configDir: first.terminal.configDir });
    await last.run("login");
    writeFileSync(first.file, readFileSync(first.file, "utf8").replaceAll(/"expiresAt":[\d.]+/g, '"expiresAt":0'));
    const whoIs = async (email: string | undefined) => {
      Object.assign(last.terminal, { server: () => ({ serverUrl: server.url, email, password: undefined }) });
      return JSON.parse((await last.run("whoami", "--json")).out).email;
    };
    expect([await whoIs(OPERATOR.email), await whoIs(undefined)]).toEqual([OPERATOR.email, developer.email]);
  });

  test("refreshes its token, and signs out at the server: neither token works, and another machine stays signed in", async () => {
    const [here, there] = [terminalOf(operator), terminalOf(operator)];
    await here.run("login");
    await there.run("login");
    const before = here.kept();
    writeFileSync(here.file, readFileSync(here.file, "utf8").replace(/"expiresAt":[\d.]+/, '"expiresAt":0'));
    expect((await here.run("whoami")).code).toBe(0);
    const { accessToken, refreshToken } = here.kept();
    expect(accessToken).not.toBe(before.accessToken);
    expect((await here.run("logout")).out).toBe(`signed out ${OPERATOR.email}\n`);
    const authorization = `Bearer ${accessToken}`;
    expect((await fetch(`${server.url}/trpc/account.get`, { headers: { authorization } })).status).toBe(401);
    const refresh = new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken, client_id: "countersign-cli" });
    expect((await fetch(`${server.url}/oauth/token`, { method: "POST", body: refresh })).status).toBe(400);
    const ended = await auditOf(server.database.sql, "session.ended");
    expect(ended.at(-1)).toMatchObject({ reason: "signed_out", client_id: "countersign-cli" });
    expect((await there.run("whoami")).code).toBe(0);
    expect(await here.run("whoami")).toMatchObject({
      code: 3,
      err: `No user is signed in at ${server.url}/. Run \`countersign login\`, or in a script set COUNTERSIGN_EMAIL and COUNTERSIGN_PASSWORD. COUNTERSIGN_URL names the server.\n`,
    });
  });

  test("a sign-in ends the session that it replaces, of the same user", async () => {
    const { run, kept } = terminalOf(operator);
    await run("login");
    const before = kept();
    await run("login");
    const use = ({ accessToken }: Kept) => fetch(`${server.url}/trpc/account.get`, { headers: { authorization: `Bearer ${accessToken}` } });
    expect([(await use(before)).status, (await use(kept())).status]).toEqual([401, 200]);
  });

  test("a developer reads who is signed in, and how to become an operator", async () => {
    const { run } = terminalOf(developer.browser);
    await run("login");
    const { code, err } = await run("users", "list");
    expect([code, err]).toEqual([
      1,
      `This is for operators. You are signed in as ${developer.email}; an operator can give you the role with \`countersign users role ${developer.email} operator\`.\n`,
    ]);
  });

  test("a session that the user has ended says so", async () => {
    const { run, file } = terminalOf(developer.browser);
    await run("login");
    const page = await developer.browser.follow("/account");
    const [, consent = ""] = /name="consent" value="([^"]+)"/.exec(page.html) ?? [];
    await developer.browser.submit(page, { consent });
    writeFileSync(file, readFileSync(file, "utf8").replace(/"expiresAt":[\d.]+/, '"expiresAt":0'));
    expect((await run("whoami")).err).toContain(`The session of ${developer.email} at ${server.url}/ has ended. Run \`countersign login\``);
  });

  test("--device shows a code, and signs in once the user has allowed it", async () => {
    const home = mkdtempSync(join(tmpdir(), "countersign-home-"));
    const run = runInTerminal(["login", "--device"], { HOME: home, COUNTERSIGN_URL: server.url });
    onTestFinished(async () => {
      run.kill();
      await run.ended;
      rmSync(home, { recursive: true, force: true });
    });
    await run.shows(`Open ${server.url}/device in a browser on any device`);
    const code = /^ {4}([A-Z]{4}-[A-Z]{4})$/m.exec(run.screen())?.[1] ?? "";
    await operator.submit(await operator.submit(await operator.follow("/device"), { user_code: code }), { decision: "approve" });
    await run.shows(`signed in as ${OPERATOR.email} (operator)`);
    expect(await run.ended).toBe(0);
  });
});

describe("the client of the command line", () => {
  const request = (members: Record<string, string>) =>
    `/oauth/authorize?${new URLSearchParams({
      response_type: "code",
      client_id: "countersign-cli",
      redirect_uri: "http://127.0.0.1:5000/callback",
      scope: "openid server:manage",
      resource: server.url,
      code_challenge: "x".repeat(43),
      code_challenge_method: "S256",
      ...members,
    })}`;

  test.for([
    ["a token for another server", { resource: "https://notes.example.test/mcp" }, "invalid_target"],
    ["a token without asking the user", { prompt: "none" }, "consent_required"],
  ] as const)("cannot request %s", async ([, members, error]) => {
    const { url } = await operator.follow(request(members));
    expect(new URL(url).searchParams.get("error")).toBe(error);
  });

  test("is sent nowhere but to loopback, and no operator can change it", async () => {
    expect((await operator.request(request({ redirect_uri: "https://evil.example.test/callback" }))).status).toBe(400);
    const login = await operator.json("/auth/login", OPERATOR);
    const authorization = `Bearer ${login.body.access_token}`;
    const patch = { id: "00000000-0000-7000-8000-000000000003", patch: { redirectUris: ["https://evil.example.test/"] } };
    const changed = await operator.json("/trpc/operator.clients.update", patch, "POST", { authorization });
    expect(changed.status).toBe(403);
  });

  test("another client with its scope cannot reach the service", async () => {
    const { email } = await server.signedInUser({ verified: true });
    const browser = await browserOf({ email, password: PASSWORD });
    const login = await browser.json("/auth/login", { email, password: PASSWORD });
    const made = await browser.json(
      "/api/clients",
      { name: "Greedy", redirectUris: ["http://127.0.0.1/callback"], scopes: ["openid", "server:manage"], tokenEndpointAuthMethod: "none" },
      "POST",
      { authorization: `Bearer ${login.body.access_token}` },
    );
    const { url } = await browser.follow(request({ client_id: made.body.clientId }));
    expect(new URL(url).searchParams.get("error")).toBe("invalid_target");
  });
});
