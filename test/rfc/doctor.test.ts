import { createServer, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Command } from "commander";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { registerDoctorCommand } from "../../src/cli/doctor/command.ts";
import { examine } from "../../src/cli/doctor/examine.ts";
import { reportText } from "../../src/cli/doctor/finding.ts";
import { boundedWeb } from "../../src/cli/doctor/web.ts";
import type { ServerAccess } from "../../src/cli/terminal.ts";
import { systemClock } from "../../src/clock.ts";
import { OPERATOR, startServer } from "../support/server.ts";
import { aTerminal } from "../support/terminal.ts";
import { vendorMetadata } from "../support/vendor-metadata.ts";

type Documents = (origin: string) => Readonly<Record<string, object | ((response: ServerResponse) => void)>>;

const vendors: Server[] = [];
afterAll(() => {
  for (const server of vendors) {
    server.closeAllConnections();
    server.close();
  }
});

/** A server of another vendor, which answers each path with a document or by a function. @returns its origin */
async function vendor(documents: Documents): Promise<string> {
  let served: ReturnType<Documents> = {};
  const answer: RequestListener = (request, response) => {
    const document = served[`${request.method} ${request.url}`] ?? served[request.url ?? ""];
    if (document === undefined) response.writeHead(404).end("<h1>Not found</h1>");
    else if (typeof document === "function") document(response);
    else response.setHeader("content-type", "application/json").end(JSON.stringify(document));
  };
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  vendors.push(server);
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  served = documents(origin);
  return origin;
}

const METADATA = "/.well-known/oauth-authorization-server";
const RESOURCE_METADATA = "/.well-known/oauth-protected-resource";

const serverDocuments: Documents = (origin) => ({
  [METADATA]: vendorMetadata(origin),
  "/keys": { keys: [{ kty: "EC", crv: "P-256", alg: "ES256", kid: "1", x: "x", y: "y" }] },
  "POST /register": (response) => response.writeHead(400).end("{}"),
});

const challenge = (parameters: string) => (response: ServerResponse) =>
  response.writeHead(401, { "www-authenticate": `Bearer ${parameters}` }).end();

/** A valid resource at `/mcp`, except for `documents`. */
const resourceOf = (issuer: string, documents: Documents = () => ({})) =>
  vendor((origin) => ({
    "/mcp": challenge(`resource_metadata="${origin}${RESOURCE_METADATA}/mcp"`),
    [`${RESOURCE_METADATA}/mcp`]: { resource: `${origin}/mcp`, authorization_servers: [issuer], scopes_supported: ["notes:read"] },
    ...documents(origin),
  }));

const WEB = boundedWeb({ milliseconds: 2_000, bytes: 64 * 1024 });
const faultsOf = async (url: string) => {
  const report = await examine(url, WEB, systemClock);
  return report.findings.filter(({ verdict }) => verdict === "fault").map(({ found }) => found);
};

const STRANGER = { serverUrl: "http://localhost:3000", email: undefined, password: undefined };
const doctor = (...args: readonly string[]) => doctorAs(STRANGER, ...args);

async function doctorAs(access: ServerAccess, ...args: readonly string[]) {
  const { terminal, said, leave } = aTerminal(access);
  onTestFinished(leave);
  const program = new Command();
  registerDoctorCommand(program, terminal, () => undefined);
  await program.parseAsync(["doctor", ...args], { from: "user" });
  return said;
}

test("recognizes an authorization server of another vendor, and reports ok for a valid one", async () => {
  const issuer = await vendor(serverDocuments);
  const report = await examine(issuer, WEB, systemClock);
  const warnings = report.findings.filter(({ verdict }) => verdict !== "ok");
  expect([report.kind, report.verdict, warnings]).toEqual(["authorization-server", "ok", []]);
  expect(reportText(report, (_verdict, mark) => mark)).toContain("ok      Cursor can connect by registering itself");
});

test("follows a resource of another vendor to its authorization server", async () => {
  const issuer = await vendor(serverDocuments);
  const report = await examine(`${await resourceOf(issuer)}/mcp`, WEB, systemClock);
  expect([report.kind, report.verdict]).toEqual(["protected-resource", "ok"]);
  expect(new Set(report.findings.map(({ about }) => about.split(" ")[0]))).toEqual(new Set(["Resource", "Authorization", "MCP"]));
});

test("--json prints one JSON document, and a fault exits with 1", async () => {
  const issuer = await vendor(() => ({ [METADATA]: { issuer: "https://other.example" } }));
  const { out, code } = await doctor(issuer, "--json");
  const report = JSON.parse(out);
  expect(report).toMatchObject({ url: issuer, kind: "authorization-server", verdict: "fault" });
  expect(report.findings).toContainEqual(expect.objectContaining({ check: "issuer", verdict: "fault" }));
  expect(code).toBe(1);
});

test("recognizes a Countersign server and suggests its settings", async () => {
  const server = await startServer({ env: { CIMD_ENABLED: "false" } });
  onTestFinished(() => server.close());
  const { out, code } = await doctor(`${server.url}/`);
  expect(out).toContain(`Countersign at ${server.url}`);
  expect(out).toContain("-> set CIMD_ENABLED=true");
  expect(out).toContain("ok      clients can register themselves");
  expect(code).toBe(0);
});

test("shows operators the findings that only the server knows, and refuses other users", async () => {
  const server = await startServer();
  onTestFinished(() => server.close());
  const operator = await doctorAs({ serverUrl: server.url, ...OPERATOR }, "--json");
  const { findings } = JSON.parse(operator.out) as { readonly findings: readonly Record<"check" | "verdict", string>[] };
  expect(findings.map(({ check }) => check)).toEqual(
    expect.arrayContaining(["issuer", "host_claude", "environment", "callers", "key_age"]),
  );
  // The PostgreSQL of tests may have given durability up, which is a fault.
  const faults = findings.filter(({ verdict }) => verdict === "fault").map(({ check }) => check);
  expect(faults.filter((check) => !["fsync", "full_page_writes"].includes(check))).toEqual([]);
  expect(operator.code).toBe(faults.length === 0 ? 0 : 1);
  const developer = { email: "dev@example.test", password: "a password of a developer" };
  const headers = { "content-type": "application/json" };
  await fetch(`${server.url}/auth/register`, { method: "POST", headers, body: JSON.stringify(developer) });
  const refused = await doctorAs({ serverUrl: server.url, ...developer });
  expect(refused.err).toContain("You are signed in as dev@example.test; an operator can give you the role");
  expect([refused.code, refused.out]).toEqual([1, ""]);
});

test("accepts an MCP server that answers GET with 405 and challenges POST", async () => {
  const issuer = await vendor(serverDocuments);
  const origin = await resourceOf(issuer, (own) => ({
    "GET /mcp": (response) => response.writeHead(405).end(),
    "POST /mcp": challenge(`resource_metadata="${own}${RESOURCE_METADATA}/mcp"`),
  }));
  expect(await faultsOf(`${origin}/mcp`)).toEqual([]);
});

test("reports a fault for an MCP server that answers 200 without a token", async () => {
  const issuer = await vendor(serverDocuments);
  const origin = await resourceOf(issuer, () => ({ "/mcp": { jsonrpc: "2.0" } }));
  expect(await faultsOf(`${origin}/mcp`)).toEqual(["a request without a token answers 200, not 401"]);
});

const metadataPath = `${RESOURCE_METADATA}/mcp`;
test.concurrent.for<[string, Documents, string]>([
  ["huge", () => ({ [metadataPath]: { padding: "x".repeat(70_000) } }), "more than 64 kB"],
  ["endless", () => ({ [metadataPath]: (response) => void endless(response) }), "more than 64 kB"],
  ["silent", () => ({ [metadataPath]: () => undefined }), "no complete answer within 2 seconds"],
  ["slow", () => ({ [metadataPath]: (response) => void response.write("{") }), "no complete answer within 2 seconds"],
  [
    "redirected",
    () => ({ [metadataPath]: (response) => response.writeHead(302, { location: "http://127.0.0.1:9/" }).end() }),
    "status 302, a redirect to http://127.0.0.1:9/",
  ],
  ["cut off", () => ({ [metadataPath]: (response) => void response.write("{", () => response.destroy()) }), "the connection breaks off"],
  ["not JSON", () => ({ [metadataPath]: (response) => response.end("<html>") }), "something other than JSON"],
  ["a JSON list", () => ({ [metadataPath]: [] }), "JSON, but not an object"],
  ["about another server", () => ({ [metadataPath]: { resource: "https://other.example/mcp" } }), "about another resource"],
  ["of wrong types", () => ({ [metadataPath]: { resource: {}, authorization_servers: "x", scopes_supported: 3 } }), "has no resource"],
  ["pointing to a file", () => ({ "/mcp": challenge('resource_metadata="file:///etc/passwd"') }), "cannot be read"],
])("reports a fault for a resource document that is %s", async ([, documents, sentence]) => {
  const origin = await resourceOf("https://id.invalid", documents);
  expect((await faultsOf(`${origin}/mcp`)).join("\n")).toContain(sentence);
});

const endless = (response: ServerResponse): void => {
  if (response.destroyed) return;
  response.write(`{"x":"${"y".repeat(16_000)}`, () => setImmediate(endless, response));
};

test.for<[string, Documents, string]>([
  ["names another issuer", () => ({ [METADATA]: { issuer: "https://other.example" } }), "its issuer is https://other.example"],
  ["has huge keys", () => ({ "/keys": { keys: "x".repeat(70_000) } }), "more than 64 kB"],
  ["redirects its keys", () => ({ "/keys": (response) => response.writeHead(301, { location: "/k" }).end() }), "a redirect to /k"],
  ["answers registration with an error", () => ({ "POST /register": (response) => response.writeHead(500).end() }), "does not work"],
  ["serves no metadata", () => ({ [METADATA]: (response) => response.writeHead(500).end() }), "serves no metadata"],
])("reports a fault for a resource's authorization server that %s", async ([, documents, sentence]) => {
  const issuer = await vendor((origin) => ({ ...serverDocuments(origin), ...documents(origin) }));
  expect((await faultsOf(`${await resourceOf(issuer)}/mcp`)).join("\n")).toContain(sentence);
});

test("reports a fault for a server that is neither an authorization server nor a protected resource", async () => {
  const page = await vendor(() => ({ "/": (response) => response.end("<html>") }));
  expect(await faultsOf(page)).toEqual([expect.stringContaining("neither an authorization server nor a protected resource")]);
  const moved = await vendor(() => ({ "/": (response) => response.writeHead(308, { location: "https://x.example/" }).end() }));
  expect(await faultsOf(moved)).toEqual([expect.stringContaining("a redirect to https://x.example/")]);
});

test("reports one fault with its cause for a host that does not resolve", async () => {
  expect(await faultsOf("https://absent.invalid")).toEqual(["nothing answers at https://absent.invalid: its name does not resolve"]);
});
