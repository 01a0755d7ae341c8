import { execFile, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { basename, delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { describe, expect, onTestFinished, vi } from "vitest";
import { serverSnippets } from "../../console/src/routes/resources/snippets.ts";
import { filled } from "../support/documents.ts";
import { aProof, proofKey } from "../support/dpop.ts";
import { basicAuth } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { PROVISIONED, testOn } from "../support/server.ts";

const RESOURCE = "https://crm.example.test/mcp";
const AGENT = {
  clientId: "summary-agent",
  clientSecret: "summary-agent-secret",
  name: "Summary agent",
  tokenEndpointAuthMethod: "client_secret_basic",
  grantTypes: ["urn:ietf:params:oauth:grant-type:token-exchange"],
  scopes: ["notes:read"],
  isAgent: true,
};
const test = testOn({ provision: { ...PROVISIONED, clients: [...PROVISIONED.clients, AGENT] } });
const root = join(import.meta.dirname, "../..");
const proto = join(root, "proto");
const contract = join(proto, "countersign/introspection");
const bin = join(root, "node_modules/.bin");
const env = { ...process.env, PATH: `${bin}${delimiter}${process.env.PATH}` };
const run = (cwd: string, file: string, ...args: string[]) => promisify(execFile)(file, args, { cwd, env, timeout: 300_000 });

const digest = createHash("sha256")
  .update(readFileSync(join(contract, "v1/introspection.proto")))
  .digest("hex")
  .slice(0, 12);

/** Build products, in the folder of a reader who followed the README of an example. */
const MADE = new Set(["gen", "notes", "venv", "countersign", "__pycache__"]);

/** A copy of an example, with its build products kept between runs until the contract changes. */
function workplace(name: string): string {
  const dir = join(tmpdir(), `countersign-${name}-${digest}`);
  mkdirSync(dir, { recursive: true });
  cpSync(join(root, "examples", name), dir, { recursive: true, filter: (from) => !MADE.has(basename(from)) });
  return dir;
}

/** Whether a step that needs a toolchain or packages from a registry succeeds. */
const possible = (step: Promise<unknown>): Promise<boolean> =>
  step.then(
    () => true,
    () => false,
  );

interface Example {
  readonly toolchain: string;
  /** @returns false where the toolchain is missing or its packages cannot be installed */
  prepare(dir: string): Promise<boolean>;
  /** Generates code from the .proto files and builds the example. @returns its command */
  build(dir: string): Promise<readonly [file: string, ...args: string[]]>;
}

const EXAMPLES: Readonly<Record<string, Example>> = {
  "go-resource-server": {
    toolchain: "Go",
    prepare: (dir) => possible(run(dir, "go", "mod", "download")),
    async build(dir) {
      if (!existsSync(join(dir, "gen"))) await run(dir, "buf", "generate", proto, "--template", "buf.gen.yaml", "--path", contract);
      // On a new machine this compiles Go's library and gRPC: without inlining and debugging information that takes three quarters of the time.
      await run(dir, "go", "build", "-gcflags=all=-l", "-ldflags=-s -w", "-o", "notes", ".");
      return [join(dir, "notes")];
    },
  },
  "python-resource-server": {
    toolchain: "Python",
    async prepare(dir) {
      const python = join(dir, "venv/bin/python");
      if (!existsSync(python) && !(await possible(run(dir, "python3", "-m", "venv", "venv")))) return false;
      return possible(run(dir, python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "-r", "requirements.txt"));
    },
    async build(dir) {
      const python = join(dir, "venv/bin/python");
      const made = ["--python_out=.", "--grpc_python_out=."];
      await run(dir, python, "-m", "grpc_tools.protoc", "-I", proto, ...made, join(contract, "v1/introspection.proto"));
      return [python, "server.py"];
    },
  },
};

const present = await Promise.all(
  Object.entries(EXAMPLES).map(async ([name, example]) => ({ name, example, ready: await example.prepare(workplace(name)) })),
);

/** The command that the console shows for the program in Go. */
function commandOf(issuer: string, address: string, port: number): string {
  const { code = "" } = serverSnippets({ issuer, resource: RESOURCE, name: "Notes", scopes: [] }).find(({ id }) => id === "go") ?? {};
  return filled(code, { "127.0.0.1:3001": address, "PORT=4100": `PORT=${port}`, "./notes": "exec ./notes" });
}

/** Starts an example that introspects at `address`. @param onLog receives its log  @returns its origin */
async function start(
  name: string,
  example: Example,
  issuer: string,
  address: string,
  onLog: (said: string) => void = () => undefined,
  command?: typeof commandOf,
  changes: Readonly<Record<string, string>> = {},
): Promise<string> {
  const cwd = workplace(name);
  const built = await example.build(cwd);
  const port = await freePort();
  const [file, ...args] = command === undefined ? built : ["sh", "-c", command(issuer, address, port)];
  const settings = { PORT: `${port}`, RESOURCE, ISSUER: issuer, GRPC_ADDRESS: address, GRPC_PLAINTEXT: "true" };
  const child = spawn(file, args, {
    cwd,
    env:
      command === undefined
        ? { ...env, ...settings, CLIENT_ID: "agent", CLIENT_SECRET: "agent-secret", ...changes }
        : { ...env, client_id: "agent", client_secret: "agent-secret" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  child.stderr.setEncoding("utf8").on("data", onLog);
  onTestFinished(() => void child.kill());
  const origin = `http://127.0.0.1:${port}`;
  while (!(await possible(fetch(origin)))) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    await setTimeout(50);
  }
  return origin;
}

const titled = (ready: boolean, { toolchain }: Example, title: string) =>
  ready ? title : `${title} (missing toolchain: ${toolchain}, or its packages cannot be installed)`;

describe.each(present)("$name", ({ name, example, ready }) => {
  const ask = async (origin: string, headers: [string, string][] = []) => {
    const response = await fetch(`${origin}/notes`, { headers });
    return [response.status, response.headers.get("www-authenticate")?.match(/error="(\w+)"/)?.[1]];
  };
  const bearer = (token: string): [string, string][] => [["authorization", `Bearer ${token}`]];

  test.skipIf(!ready)(
    titled(ready, example, "introspects over gRPC, with code generated from the .proto files"),
    async ({ server }) => {
      const origin = await start(name, example, server.url, server.grpc);
      const ada = await server.signedInUser();
      const { web } = server.clients;
      const { access_token: good } = await server.tokens(web, ada.browser, { scope: "notes:read", resource: RESOURCE });
      const { access_token: poor } = await server.tokens(web, ada.browser, { scope: "notes:write", resource: RESOURCE });
      const { access_token: foreign } = await server.tokens(web, ada.browser, { scope: "notes:read", resource: "https://b.example.test" });
      const response = await fetch(`${origin}/notes`, { headers: { authorization: `bearer ${good}` } });
      expect([response.status, await response.json()]).toEqual([200, { sub: ada.id, client_id: "web" }]);
      expect(await ask(origin)).toEqual([401, undefined]);
      expect(await ask(origin, [["authorization", "Basic eDp5"]])).toEqual([401, undefined]);
      expect(await ask(origin, bearer(poor))).toEqual([403, "insufficient_scope"]);
      expect(await ask(origin, bearer(foreign))).toEqual([401, "invalid_token"]);
      expect(await ask(origin, bearer("x".repeat(20_000)))).toEqual([401, "invalid_token"]);
      const code = await server.code(web, ada.browser, { scope: "notes:read", resource: RESOURCE });
      const proven = { authorization: basicAuth("web", "web-secret"), dpop: aProof(proofKey(), { url: `${server.url}/oauth/token` }) };
      const { body: bound } = await server.form("/oauth/token", code, proven);
      expect([bound.token_type, ...(await ask(origin, bearer(bound.access_token)))]).toEqual(["DPoP", 401, "invalid_token"]);
      for (const malformed of ["", "two words", 'quoted"', `${good}, Bearer ${good}`])
        expect([malformed, ...(await ask(origin, bearer(malformed)))]).toEqual([malformed, 400, "invalid_request"]);
      const twice = await fetch(`${origin}/notes?access_token=${good}`, { headers: { authorization: `Bearer ${good}` } });
      expect([twice.status, twice.headers.get("www-authenticate")]).toEqual([400, expect.stringContaining('error="invalid_request"')]);
      await server.revoke(web, good);
      expect(await ask(origin, bearer(good))).toEqual([401, "invalid_token"]);
    },
    300_000,
  );

  test.skipIf(!ready)(
    titled(ready, example, "accepts tokens for a resource without a path in both spellings"),
    async ({ server }) => {
      const root = "https://notes.example.test";
      const changes = { RESOURCE: root, CLIENT_ID: "web", CLIENT_SECRET: "web-secret" };
      const origin = await start(name, example, server.url, server.grpc, undefined, undefined, changes);
      const { browser } = await server.signedInUser();
      const statuses = [root, `${root}/`, `${root}/notes`].map(async (resource) => {
        const { access_token } = await server.tokens(server.clients.web, browser, { scope: "notes:read", resource });
        return (await ask(origin, bearer(access_token)))[0];
      });
      expect(await Promise.all(statuses)).toEqual([200, 200, 401]);
    },
    300_000,
  );

  test.skipIf(!ready)(
    titled(ready, example, "does not log the query of a request, which may contain a token"),
    async ({ server }) => {
      let log = "";
      const away = `127.0.0.1:${await freePort()}`;
      const origin = await start(name, example, server.url, away, (said) => {
        log += said;
      });
      const headers = { authorization: "Bearer some.good.token" };
      for (const method of ["GET", "POST"]) await fetch(`${origin}/notes?access_token=query-token`, { method, headers });
      const socket = connect(Number(new URL(origin).port), "127.0.0.1");
      socket.end("GET /notes?access_token=query-token two words HTTP/1.1\r\n\r\n").resume();
      await once(socket, "close");
      await fetch(`${origin}/notes`, { headers }); // the log line of this request is the last one
      await vi.waitFor(() => expect(log).toMatch(/introspection|gave no answer/), 10_000);
      expect(log).not.toContain("query-token");
    },
    300_000,
  );

  test.skipIf(!ready)(
    titled(ready, example, "says in one line which setting is missing or wrong"),
    async () => {
      const cwd = workplace(name);
      const [file, ...args] = await example.build(cwd);
      const good = {
        PORT: `${await freePort()}`,
        RESOURCE,
        ISSUER: "http://localhost:3000",
        GRPC_ADDRESS: "127.0.0.1:1",
        GRPC_PLAINTEXT: "true",
      };
      const settings = { ...good, CLIENT_ID: "agent", CLIENT_SECRET: "agent-secret" };
      const complaint = (wrong: Record<string, string>) =>
        run(cwd, "env", ...Object.entries({ ...settings, ...wrong }).map(([key, value]) => `${key}=${value}`), file, ...args).then(
          () => "started",
          ({ stderr }: { stderr: string }) => stderr.trimEnd().split("\n"),
        );
      for (const missing of ["PORT", "RESOURCE", "ISSUER", "GRPC_ADDRESS", "CLIENT_ID", "CLIENT_SECRET"])
        expect(await complaint({ [missing]: "" })).toEqual([
          expect.stringContaining(`${missing} is not set; README.md lists the settings`),
        ]);
      expect(await complaint({ RESOURCE: "notes" })).toEqual([expect.stringContaining("RESOURCE must be the URL by which clients call")]);
    },
    300_000,
  );

  test.skipIf(!ready)(
    titled(ready, example, "identifies the agent that acts for a user"),
    async ({ server }) => {
      const origin = await start(name, example, server.url, server.grpc);
      const { browser, id } = await server.signedInUser();
      const resource = [RESOURCE, AGENT.clientId];
      const { access_token: handed } = await server.tokens(server.clients.web, browser, { scope: "notes:read", resource });
      const { body } = await server.token(
        { clientId: AGENT.clientId, secret: AGENT.clientSecret, redirectUri: "" },
        {
          grant_type: AGENT.grantTypes[0],
          subject_token: handed,
          subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
          resource: RESOURCE,
        },
      );
      const response = await fetch(`${origin}/notes`, { headers: { authorization: `Bearer ${body.access_token}` } });
      expect(await response.json()).toEqual({ sub: id, client_id: AGENT.clientId, actor: AGENT.clientId });
    },
    300_000,
  );

  test.skipIf(!ready)(
    titled(ready, example, "names its metadata document in the challenge, and serves it there (RFC 9728 §3.1)"),
    async ({ server }) => {
      const origin = await start(name, example, server.url, server.grpc, undefined, name === "go-resource-server" ? commandOf : undefined);
      const { headers } = await fetch(origin);
      const named = /resource_metadata="([^"]*)"/.exec(headers.get("www-authenticate") ?? "")?.[1];
      expect(named).toBe("https://crm.example.test/.well-known/oauth-protected-resource/mcp");
      const document = await fetch(`${origin}/.well-known/oauth-protected-resource/mcp`);
      expect(await document.json()).toEqual({ resource: RESOURCE, authorization_servers: [server.url] });
    },
    300_000,
  );

  test.skipIf(!ready)(
    titled(ready, example, "returns 503 with Retry-After while introspection is unreachable"),
    async ({ server }) => {
      const origin = await start(name, example, server.url, `127.0.0.1:${await freePort()}`);
      const { status, headers } = await fetch(`${origin}/notes`, { headers: { authorization: "Bearer some.good.token" } });
      expect([status, headers.get("retry-after"), headers.get("www-authenticate")]).toEqual([503, "5", null]);
    },
    300_000,
  );
});
