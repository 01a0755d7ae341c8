import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { COMPILED } from "../support/compiled.ts";
import { freshDataDir } from "../support/data-directory.ts";
import { PASSWORD } from "../support/flow.ts";
import { NODE_ARGS } from "../support/processes.ts";
import { runInTerminal } from "../support/pseudo-terminal.ts";
import { OPERATOR, startServer, type TestServer } from "../support/server.ts";

const COMMAND = join(import.meta.dirname, "../../bin/countersign");

let server: TestServer;
let home: string;
let dataDir: string;

beforeAll(async () => {
  [server, dataDir] = await Promise.all([startServer(), freshDataDir()]);
  home = mkdtempSync(join(tmpdir(), "countersign-home-"));
  const credentials = { COUNTERSIGN_EMAIL: OPERATOR.email, COUNTERSIGN_PASSWORD: OPERATOR.password };
  const login = runInTerminal(["login"], { HOME: home, COUNTERSIGN_URL: server.url, ...credentials });
  expect([await login.ended, login.screen()]).toEqual([0, `signed in as ${OPERATOR.email} (operator)`]);
});
afterAll(async () => {
  await server.close();
  for (const folder of [home, dataDir]) rmSync(folder, { recursive: true, force: true });
});

/** A command, its exit code, and what the terminal then shows; `typed` answers its question. */
interface Step {
  readonly words: string | ((before: string) => string);
  readonly code?: number;
  readonly shows: string | RegExp;
  readonly asks?: { readonly question: string; readonly typed: string };
}

const UNKNOWN = "0198f5a2-0000-7000-8000-000000000001";
const notFound = (what: string, message = "Not found"): Pick<Step, "code" | "shows"> => ({
  code: 4,
  shows: `${message} at ${server.url}: ${what}.`,
});

/** Commands that use what earlier ones of their group made. The groups run beside each other. */
const groups = (): readonly (readonly Step[])[] => [
  [
    { words: "whoami", shows: /^email +operator@example\.test$/m },
    { words: "clients list", shows: "You own no clients. Create one with `countersign clients create`" },
    { words: "clients create Notes --scope notes:read", shows: "Keep the clientSecret now: it is shown only this once." },
    { words: (before) => `api-keys create ${memberOf("id", before)} laptop`, shows: "Keep the key now: it is shown only this once." },
    { words: "clients list", shows: /Notes$/m },
    { words: "clients create Job --client-id job --operator --grant client_credentials", shows: /^clientId +job$/m },
    { words: "clients show job --operator", shows: /^enabled +yes$/m },
    { words: "clients update job --operator --name Nightly", shows: /^name +Nightly$/m },
    { words: "clients update job --operator --add-scope notes:read --add-scope notes:write", shows: /^scopes +notes:read notes:write$/m },
    { words: "clients update job --operator --remove-scope notes:read --add-scope notes:new", shows: /^scopes +notes:write notes:new$/m },
    { words: "clients list --operator --unused-since 90d", shows: "No client matches." },
    { words: "clients list --agents", code: 1, shows: "--owner, --unused-since and --agents are for operators only" },
    { words: "clients disable job --operator", shows: /^enabled +no$/m },
    { words: "clients enable job --operator", shows: /^enabled +yes$/m },
    { words: "clients regenerate-secret job --operator --yes", shows: "it is shown only this once" },
    {
      words: "clients delete job --operator",
      asks: { question: "This cannot be undone. Go on? [y/N]", typed: "y" },
      shows: /^deleted [0-9a-f-]{36}$/m,
    },
    { words: "clients show job --operator", ...notFound("job") },
  ],
  [
    { words: "users invite ada@example.test --role user", shows: "Invited ada@example.test as user; the link works for 7 days." },
    { words: "users invitations", shows: /^ada@example\.test +user /m },
    { words: "users withdraw ada@example.test", shows: "Withdrew the invitation of ada@example.test." },
    { words: "users invitations", shows: "No invitation waits. Send one with `countersign users invite`." },
    {
      words: "users create grace@example.test",
      asks: { question: "Password of the new account: ", typed: PASSWORD },
      shows: /grace@example\.test +yes +developer +yes +default$/m,
    },
    { words: "users role grace@example.test user", shows: /grace@example\.test +yes +user +yes +default$/m },
    { words: "users move grace@example.test default", shows: /grace@example\.test +yes +user +yes +default$/m },
    {
      words: "clients create Weekly --client-id weekly --operator --grant client_credentials --owner grace@example.test",
      shows: /^clientId +weekly$/m,
    },
    {
      words: "users disable grace@example.test",
      shows: /user +no +default[\s\S]*Clients that this user manages go on \(1\)/m,
    },
    { words: "clients list --operator --owner grace@example.test", shows: /^\S+ +weekly .*Weekly[\s\S]*^1 of 1$/m },
    { words: "users enable grace@example.test", shows: /user +yes +default$/m },
    { words: "users list --search grace", shows: "grace@example.test" },
    { words: "users factors grace@example.test", shows: "This user has no passkey and no authenticator app." },
    { words: "users sessions grace@example.test", shows: "This user is not signed in." },
    { words: "connections identities grace@example.test", shows: "No account elsewhere signs in to this one." },
    {
      words: "users delete grace@example.test",
      asks: { question: "Type the e-mail address: ", typed: "grace@example.test" },
      shows: "Deleted grace@example.test.",
    },
    { words: `users import ${join(home, "users.ndjson")}`, shows: "Imported 1 user." },
    { words: "users export", shows: '"email":"imported@example.test"' },
    { words: "users role unknown@example.test user", code: 4, shows: "No user has the e-mail address unknown@example.test." },
  ],
  [
    { words: `api-keys list ${UNKNOWN}`, ...notFound(UNKNOWN) },
    { words: `api-keys revoke ${UNKNOWN} ${UNKNOWN} --yes`, ...notFound(`${UNKNOWN}, ${UNKNOWN}`) },
    { words: "keys list", shows: /EdDSA +signing/ },
    {
      words: (before) => `keys withdraw --yes -- ${before.split("\n")[1]?.split(" ")[0]}`,
      code: 1,
      shows: "has signed with this key within",
    },
    { words: "keys withdraw unknown --yes", ...notFound("unknown") },
    { words: "realms list", shows: /default[\s\S]*^\d of \d$/m },
    { words: "realms update default --scope openid", shows: /default +openid$/m },
    { words: "realms brand default --name Acme", shows: "Acme" },
    { words: "realms require-sign-in default any", shows: "default" },
    { words: "realms require-sign-in nowhere mfa", code: 4, shows: "There is no realm named nowhere." },
    { words: "realms create visitors", shows: /visitors +-$/m },
    { words: "realms rename visitors partners", shows: /partners +-$/m },
    {
      words: "realms remove partners",
      asks: { question: "records of resources go with it. This cannot be undone. Go on? [y/N]", typed: "y" },
      shows: "removed partners",
    },
    { words: "realms remove default --yes", code: 1, shows: "can be neither renamed nor removed" },
    { words: "scopes set notes:read --title-en Notes", shows: "notes:read" },
    { words: "scopes list --limit 1", shows: /^notes:read [\s\S]*^1 of 10$/m },
    { words: "scopes remove notes:read --yes", shows: "notes:read" },
    { words: "audit tail -n 1", shows: "success" },
    { words: "audit export", shows: '"type":' },
    { words: `audit verify ${join(home, "none.ndjson")}`, code: 1, shows: "cannot be read" },
    { words: "explain grant_type=client_credentials client_id=worker", shows: /granted|refused/ },
    { words: "export", shows: '"name": "default"' },
    { words: "delegations list", shows: "No agent acts for a user." },
    { words: `delegations show ${UNKNOWN}`, ...notFound(UNKNOWN) },
    { words: "delegations cut --agent helper --yes", ...notFound("helper") },
    { words: "clients create Helper --client-id helper --operator --agent --grant token-exchange", shows: "shown only this once" },
    { words: "delegations cut --agent helper --yes", shows: "ended: 0" },
    { words: "agents pause helper", shows: "paused" },
    { words: "agents pauses", shows: "helper" },
    { words: "agents resume helper", shows: "resumed" },
  ],
  [
    { words: "resources add https://notes.example.test/mcp --name Notes --scope notes:read", shows: /notes:read/ },
    { words: "resources list", shows: /^https:.*notes\.example\.test\/mcp[\s\S]*^1 of 1$/m },
    { words: "resources list --search nowhere", shows: "No resource has this text in its URI or name." },
    { words: "resources show https://notes.example.test/mcp", shows: /^name +Notes$/m },
    { words: "resources update https://notes.example.test/mcp --name Memos", shows: /^name +Memos$/m },
    {
      words: "resources update https://notes.example.test/mcp --step-up notes:read=phr,300",
      shows: /^sign-in that they demand +notes:read=phr,300$/m,
    },
    { words: "resources diff https://notes.example.test/mcp", code: 1, shows: "cannot be used: its host name is unknown" },
    { words: "resources remove https://notes.example.test/mcp --yes", shows: "https://notes.example.test/mcp" },
    {
      words: "resources show https://notes.example.test/mcp",
      ...notFound("https://notes.example.test/mcp", "This resource has no record"),
    },
    { words: "connections list", shows: "countersign connections add" },
    { words: "connections add nowhere", code: 1, shows: "--" },
    ...["show", "test", "update", "remove"].map((verb) => ({
      words: `connections ${verb} nowhere${verb === "remove" ? " --yes" : ""}${verb === "update" ? " --title Nowhere" : ""}`,
      ...notFound("nowhere", "There is no connection of this name"),
    })),
    { words: "workloads list", shows: "countersign workloads add" },
    { words: "workloads add https://ci.example.test --kind oidc", shows: /^single use +yes$/m },
    { words: "workloads update https://ci.example.test --max-lifetime 600 --no-single-use", shows: /^longest life +600 s$/m },
    { words: "clients create Robot --client-id robot --operator --grant client_credentials --auth-method workload_jwt", shows: "robot" },
    {
      words: "workloads assign robot --issuer https://ci.example.test --subject repo:acme/agents --claim repository_id=7",
      shows: "pin an environment or a ref",
    },
    { words: "workloads show https://ci.example.test", shows: /^robot +repo:acme\/agents +repository_id=7 +[0-9a-f-]{36}$/m },
    { words: "doctor", shows: /offers PKCE with S256.*any branch or pull request could present repo:acme\/agents/s },
    { words: "workloads test a.b.c", shows: "Refused by workload_form: assertion_malformed" },
    { words: `workloads unassign ${UNKNOWN} --yes`, ...notFound(UNKNOWN, "There is no identity of this id") },
    { words: "workloads remove https://ci.example.test --yes", shows: "removed https://ci.example.test" },
    { words: "token --client c_unknown", code: 4, shows: "The client c_unknown does not exist there" },
    { words: "completion fish", shows: "complete -c countersign" },
    { words: `branding preview --out ${join(home, "preview")}`, shows: /^open / },
  ],
  [
    { words: "migrate", shows: "the schema is up to date" },
    { words: `provision ${join(home, "plan.json")} --dry-run`, shows: /^\+ realms .*Nothing was written/s },
    { words: `provision ${join(home, "plan.json")}`, shows: "realms: 1 created" },
    { words: "setup-link", shows: /\/setup\?token=[0-9a-f]{64}$/ },
    { words: `keys generate --out ${join(home, "key.pem")}`, shows: "key.pem" },
  ],
];

/** Tried in contract-terminal.test.ts, cli-login.test.ts, and above. */
const ELSEWHERE = ["serve", "login", "logout"];

const memberOf = (name: string, screen: string): string => new RegExp(`^${name} +(\\S+)$`, "m").exec(screen)?.[1] ?? "";

async function runGroup(steps: readonly Step[]): Promise<readonly string[]> {
  const faults: string[] = [];
  let before = "";
  for (const { words: given, code = 0, shows, asks } of steps) {
    const words = typeof given === "string" ? given : given(before);
    const env = { HOME: home, COUNTERSIGN_URL: server.url, DATA_DIR: dataDir, NODE_COMPILE_CACHE: COMPILED };
    const run = runInTerminal(words.split(" "), env, [process.execPath, ...NODE_ARGS]);
    if (asks !== undefined) {
      await run.shows(asks.question).then(
        () => run.type(asks.typed),
        (error: Error) => faults.push(error.message),
      );
    }
    const ended = await run.ended;
    before = run.screen();
    const isShown = typeof shows === "string" ? before.includes(shows) : shows.test(before);
    if (ended !== code || !isShown) faults.push(`${words}: exit code ${ended}, not showing ${shows}:\n${before}`);
  }
  return faults;
}

test("every command does in a terminal what it says, and names what it did not find", { timeout: 120_000 }, async () => {
  writeFileSync(join(home, "users.ndjson"), JSON.stringify({ email: "imported@example.test" }));
  writeFileSync(join(home, "plan.json"), JSON.stringify({ realms: [{ name: "guests" }] }));
  expect((await Promise.all(groups().map(runGroup))).flat().join("\n\n")).toBe("");
  const logout = runInTerminal(["logout"], { HOME: home, COUNTERSIGN_URL: server.url });
  expect([await logout.ended, logout.screen()]).toEqual([0, `signed out ${OPERATOR.email}`]);
  const after = runInTerminal(["clients", "list"], { HOME: home, COUNTERSIGN_URL: server.url });
  expect([await after.ended, after.screen().replaceAll("\n", "")]).toEqual([
    3,
    expect.stringContaining("No user is signed in at http://localhost:"),
  ]);
});

test("no command is left out, and the help of each has an example", () => {
  const script = execFileSync(COMMAND, ["completion", "bash"], { encoding: "utf8" });
  const paths = [...script.matchAll(/^ {4}'([^']+)'\) offered=/gm)].map(([, path = ""]) => path);
  const commands = paths.filter((path) => !paths.some((other) => other.startsWith(`${path} `)));
  const tried = groups()
    .flat()
    .map(({ words }) => (typeof words === "string" ? words : words("")));
  const missing = commands.filter(
    (command) => !ELSEWHERE.includes(command) && !tried.some((words) => `${words} `.startsWith(`${command} `)),
  );
  expect(missing).toEqual([]);
});

/** Prints the packages whose modules were loaded. */
const HOOK = `import { registerHooks } from "node:module";
const packages = new Set();
registerHooks({
  load(url, context, next) {
    const name = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url)?.[1];
    if (name) packages.add(name);
    return next(url, context);
  },
});
process.on("exit", () => console.log("loaded " + [...packages].sort().join(" ")));`;

test.for([
  ["--version", "commander"],
  ["clients create --help", "commander"],
  ["whoami", "@trpc/client @trpc/server commander fastest-levenshtein zod"],
  ["login", "@trpc/client @trpc/server commander fastest-levenshtein zod"],
] as const)("%s loads no more packages than %s", ([words, packages]) => {
  const hook = `data:text/javascript,${encodeURIComponent(HOOK)}`;
  const args = ["--import", hook, "--disable-warning=ExperimentalWarning", "--conditions=countersign", "src/main.ts", ...words.split(" ")];
  const env = { PATH: process.env.PATH ?? "", HOME: home, COUNTERSIGN_URL: "http://127.0.0.1:9" };
  let output = "";
  try {
    output = execFileSync(process.execPath, args, { encoding: "utf8", cwd: join(import.meta.dirname, "../.."), env, stdio: "pipe" });
  } catch (error) {
    output = String((error as { readonly stdout?: string }).stdout);
  }
  const loaded = /^loaded (.*)$/m.exec(output)?.[1]?.split(" ") ?? ["none"];
  expect(loaded.filter((name) => !packages.split(" ").includes(name))).toEqual([]);
});
