import { generateKeyPairSync } from "node:crypto";
import { once } from "node:events";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { Command } from "commander";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { registerClientCommands } from "../../src/cli/clients.ts";
import { keepSession } from "../../src/cli/kept-sessions.ts";
import { registerApiKeyCommands, registerKeyCommands } from "../../src/cli/keys.ts";
import { provisionThroughServer } from "../../src/cli/provision.ts";
import { registerRealmCommands } from "../../src/cli/realms.ts";
import { registerScopeCommands } from "../../src/cli/scopes.ts";
import { registerSignInCommands } from "../../src/cli/sign-in.ts";
import { printable } from "../../src/cli/table.ts";
import { running, type ServerAccess } from "../../src/cli/terminal.ts";
import { registerUserCommands } from "../../src/cli/users.ts";
import { registerWorkloadCommands } from "../../src/cli/workloads.ts";
import { systemClock } from "../../src/clock.ts";
import { statement } from "../../src/store/sql.ts";
import { adminAs } from "../support/admin.ts";
import { runText } from "../support/database.ts";
import { PASSWORD } from "../support/flow.ts";
import { losingAnswers } from "../support/lost-answers.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";
import { aTerminal, type Registers } from "../support/terminal.ts";

let server: TestServer;
let developer: { email: string };

beforeAll(async () => {
  server = await startServer();
  developer = await server.signedInUser({ verified: false });
});
afterAll(async () => {
  await server.close();
});

const COMMANDS: readonly Registers[] = [
  registerClientCommands,
  (program, terminal) => registerKeyCommands(program.command("keys"), terminal),
  registerSignInCommands,
  registerApiKeyCommands,
  registerUserCommands,
  registerRealmCommands,
  registerScopeCommands,
  registerWorkloadCommands,
];

/** A terminal with the credentials of the developer. */
function atTerminal(access: Partial<ServerAccess> = {}) {
  const state = { serverUrl: server.url, email: developer.email, password: PASSWORD, ...access };
  const { run, leave, ...rest } = aTerminal(state);
  onTestFinished(leave);
  return { ...rest, state, configDir: rest.terminal.configDir, run: (...words: string[]) => run(COMMANDS, words) };
}

const SHOWN_ONCE = "Keep the clientSecret now: it is shown only this once.\n";

describe("countersign clients", () => {
  test("creates, lists, updates, shows and deletes a client", async () => {
    const { run } = atTerminal();
    const made = await run(
      "clients",
      "create",
      "Notes",
      "--redirect-uri",
      "https://n.example.test/cb",
      "--scope",
      "openid",
      "--scope",
      "notes:read",
    );
    expect([made.code, made.err]).toEqual([0, SHOWN_ONCE]);
    expect(made.out).toMatch(/^clientSecret\s+[\w-]{43}$/m);
    expect(made.out).toMatch(/^scopes\s+openid notes:read$/m);
    const [, id = ""] = /^id\s+(\S+)$/m.exec(made.out) ?? [];

    const listed = await run("clients", "list");
    expect(listed.out.split("\n")[0]).toMatch(/^ID +CLIENT_ID +ENVIRONMENT +ENABLED +GRANTS +NAME$/);
    expect(listed.out).toMatch(new RegExp(`^${id} +c_\\S+ +development +yes +authorization_code +Notes$`, "m"));

    const changed = await run("clients", "update", id, "--disable", "--description", "old", "--json");
    expect(JSON.parse(changed.out)).toMatchObject({ id, enabled: false, description: "old", scopes: ["openid", "notes:read"] });
    expect(JSON.parse((await run("clients", "show", id, "--json")).out)).not.toHaveProperty("clientSecret");
    expect(JSON.parse((await run("clients", "regenerate-secret", id, "--json")).out).clientSecret).toMatch(/^[\w-]{43}$/);
    expect((await run("clients", "delete", id)).out).toBe(`deleted ${id}\n`);
    expect(await run("clients", "show", id)).toEqual({ out: "", err: `Not found at ${server.url}: ${id}.\n`, code: 4 });
  });

  test("a search that finds nothing does not say that there are no clients", async () => {
    const { run } = atTerminal();
    await run("clients", "create", "Found");
    for (const more of [[], ["--limit", "1"]]) {
      const listed = await run("clients", "list", "--search", "no such client", ...more);
      expect([listed.code, listed.err]).toEqual([0, "No client has this text in its name or client_id.\n"]);
    }
    const asOperator = await atTerminal(OPERATOR).run("clients", "list", "--operator", "--search", "no such client");
    expect(asOperator.err).toBe("No client has this text in its name or client_id.\n");
  });

  test("every command accepts the id or the client_id of a client", async () => {
    const { run } = atTerminal();
    const ops = atTerminal(OPERATOR).run;
    const made = JSON.parse((await run("clients", "create", "Named", "--json")).out);
    for (const name of [made.id, made.clientId]) {
      for (const [who, ...more] of [[run], [ops, "--operator"]] as const) {
        expect(JSON.parse((await who("clients", "get", name, ...more, "--json")).out).id).toBe(made.id);
        expect(JSON.parse((await who("clients", "disable", name, ...more, "--json")).out)).toMatchObject({ id: made.id, enabled: false });
        expect(JSON.parse((await who("clients", "enable", name, ...more, "--json")).out)).toMatchObject({ id: made.id, enabled: true });
        expect(JSON.parse((await who("clients", "update", name, ...more, "--name", "New", "--json")).out).name).toBe("New");
        expect(JSON.parse((await who("clients", "regenerate-secret", name, ...more, "--json")).out).id).toBe(made.id);
      }
    }
    expect((await ops("clients", "get", made.clientId)).code).toBe(4); // the operator does not own it
    for (const unknown of ["c_unknown", "00000000-0000-7000-8000-00000000ffff"]) {
      for (const verb of ["get", "enable", "delete", "regenerate-secret"]) {
        expect(await run("clients", verb, unknown)).toEqual({ out: "", err: `Not found at ${server.url}: ${unknown}.\n`, code: 4 });
      }
    }
    expect((await run("clients", "delete", made.clientId)).code).toBe(0);
    expect((await run("clients", "get", made.id)).code).toBe(4);
  });

  test("an operator who names a client of another user learns of --operator, a developer does not", async () => {
    const made = JSON.parse((await atTerminal().run("clients", "create", "Theirs", "--json")).out);
    const ops = atTerminal(OPERATOR).run;
    const err = `You own no client ${made.clientId}. With --operator you reach all clients.\n`;
    for (const words of [["show"], ["update", "--name", "New"], ["delete"], ["regenerate-secret"]])
      expect(await ops("clients", ...words, made.clientId)).toEqual({ out: "", err, code: 4 });
    const notFound = { out: "", err: `Not found at ${server.url}: nosuch.\n`, code: 4 };
    expect(await ops("clients", "show", "nosuch", "--operator")).toEqual(notFound);
    expect(await atTerminal().run("clients", "show", "nosuch")).toEqual(notFound);
  });

  test("a user is named by an address that is longer than a search", async () => {
    const ops = atTerminal(OPERATOR).run;
    const email = `long@${`${"d".repeat(60)}.`.repeat(4)}test`;
    const { operator } = (await adminAs(server.url)).admin;
    await operator.users.create.mutate({ email, password: PASSWORD });
    expect(await ops("users", "disable", email.toUpperCase())).toMatchObject({ code: 0, err: "", out: expect.stringContaining(email) });
  });

  test("an operator gives a client another owner, by email address or id, or none", async () => {
    const { run } = atTerminal();
    const ops = atTerminal(OPERATOR).run;
    const newOwner = await server.signedInUser({ verified: true });
    const newOwnerRun = atTerminal({ email: newOwner.email, password: PASSWORD }).run;
    const made = JSON.parse((await run("clients", "create", "Inherited", "--json")).out);
    const give = (owner: string) => ops("clients", "update", made.clientId, "--operator", "--owner", owner, "--json");
    expect(JSON.parse((await give(newOwner.email.toUpperCase())).out).ownerId).toBe(newOwner.id);
    expect((await run("clients", "show", made.id)).code).toBe(4);
    expect((await newOwnerRun("clients", "show", made.id)).code).toBe(0);
    expect(JSON.parse((await give("none")).out).ownerId).toBeNull();
    expect((await newOwnerRun("clients", "show", made.id)).code).toBe(4);
    expect(JSON.parse((await give(newOwner.id)).out).ownerId).toBe(newOwner.id);
    expect((await give("unknown@example.test")).code).toBe(4);
    expect(await give("00000000-0000-7000-8000-00000000ffff")).toMatchObject({
      code: 1,
      err: "There is no such owner.\n  --owner: is not the id of a user\n",
    });
    expect((await newOwnerRun("clients", "update", made.id, "--owner", developer.email)).err).toContain("for operators only");
    const given = await ops("clients", "create", "Given", "--operator", "--owner", newOwner.email, "--json");
    expect(JSON.parse(given.out).ownerId).toBe(newOwner.id);
  });

  test("exits with 1 and names the invalid option and entry", async () => {
    const { run } = atTerminal();
    const refused = await run("clients", "create", "x", "--redirect-uri", "http://x.example.test/");
    expect([refused.code, refused.err]).toEqual([
      1,
      "The client would contradict itself.\n  --redirect-uri, entry 1: must be https, or http on localhost, 127.0.0.1 or [::1]\n",
    ]);
    expect((await run("clients", "create", "x", "--grant", "token-exchange")).err).toContain("--grant, entry 1:");
    expect((await run("clients", "list", "--operator")).code).toBe(1);
    await expect(run("clients", "create", "x", "--grant", "implicit")).rejects.toThrow("must be one of");
  });

  test("names what this very command takes: an argument of one is an option of another", async () => {
    const { run } = atTerminal(OPERATOR);
    const added = await run("workloads", "add", "https://", "--kind", "oidc", "--jwks-uri", "http://keys.example.test/");
    expect(added.err).toContain("\n  issuer: ");
    expect(added.err).not.toContain("--issuer");
    expect((await run("workloads", "add", "https://ci.example.test", "--kind", "oidc")).code).toBe(0);
    const { clientId } = JSON.parse((await atTerminal().run("clients", "create", "Without a key", "--json")).out);
    const assigned = await run("workloads", "assign", clientId, "--issuer", "https://ci.example.test", "--subject", "s");
    expect([added.code, assigned.code]).toEqual([1, 1]);
    expect(assigned.err).toContain("\n  client: ");
  });

  test("rejects control and bidirectional characters in names, and removes them from output", async () => {
    const { run } = atTerminal();
    expect((await run("clients", "create", "a\u001b[2Jb\u202ec")).err).toContain(
      "name: must not contain control or bidirectional characters",
    );
    // A name that was stored in another way, such as open registration.
    expect(printable("a\u001b[2Jb\u202ec")).toBe("a[2Jbc");
  });

  test("operators list every client and set the options that only operators may set", async () => {
    const { run } = atTerminal(OPERATOR);
    expect((await run("clients", "list", "--operator")).out).toContain("urn:example:client 1");
    const made = await run(
      ...[
        "clients",
        "create",
        "Agent",
        "--operator",
        "--client-id",
        "cli-agent",
        "--grant",
        "client_credentials",
        "--grant",
        "token-exchange",
      ],
      ...["--agent", "--max-agent-mode", "exec", "--environment", "staging", "--audience", "https://crm.example.test/mcp", "--json"],
    );
    const client = JSON.parse(made.out);
    expect(client).toMatchObject({
      clientId: "cli-agent",
      isAgent: true,
      maxAgentMode: "exec",
      environment: "staging",
      origin: "operator",
    });
    const changed = await run(
      "clients",
      "update",
      client.id,
      "--operator",
      "--no-agent",
      "--max-agent-mode",
      "none",
      "--environment",
      "unset",
      "--json",
    );
    expect(JSON.parse(changed.out)).toMatchObject({ isAgent: false, maxAgentMode: null, environment: null, audience: client.audience });
  });
});

describe("countersign clients update and create", () => {
  test("exit with 1 for an operator's option without --operator, for no change and for contradictory options", async () => {
    const { run } = atTerminal();
    const made = JSON.parse((await run("clients", "create", "Mine", "--json")).out);
    expect(await run("clients", "update", made.id, "--environment", "staging")).toEqual({
      out: "",
      err: "--environment: for operators only; add --operator if you are one.\n",
      code: 1,
    });
    expect((await run("clients", "create", "x", "--agent", "--client-id", "y")).err).toContain("--agent, --client-id: for operators only");
    expect(await run("clients", "update", made.id)).toMatchObject({ code: 1, err: expect.stringContaining("Nothing to change") });
    expect((await run("clients", "update", made.id, "--enable", "--disable")).code).toBe(1);
    expect(JSON.parse((await run("clients", "show", made.clientId, "--json")).out).id).toBe(made.id);
  });

  test("none empties a list, and --jwks reads keys from a file or removes them", async () => {
    const { run, home } = atTerminal(OPERATOR);
    const [audience, uri] = ["https://crm.example.test/mcp", "https://crm.example.test/jwks"];
    const made = JSON.parse(
      (await run("clients", "create", "Keys", "--operator", "--scope", "a", "--audience", audience, "--jwks-uri", uri, "--json")).out,
    );
    const file = join(home, "jwks.json");
    const keys = [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", kid: "k" }];
    writeFileSync(file, JSON.stringify({ keys }));
    const bye = "https://crm.example.test/bye";
    const goodbye = await run("clients", "update", made.id, "--operator", "--post-logout-redirect-uri", bye, "--json");
    expect(JSON.parse(goodbye.out).postLogoutRedirectUris).toEqual([bye]);
    const none = ["--scope", "none", "--audience", "none", "--jwks-uri", "none", "--post-logout-redirect-uri", "none"];
    const changed = await run("clients", "update", made.id, "--operator", ...none, "--jwks", `@${file}`, "--json");
    expect(changed.err).toBe("");
    expect(JSON.parse(changed.out)).toMatchObject({
      scopes: [],
      audience: null,
      jwksUri: null,
      jwks: { keys },
      postLogoutRedirectUris: [],
    });
    expect(JSON.parse((await run("clients", "update", made.id, "--operator", "--jwks", "none", "--json")).out).jwks).toBeNull();
    expect((await run("clients", "update", made.id, "--operator", "--jwks", "@/nowhere")).code).toBe(1);
  });

  test("--jwks takes a private key as PEM, and sends its public half alone", async () => {
    const { run, home } = atTerminal(OPERATOR);
    const file = join(home, "key.pem");
    const { privateKey, publicKey } = generateKeyPairSync("ed25519");
    writeFileSync(file, privateKey.export({ type: "pkcs8", format: "pem" }));
    const create = ["clients", "create", "Job", "--operator", "--auth-method", "private_key_jwt", "--grant", "client_credentials"];
    const made = await run(...create, "--jwks", `@${file}`, "--json");
    expect(made.err).toBe("");
    expect(JSON.parse(made.out).jwks).toEqual({ keys: [publicKey.export({ format: "jwk" })] });
    writeFileSync(file, "-----BEGIN nothing");
    expect((await run(...create, "--jwks", `@${file}`)).err).toContain("JWK Set or a key as PEM");
    expect((await run(...create)).err).toContain("cannot authenticate without a key yet");
  });
});

test.for([
  ["clients update c --scope none --scope openid", "none cannot be combined with other values."],
  ["clients update c --operator --audience https://a.example.test --audience none", "none cannot be combined with other values."],
  ["realms update default --scope openid --scope default", "default cannot be combined with other values."],
] as const)("%s is refused rather than taken for a scope or client of that name", async ([words, fault]) => {
  await expect(atTerminal(OPERATOR).run(...words.split(" "))).rejects.toThrow(fault);
});

test("creating a client for the authorization code grant without a redirect URI says how to add one", async () => {
  const { run } = atTerminal();
  const made = await run("clients", "create", "Web", "--grant", "authorization_code");
  expect([made.code, made.err]).toEqual([
    0,
    expect.stringMatching(/no redirect URI yet\. Add one with `countersign clients update \S+ --redirect-uri URI`/),
  ]);
  expect((await run("clients", "create", "Ready", "--redirect-uri", "https://app.example.test/callback")).err).not.toContain(
    "redirect URI",
  );
});

test("creating a private_key_jwt client as a developer warns that only operators can add keys", async () => {
  const made = await atTerminal().run(
    "clients",
    "create",
    "Signed",
    "--auth-method",
    "private_key_jwt",
    "--redirect-uri",
    "https://s.example.test/cb",
  );
  expect([made.code, made.err]).toEqual([0, expect.stringContaining("Only operators can add keys.")]);
  expect((await atTerminal().run("clients", "create", "Plain", "--redirect-uri", "https://s.example.test/cb")).err).toBe(SHOWN_ONCE);
});

describe("a command whose answer is lost", () => {
  const through = async (procedure: string, given: number | "broken") =>
    atTerminal({ serverUrl: await losingAnswers(server.url, (path) => (path.includes(procedure) ? given : undefined)) });

  test.for([502, "broken"] as const)("says that a client may have been created, and its key or new secret be lost (%s)", async (given) => {
    const { run } = atTerminal();
    const name = `Lost ${given}`;
    const lost = await (await through("clients.create", given)).run("clients", "create", name);
    expect([lost.out, lost.code]).toEqual(["", 5]);
    expect(lost.err).toMatch(
      /^The client may have been created\. See `countersign clients list`\..+`countersign clients regenerate-secret`/,
    );
    const [made] = JSON.parse((await run("clients", "list", "--search", name, "--json")).out);
    const renewed = await (await through("regenerateSecret", given)).run("clients", "regenerate-secret", made.id);
    expect([renewed.out, renewed.code, renewed.err]).toEqual([
      "",
      5,
      expect.stringMatching(/^The client may have a new secret, so that the old one no longer works\. Run the command again/),
    ]);
    const key = await (await through("apiKeys.create", given)).run("api-keys", "create", made.id, "ci");
    expect([key.out, key.code, key.err]).toEqual([
      "",
      5,
      expect.stringMatching(/^The key may have been created, .+`countersign api-keys list`/),
    ]);
    expect((await run("api-keys", "list", made.id)).out).toMatch(/ci$/m);
  });

  test("names the option of operators where they used it", async () => {
    const { run, state } = await through("clients.create", 504);
    Object.assign(state, OPERATOR);
    expect((await run("clients", "create", "Lost", "--operator")).err).toContain("`countersign clients list --operator`");
  });

  test("does not say so where no request was sent", async () => {
    const { run, terminal } = atTerminal({ serverUrl: "http://127.0.0.1:1", password: undefined });
    mkdirSync(terminal.configDir);
    keepSession(
      "http://127.0.0.1:1/",
      developer.email,
      { accessToken: "a", refreshToken: "r", expiresAt: 4_000_000_000 },
      terminal,
      "sign-in",
    );
    expect(await run("clients", "create", "Never")).toEqual({
      out: "",
      err: "The server at http://127.0.0.1:1 does not answer.\n",
      code: 5,
    });
  });
});

describe("sign-in on the command line", () => {
  test("stores the session in a file that only its owner can read", async () => {
    const { run, configDir } = atTerminal();
    await run("login");
    expect([statSync(configDir).mode & 0o777, statSync(join(configDir, "sessions.json")).mode & 0o777]).toEqual([0o700, 0o600]);
  });

  test("is not begun where it cannot be stored", async () => {
    const { terminal, home, run } = atTerminal();
    const file = join(home, "a file");
    writeFileSync(file, "");
    Object.assign(terminal, { configDir: join(file, "countersign") });
    const sessions = () => runText(server.database.sql, "select count(*) from sessions");
    const before = await sessions();
    const err = `Sign-ins cannot be stored in ${join(file, "countersign")} (ENOTDIR). Set XDG_CONFIG_HOME to a folder where this user may write.\n`;
    expect(await run("login")).toEqual({ out: "", err, code: 1 });
    expect(await sessions()).toEqual(before);
  });

  test("refreshes an access token that is about to expire", async () => {
    const early = atTerminal();
    await early.run("login");
    const late = { ...early.terminal, clock: () => systemClock() + 890 };
    Object.assign(early.state, { password: undefined });
    const program = new Command().exitOverride();
    registerClientCommands(program, late);
    await program.parseAsync(["clients", "list"], { from: "user" });
    expect([early.said.code, early.said.err]).toEqual([0, ""]);
  });

  test("uses a given email and password instead of the stored session, also when the password is wrong", async () => {
    const { run, state } = atTerminal(OPERATOR);
    expect((await run("login")).out).toBe(`signed in as ${OPERATOR.email} (operator)\n`);
    Object.assign(state, { email: developer.email, password: PASSWORD });
    expect((await run("keys", "list")).code).toBe(1);
    Object.assign(state, { ...OPERATOR, password: "wrong" });
    expect(await run("keys", "list")).toMatchObject({ out: "", code: 3 });
    Object.assign(state, { password: undefined });
    expect((await run("keys", "list")).code).toBe(0);
  });

  test("stores a session for each user; commands without an email use the latest until it is signed out", async () => {
    const { run, state } = atTerminal(OPERATOR);
    await run("login");
    Object.assign(state, { email: developer.email, password: PASSWORD });
    await run("login");
    Object.assign(state, { email: undefined, password: undefined });
    expect(JSON.parse((await run("whoami", "--json")).out)).toMatchObject({ email: developer.email, server: `${server.url}/` });
    Object.assign(state, { email: OPERATOR.email.toUpperCase() });
    expect((await run("whoami")).out).toContain(OPERATOR.email);
    expect((await run("logout")).out).toBe(`signed out ${OPERATOR.email}\n`);
    expect((await run("logout")).out).toBe("no user was signed in\n");
    expect(await run("whoami")).toMatchObject({ code: 3, err: expect.stringContaining("is not signed in at") });
  });

  test("with email and password lasts for one command, a stored session until logout, and other sessions stay", async () => {
    const rows = async (table: string, living: string) =>
      server.database.sql.query<{ n: number }>(
        statement(
          `test_living_${table.split(" ")[0]}`,
          `select count(*)::int as n from ${table} join users on users.id = user_id where email = $1 and ${living}`,
        ),
        [email],
      );
    const families = "refresh_families join grants on grants.id = grant_id";
    const { email } = await server.signedInUser({ verified: false });
    const living = async () => [
      (await rows("sessions", "ended_at is null"))[0]?.n,
      (await rows(families, "refresh_families.revoked_at is null"))[0]?.n,
    ];
    const { run, state } = atTerminal({ email });
    expect(await living()).toEqual([1, 1]); // the browser that the user signed in with
    const audited = () =>
      server.database.sql.query<{ event: string; reason: string; address: string }>(
        statement(
          "test_audited",
          "select event, reason, address from audit_records where user_id = (select id::text from users where email = $1) order by id desc",
        ),
        [email],
      );
    const before = (await audited()).length;
    expect((await run("clients", "list")).code).toBe(0);
    expect((await audited()).slice(0, -before)).toEqual([
      { event: "token.issued", reason: "one_call", address: expect.stringMatching(/1$/) },
    ]);
    expect((await run("clients", "show", "nosuch")).code).toBe(4);
    expect(await living()).toEqual([1, 1]);
    await run("login");
    expect(await living()).toEqual([2, 2]);
    Object.assign(state, { password: undefined });
    expect((await run("clients", "list")).code).toBe(0);
    expect((await run("logout")).out).toBe(`signed out ${email}\n`);
    expect(await living()).toEqual([1, 1]);
  });

  test("of a user with a second factor needs the browser", async () => {
    const { email, id } = await server.signedInUser();
    await runText(
      server.database.sql,
      "insert into authenticator_apps (user_id, secret, confirmed_at) values ($1::uuid, ''::bytea, now())",
      [id],
    );
    expect(await atTerminal({ email }).run("clients", "list")).toMatchObject({
      code: 3,
      err: expect.stringContaining("run `countersign login`"),
    });
  });

  test("exits with 5 and says so when the server is not Countersign", async () => {
    const other = createServer((request, response) => {
      if (request.method === "GET") response.writeHead(302, { location: "https://elsewhere.example.test/" }).end();
      else response.setHeader("content-type", "text/html").end("<title>Welcome</title>");
    }).listen(0, "127.0.0.1");
    await once(other, "listening");
    const serverUrl = `http://127.0.0.1:${(other.address() as AddressInfo).port}`;
    try {
      const answer = await atTerminal({ serverUrl }).run("clients", "list");
      expect([answer.code, answer.err]).toEqual([5, expect.stringContaining("no Countersign at COUNTERSIGN_URL")]);
    } finally {
      other.close();
    }
  });

  test.for([200, 400, 401, 403])("does not take a page of a proxy with status %i for an answer of the server", async (status) => {
    const proxy = createServer((_, response) => response.writeHead(status, { "content-type": "text/html" }).end("<html></html>"));
    await once(proxy.listen(0, "127.0.0.1"), "listening");
    onTestFinished(() => void proxy.close().closeAllConnections());
    const serverUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const { run, state, terminal } = atTerminal({ serverUrl });
    const notCountersign = { out: "", code: 5, err: expect.stringContaining("no Countersign at COUNTERSIGN_URL") };
    for (const command of ["login", "whoami"]) expect(await run(command)).toEqual(notCountersign);
    Object.assign(state, { password: undefined });
    keepSession(`${serverUrl}/`, developer.email, { accessToken: "a", refreshToken: "r", expiresAt: 0 }, terminal, "sign-in");
    expect(await run("whoami")).toEqual(notCountersign);
    expect(await run("logout")).toEqual({ out: "", code: 5, err: expect.stringContaining("could not be ended") });
  });

  test.for([429, 503])("exits with 5 and says to try again later when the server answers %i", async (status) => {
    const away = createServer((_, response) => response.writeHead(status).end()).listen(0, "127.0.0.1");
    await once(away, "listening");
    const serverUrl = `http://127.0.0.1:${(away.address() as AddressInfo).port}`;
    const { run, configDir } = atTerminal({ serverUrl, password: undefined });
    const keep = (expiresAt: number): void => {
      const kept = { accessToken: "a", refreshToken: "r", expiresAt };
      mkdirSync(configDir, { recursive: true });
      writeFileSync(
        join(configDir, "sessions.json"),
        JSON.stringify({ [`${serverUrl}/`]: { current: developer.email, users: { [developer.email]: kept } } }),
      );
    };
    const expected = { out: "", err: `The server cannot answer right now (status ${status}). Try again later.\n`, code: 5 };
    try {
      for (const expiresAt of [0, 4_000_000_000]) {
        keep(expiresAt); // to be renewed, and valid
        expect(await run("clients", "list")).toEqual(expected);
      }
      expect(await run("login")).toEqual(expected);
    } finally {
      away.close();
    }
  });

  test("exits with 5 and says how long to wait when the server takes no further sign-in", async () => {
    const away = createServer((_, response) => response.writeHead(429, { "retry-after": "541" }).end()).listen(0, "127.0.0.1");
    await once(away, "listening");
    const { run } = atTerminal({ serverUrl: `http://127.0.0.1:${(away.address() as AddressInfo).port}` });
    const expected = { out: "", err: "The server takes no further sign-in for now. Try again in 10 minutes.\n", code: 5 };
    try {
      expect(await run("clients", "list")).toEqual(expected);
      expect(await run("login")).toEqual(expected);
    } finally {
      away.close();
    }
  });

  test("exits with 3 for a wrong password and with 5 for an unreachable server, and refuses plain http to another host", async () => {
    expect(await atTerminal({ password: "wrong" }).run("clients", "list")).toEqual({
      out: "",
      err: "Wrong e-mail address or password.\n",
      code: 3,
    });
    expect((await atTerminal({ serverUrl: "http://127.0.0.1:1" }).run("clients", "list")).code).toBe(5);
    expect((await atTerminal({ serverUrl: "http://id.example.test" }).run("clients", "list")).err).toContain("must be https");
  });
});

describe("keys and provisioning", () => {
  test("keys list shows every public key", async () => {
    const { run } = atTerminal(OPERATOR);
    expect((await run("keys", "list")).out).toMatch(/^KID +ALG +STATE +PUBLISHED +IN USE\n\S+ +EdDSA +signing +\d{4}-\d\d-\d\dT/);
    const [key] = JSON.parse((await run("keys", "list", "--json")).out);
    expect(key.jwk).toMatchObject({ kty: "OKP", crv: "Ed25519" });
    expect(key.jwk).not.toHaveProperty("d");
  });

  test("a provisioning file is applied through the server", async () => {
    const { terminal, said } = atTerminal(OPERATOR);
    const file = {
      clients: [{ clientId: "from-cli", name: "C", grantTypes: ["authorization_code" as const], tokenEndpointAuthMethod: "none" as const }],
    };
    await provisionThroughServer(file, terminal, { dryRun: true });
    expect(said.out).toBe("+ clients from-cli\nNothing was written: this was a dry run.\n");
    await provisionThroughServer(file, terminal, {});
    expect(said.out).toMatch(/^clients +1 +0 +0$/m);
  });

  test("errors that the server finds are reported with their path in the provisioning file", async () => {
    const { terminal, said } = atTerminal(OPERATOR);
    const common = { name: "C", grantTypes: ["authorization_code" as const], tokenEndpointAuthMethod: "none" as const };
    const file = { clients: [{ ...common, clientId: "orphan", ownerEmail: "unknown@example.test" }] };
    await running(terminal, provisionThroughServer)(file, terminal, {});
    expect([said.out, said.code, said.err]).toEqual(["", 1, expect.stringContaining("clients.0.ownerEmail: belongs to no user")]);
  });
});

describe("API keys, users and realms", () => {
  test("an API key is created, listed without its secret, and revoked", async () => {
    const { run } = atTerminal();
    const client = JSON.parse((await run("clients", "create", "Keyed", "--json")).out);
    const made = JSON.parse((await run("api-keys", "create", client.clientId, "laptop", "--json")).out);
    const listed = await run("api-keys", "list", client.id);
    expect(listed.out).toContain(made.id);
    expect(listed.out).not.toContain(made.key);
    expect((await run("api-keys", "revoke", client.clientId, made.id)).out).toBe(`revoked ${made.id}\n`);
    expect(JSON.parse((await run("api-keys", "list", client.clientId, "--json")).out)[0].revokedAt).toBeTypeOf("number");
  });

  test("operators list and change users and realms; other users are refused", async () => {
    const user = await server.signedInUser({ verified: true });
    const { run } = atTerminal(OPERATOR);
    expect((await run("users", "list")).out).toContain(user.email);
    expect(JSON.parse((await run("users", "disable", user.email, "--json")).out)).toMatchObject({ email: user.email, enabled: false });
    expect(JSON.parse((await run("users", "enable", user.email, "--json")).out).enabled).toBe(true);
    expect((await run("users", "role", user.email, "operator")).out).toMatch(/ operator +yes +default$/m);
    expect((await run("users", "enable", "unknown@example.test")).code).toBe(4);
    const [realm] = JSON.parse((await run("realms", "list", "--json")).out);
    expect((await run("realms", "update", realm.name, "--scope", "openid email")).out).toMatch(/ openid email$/m);
    expect(JSON.parse((await run("realms", "update", realm.id, "--scope", "default", "--json")).out).dynamicRegistrationScopes).toBeNull();
    expect((await atTerminal().run("users", "list")).code).toBe(1);
  });

  test("operators set and remove the texts of a scope", async () => {
    const { run } = atTerminal(OPERATOR);
    const set = await run(
      "scopes",
      "set",
      "crm:read",
      "--title-en",
      "Read customers",
      "--title-de",
      "Kunden lesen",
      "--detail-en",
      "Names.",
    );
    expect(set.out).toMatch(/^crm:read +Read customers +Kunden lesen +no$/m);
    const listed = JSON.parse((await run("scopes", "list", "--realm", "default", "--json")).out);
    expect(listed[0]).toEqual({
      name: "crm:read",
      title: { en: "Read customers", de: "Kunden lesen" },
      detail: { en: "Names." },
      builtIn: false,
    });
    expect((await run("scopes", "list")).out).toMatch(/^openid +Know who you are +Wissen, wer Sie sind +yes$/m);
    expect((await run("scopes", "remove", "crm:read")).out).toBe("removed crm:read\n");
    expect((await run("scopes", "remove", "crm:read")).code).toBe(4);
    expect((await run("scopes", "list", "--realm", "nowhere")).code).toBe(4);
    expect(await run("scopes", "set", "crm:read")).toMatchObject({
      code: 1,
      err: expect.stringContaining("--title-en or --title-de: needs words in at least one language"),
    });
    expect((await run("scopes", "set", "crm:read", "--title-de", "x".repeat(81))).err).toMatch(/\n {2}--title-de: /);
  });
});
