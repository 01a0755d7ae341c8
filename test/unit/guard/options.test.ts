import { expect, test } from "vitest";
import { createGuard } from "../../../guard-sdk/src/index.ts";

const good = { resource: "https://notes.example/mcp", authorizationServers: ["https://as.example"] };

test.for([
  ["a resource that is no URL", { resource: "notes" }, "resource"],
  ["a resource with a fragment", { resource: "https://notes.example/#a" }, "resource"],
  ["a resource of another scheme", { resource: "ftp://notes.example" }, "resource"],
  ["no issuer", { authorizationServers: [] }, "at least one issuer"],
  ["an issuer that is no URL", { authorizationServers: ["as.example"] }, "absolute URL"],
  ["an issuer over plain http", { authorizationServers: ["http://as.example"] }, "https"],
  ["an issuer on a host that only looks like loopback", { authorizationServers: ["http://127.0.0.1.example"] }, "https"],
  ["an issuer with a query", { authorizationServers: ["https://as.example?x"] }, "query"],
  ["a scope that nobody can grant", { scopes: ["notes read"] }, "not a scope"],
  ["an empty scope", { scopesSupported: [""] }, "not a scope"],
  ["a cache without bound", { tokenCacheSize: Number.POSITIVE_INFINITY }, "tokenCacheSize"],
] as const)("a guard cannot be made with %s", ([, change, message]) => {
  expect(() => createGuard({ ...good, ...change })).toThrow(message);
});

test("the scopes of the guard are advertised, further ones beside them, once each", () => {
  const guard = createGuard({ ...good, scopes: ["a", "a", "offline_access"], scopesSupported: ["b", "a"] });
  expect([guard.scopes, guard.metadata.scopes_supported]).toEqual([
    ["a", "offline_access"],
    ["a", "b"],
  ]);
});

test.for(["http://localhost:3000", "http://[::1]:3000", "http://127.0.0.1:3000", "http://as.localhost", "https://as.example/realm"])(
  "an issuer may be %s",
  (issuer) => {
    expect(createGuard({ ...good, authorizationServers: [issuer] }).metadata.authorization_servers).toEqual([issuer]);
  },
);
