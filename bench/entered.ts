/**
 * How much of the source one request passes through: the files and functions of src that it enters, once everything is warm.
 * Usage: npm run entered [-- --list client_credentials]
 */
import { mkdtemp, rm } from "node:fs/promises";
import { Session } from "node:inspector/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { compose } from "../src/compose.ts";
import { loadConfig } from "../src/config.ts";
import { parseProvisionFile } from "../src/management/provision.ts";
import { openDatabase } from "../src/store/orm.ts";
import { statement } from "../src/store/sql.ts";
import { freePort } from "./processes.ts";
import { clients, codeChallenge, codeVerifier, PROVISION, passwordOf, REDIRECT_URI, RESOURCE, SCOPE, users } from "./scenario.ts";

/** Runs of each request before the count, and counted. */
const [WARM, MEASURED] = [3, 7];
const SRC = pathToFileURL(join(import.meta.dirname, "../src/")).href;
/** An agent that acts for users by token exchange (RFC 8693). */
const AGENT = { clientId: "bench-agent", clientSecret: clients[0]?.clientSecret ?? "" };
const NOT_CONSENTED = clients[1]?.clientId ?? "";

// Periodic work is no part of a request, and on a busy machine would run during each.
globalThis.setInterval = (() => setTimeout(() => undefined, 0)) as unknown as typeof setInterval;

const { values } = parseArgs({ options: { list: { type: "string" } } });
const directory = await mkdtemp(join(tmpdir(), "entered-"));
const port = await freePort();
const origin = `http://localhost:${port}`;
const env = { NODE_ENV: "development", LOG_LEVEL: "warn", HOST: "127.0.0.1", PORT: String(port), DATA_DIR: directory };
const config = loadConfig({ ...env, GRPC_PORT: String(await freePort()) }, "all");
const database = await openDatabase({ dir: config.dataDir });
const agent = {
  ...AGENT,
  name: "Agent",
  tokenEndpointAuthMethod: "client_secret_basic",
  grantTypes: ["urn:ietf:params:oauth:grant-type:token-exchange"],
  scopes: SCOPE.split(" "),
  redirectUris: [],
  isAgent: true,
  maxAgentMode: "exec",
  environment: "production",
};
const provision = parseProvisionFile(JSON.stringify({ ...PROVISION, clients: [...PROVISION.clients, agent] }));
const running = await compose(config, "all", { database, provision });

const cookies = new Map<string, string>();

/** Sends a request as a browser would, with the cookies so far. @param form sent as application/x-www-form-urlencoded */
async function send(
  path: string,
  form?: Record<string, string>,
  authorization?: string,
): Promise<{ status: number; location: string; text: string }> {
  const response = await fetch(new URL(path, origin), {
    method: form === undefined ? "GET" : "POST",
    redirect: "manual",
    headers: {
      ...(authorization === undefined
        ? { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "), origin }
        : { authorization }),
    },
    ...(form !== undefined && { body: new URLSearchParams(form) }),
  });
  for (const line of response.headers.getSetCookie()) {
    const [name, value] = (line.split(";")[0] ?? "").split("=");
    if (name !== undefined) cookies.set(name, value ?? "");
  }
  const text = await response.text();
  if (response.status >= 400) throw new Error(`${path}: ${response.status} ${text.slice(0, 300)}`);
  return { status: response.status, location: response.headers.get("location") ?? "", text };
}

const basic = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) =>
  `Basic ${Buffer.from(`${clientId}:${clientSecret}`).toString("base64")}`;

const hiddenFields = (html: string): Record<string, string> =>
  Object.fromEntries(
    [...html.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(([, name, value]) => [name ?? "", value ?? ""]),
  );

const authorizePath = (clientId: string): string =>
  `/oauth/authorize?${new URLSearchParams({
    response_type: "code",
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    scope: SCOPE,
    state: "af0ifjsldkj",
    code_challenge: codeChallenge,
    code_challenge_method: "S256",
  })}&${new URLSearchParams([
    ["resource", RESOURCE],
    ["resource", AGENT.clientId],
  ])}`;

/** Authorization, the consent page and the answer to it. @returns the code */
async function authorizeWithConsent(clientId: string): Promise<string> {
  const asked = await send(authorizePath(clientId));
  if (asked.location.startsWith(REDIRECT_URI)) return new URL(asked.location).searchParams.get("code") ?? "";
  const page = await send(asked.location);
  const answered = await send(new URL(asked.location, origin).pathname, { ...hiddenFields(page.text), decision: "approve" });
  return new URL(answered.location).searchParams.get("code") ?? "";
}

const client = clients[0] as (typeof clients)[number];
const user = users[0] as (typeof users)[number];

async function signIn(): Promise<void> {
  const page = await send("/login");
  await send("/login", { ...hiddenFields(page.text), email: user.email, password: passwordOf(user.email) });
}

const clientCredentials = () => send("/oauth/token", { grant_type: "client_credentials", scope: "notes:read" }, basic(client));

async function userToken(clientId: string): Promise<string> {
  const code = await authorizeWithConsent(clientId);
  const issued = await send(
    "/oauth/token",
    { grant_type: "authorization_code", code, redirect_uri: REDIRECT_URI, code_verifier: codeVerifier },
    basic(clients.find((one) => one.clientId === clientId) ?? client),
  );
  return JSON.parse(issued.text).access_token;
}

const exchange = (subjectToken: string) =>
  send(
    "/oauth/token",
    {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: subjectToken,
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      resource: RESOURCE,
      scope: "notes:read",
    },
    basic(AGENT),
  );

await signIn();
const subjectToken = await userToken(client.clientId);
const DELETE_CONSENTS = statement("entered_delete_consents", "delete from consents where client_id = $1");
const revokeConsent = () => database.sql.query(DELETE_CONSENTS, [NOT_CONSENTED]);

const REQUESTS: Readonly<Record<string, { readonly before?: () => Promise<unknown>; readonly run: () => Promise<unknown> }>> = {
  client_credentials: { run: clientCredentials },
  token_exchange: { run: () => exchange(subjectToken) },
  authorize_with_consent: { before: revokeConsent, run: () => authorizeWithConsent(NOT_CONSENTED) },
  account_page: { run: () => send("/account") },
};

/** Functions that ran: their names by their places. */
type Entered = ReadonlyMap<string, string>;

const inspector = new Session();
inspector.connect();
await inspector.post("Profiler.enable");

/** The functions of src that ran during `run`. */
async function enteredBy(run: () => Promise<unknown>): Promise<Entered> {
  await inspector.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  await inspector.post("Profiler.takePreciseCoverage");
  await run();
  const { result } = await inspector.post("Profiler.takePreciseCoverage");
  await inspector.post("Profiler.stopPreciseCoverage");
  return new Map(
    result
      .filter(({ url }) => url.startsWith(SRC) && !url.includes("/gen/"))
      .flatMap(({ url, functions }) => functions.map(({ functionName, ranges: [range] }) => ({ url, functionName, range })))
      .filter(({ range }) => (range?.count ?? 0) > 0)
      .map(({ url, functionName, range }) => [`${url.slice(SRC.length)} ${range?.startOffset}`, functionName || "(anonymous)"]),
  );
}

const fileOf = ([place]: readonly [place: string, name: string]): string => place.slice(0, place.indexOf(" "));

console.log("request                  files functions");
for (const [name, { before, run }] of Object.entries(REQUESTS)) {
  const measured: Entered[] = [];
  for (let time = 0; time < WARM + MEASURED; time++) {
    await before?.();
    if (time < WARM) await run();
    else measured.push(await enteredBy(run));
  }
  // Other work may run during a request, such as a look for mails; what ran during each is the request alone.
  const [first = new Map<string, string>(), ...others] = measured;
  const always = [...first].filter(([place]) => others.every((other) => other.has(place)));
  const files = Map.groupBy(always, fileOf);
  console.log(`${name.padEnd(24)} ${String(files.size).padStart(5)} ${String(always.length).padStart(9)}`);
  if (values.list === name) for (const [file, found] of files) console.log(`  ${file}: ${found.map(([, called]) => called).join(", ")}`);
}
inspector.disconnect();
await running.close(0);
await database.close();
await rm(directory, { recursive: true });
