import { expect, test } from "vitest";
import { grpcIntrospection, localWithRevocations } from "../../../guard-sdk/src/grpc.ts";
import { createGuard, type GuardOptions, introspection } from "../../../guard-sdk/src/index.ts";
import { createPqcVerifier } from "../../../guard-sdk/src/pqc.ts";

const good = { resource: "https://notes.example/mcp", authorizationServers: ["https://as.example"] };
const access = { clientId: "notes-api", clientSecret: "only-a-test-knows-this" };

/** The message of the TypeError that is thrown; fails when there is none. */
function thrownBy(attempt: () => unknown): string {
  try {
    attempt();
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
  throw new Error("nothing was thrown");
}

const refusalOfOptions = (change: Partial<GuardOptions>) => thrownBy(() => createGuard({ ...good, ...change }));

test.for([
  ["a resource that is not a URL", { resource: "notes" }, "resource of createGuard must be an absolute http(s) URL"],
  ["a resource of another scheme", { resource: "ftp://notes.example" }, "resource of createGuard must be an absolute http(s) URL"],
  ["no issuer", { authorizationServers: [] }, "at least one issuer"],
  [
    "an issuer that is not a URL",
    { authorizationServers: ["as.example"] },
    "authorizationServers of createGuard must be an absolute http(s) URL",
  ],
  ["an issuer over plain http", { authorizationServers: ["http://as.example"] }, "https"],
  ["an issuer on a host that only looks like loopback", { authorizationServers: ["http://127.0.0.1.example"] }, "https"],
  ["a malformed scope", { scopes: ["notes read"] }, "not a scope"],
  ["an empty scope", { scopesSupported: [""] }, "not a scope"],
  ["a nonce without dpop", { dpopNonce: true }, "go with dpop"],
  ["a public URL without dpop", { publicUrl: "https://notes.example" }, "go with dpop"],
  [
    "a secret that is too short",
    { dpop: "required", dpopNonce: "secret" },
    "dpopNonce of createGuard must be true or a secret of at least 32",
  ],
  ["a public URL with a query", { dpop: "required", publicUrl: "https://notes.example/a?b" }, "publicUrl of createGuard must be written"],
  ["a cache without bound", { tokenCacheSize: Number.POSITIVE_INFINITY }, "tokenCacheSize"],
] as const)("createGuard refuses %s", ([, change, message]) => {
  expect(() => createGuard({ ...good, ...change })).toThrow(message);
});

test.for([
  ["user info", "https://ada:lovelace@notes.example/mcp", "https://notes.example/mcp"],
  ["empty user info", "https://@notes.example/mcp", "https://notes.example/mcp"],
  ["a leading space", " https://notes.example/mcp", "https://notes.example/mcp"],
  ["a trailing space", "https://notes.example/mcp ", "https://notes.example/mcp"],
  ["a line break within", "https://notes.example/\nmcp", "https://notes.example/mcp"],
  ["dot segments", "https://notes.example/a/../mcp", "https://notes.example/mcp"],
  ["encoded dot segments", "https://notes.example/%2e/mcp", "https://notes.example/mcp"],
  ["the default port", "https://notes.example:443/mcp", "https://notes.example/mcp"],
  ["the default port of http", "http://localhost:80", "http://localhost"],
  ["capitals in the scheme", "HTTPS://notes.example/mcp", "https://notes.example/mcp"],
  ["capitals in the host", "https://Notes.example/", "https://notes.example"],
  ["a fragment", "https://notes.example/mcp#top", "https://notes.example/mcp"],
  ["an empty fragment", "https://notes.example/mcp#", "https://notes.example/mcp"],
  ["an empty query", "https://notes.example/mcp?", "https://notes.example/mcp"],
  ["backslashes", "https:\\\\notes.example\\mcp", "https://notes.example/mcp"],
  ["letters outside of ASCII", "https://notes.example/\u00fc", "https://notes.example/%C3%BC"],
] as const)("a resource or an issuer with %s is refused with the correct spelling", ([, written, proper]) => {
  const resource = refusalOfOptions({ resource: written });
  expect(resource).toBe(`resource of createGuard must be written ${JSON.stringify(proper)}`);
  const issuer = refusalOfOptions({ authorizationServers: ["https://as.example", written] });
  expect(issuer).toBe(`authorizationServers of createGuard must be written ${JSON.stringify(proper)}`);
});

test("an issuer with a query is refused with the correct spelling, and a resource may have one", () => {
  const written = "https://as.example/realm?x=1";
  expect(refusalOfOptions({ authorizationServers: [written] })).toBe(
    'authorizationServers of createGuard must be written "https://as.example/realm"',
  );
  expect(createGuard({ ...good, resource: written }).resource).toBe(written);
});

test("a password in a URL is not part of an error message", () => {
  const urls = ["https://ada:lovelace@notes example/", "ftp://ada:lovelace@notes.example", "http://ada:lovelace@notes.example"];
  for (const url of urls) {
    expect(refusalOfOptions({ resource: url })).not.toContain("lovelace");
    expect(refusalOfOptions({ authorizationServers: [url] })).not.toContain("lovelace");
    for (const entry of [grpcIntrospection, localWithRevocations])
      expect(thrownBy(() => entry({ ...access, address: url }))).toMatch(/^address (?!.*lovelace)/);
    expect(thrownBy(() => introspection({ ...access, endpoint: url }))).toMatch(/^endpoint (?!.*lovelace)/);
    expect(thrownBy(() => createPqcVerifier({ issuer: url }))).toMatch(/^issuer (?!.*lovelace)/);
  }
});

test.for([
  "https://notes.example",
  "https://notes.example/",
  "https://notes.example/mcp",
  "https://notes.example/mcp/",
  "http://[::1]:3000",
])("%s is accepted as a resource or an issuer, and kept unchanged", (url) => {
  expect(createGuard({ ...good, resource: url }).metadata.resource).toBe(url);
  expect(createGuard({ ...good, authorizationServers: [url] }).metadata.authorization_servers).toEqual([url]);
});

test.for([
  ["a path", "/etc/ca.pem"],
  ["a private key", "-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEIA==\n-----END PRIVATE KEY-----\n"],
  ["an empty certificate", "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----"],
  ["a certificate that is cut off", "-----BEGIN CERTIFICATE-----\nMIIBtjCCAVugAwIBAgITBmyf\n"],
] as const)("ca refuses %s", ([, ca]) => {
  const message = "must be PEM text with at least one certificate";
  for (const entry of [grpcIntrospection, localWithRevocations])
    expect(thrownBy(() => entry({ ...access, address: "https://as.example:3001", ca }))).toBe(`ca of ${entry.name} ${message}`);
});

test.for(["https://as.example:3001/grpc", "https://as.example:3001?x", "https://as.example:3001#x"])("address refuses %s", (address) => {
  for (const entry of [grpcIntrospection, localWithRevocations])
    expect(thrownBy(() => entry({ ...access, address }))).toBe('address must be scheme, host and port alone: "https://as.example:3001"');
});

test("the issuer of createPqcVerifier is refused with the correct spelling", () => {
  expect(thrownBy(() => createPqcVerifier({ issuer: "https://AS.example" }))).toBe(
    'issuer of createPqcVerifier must be written "https://as.example"',
  );
});

test("ca accepts certificates with text around them", () => {
  const one = "-----BEGIN CERTIFICATE-----\r\nMIIBtjCCAVugAwIBAgITBmyf\r\nAQ==\r\n-----END CERTIFICATE-----\r\n";
  expect(() => grpcIntrospection({ ...access, address: "https://as.example:3001", ca: `# first\n${one}# second\n${one}` })).not.toThrow();
});

test.for([1.9, 300.1, 0, -5, Number.NaN, Number.POSITIVE_INFINITY])("maxAgeSeconds refuses %s", (maxAgeSeconds) => {
  expect(thrownBy(() => localWithRevocations({ ...access, address: "https://as.example:3001", maxAgeSeconds }))).toBe(
    "maxAgeSeconds of localWithRevocations must be a number from 2 to 300",
  );
});

test.for([2, 2.5, 300])("maxAgeSeconds accepts %s", (maxAgeSeconds) => {
  expect(() => localWithRevocations({ ...access, address: "https://as.example:3001", maxAgeSeconds })).not.toThrow();
});

test("scopes and scopesSupported are advertised together, without repeats and offline_access", () => {
  const guard = createGuard({ ...good, scopes: ["a", "a", "offline_access"], scopesSupported: ["b", "a"] });
  expect([guard.scopes, guard.metadata.scopes_supported]).toEqual([
    ["a", "offline_access"],
    ["a", "b"],
  ]);
});

test.for(["http://localhost:3000", "http://[::1]:3000", "http://127.0.0.1:3000", "http://as.localhost", "https://as.example/realm"])(
  "%s is accepted as an issuer",
  (issuer) => {
    expect(createGuard({ ...good, authorizationServers: [issuer] }).metadata.authorization_servers).toEqual([issuer]);
  },
);
