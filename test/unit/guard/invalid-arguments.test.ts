import { expect, test } from "vitest";
import * as viaExpress from "../../../guard-sdk/src/express.ts";
import * as viaFastify from "../../../guard-sdk/src/fastify.ts";
import { grpcIntrospection, localWithRevocations } from "../../../guard-sdk/src/grpc.ts";
import * as viaHono from "../../../guard-sdk/src/hono.ts";
import { createGuard, introspection } from "../../../guard-sdk/src/index.ts";
import * as viaKoa from "../../../guard-sdk/src/koa.ts";
import { protectMcp, tokenVerifier, toolScopes } from "../../../guard-sdk/src/mcp.ts";
import * as viaNode from "../../../guard-sdk/src/node.ts";
import { createPqcVerifier, requireHybrid } from "../../../guard-sdk/src/pqc.ts";

/** An entry as JavaScript calls it, with any arguments. */
type Entry = (...given: readonly unknown[]) => unknown;
const untyped = (entry: unknown) => entry as Entry; // these tests pass what the types forbid

const good = { resource: "https://notes.example/mcp", authorizationServers: ["https://as.example"] };
const access = { clientId: "notes-api", clientSecret: "only-a-test-knows-this" };
const overGrpc = { ...access, address: "https://as.example:3001" };
const guard = createGuard(good);
const handler = () => new Response();

const WITH_OPTIONS: Readonly<Record<string, readonly [entry: unknown, sound: object]>> = {
  createGuard: [createGuard, good],
  introspection: [introspection, access],
  grpcIntrospection: [grpcIntrospection, overGrpc],
  localWithRevocations: [localWithRevocations, overGrpc],
  createPqcVerifier: [createPqcVerifier, { issuer: "https://as.example" }],
};

const TAKES_OPTIONS = Object.entries(WITH_OPTIONS).map(([name, [entry, sound]]) => ({ name, entry: untyped(entry), sound }));

test.for(TAKES_OPTIONS)("$name refuses unknown options, and arguments that are not an object", ({ name, entry, sound }) => {
  expect(() => entry(sound)).not.toThrow();
  expect(() => entry({ ...sound, scope: ["notes:write"] })).toThrow(new RegExp(`^${name} has no option "scope"; it takes \\w+`));
  for (const none of [undefined, null, "options", [sound]]) expect(() => entry(none)).toThrow(`${name} takes its options as one object`);
});

test.for([
  ["createGuard", { resource: undefined }, "resource"],
  ["createGuard", { authorizationServers: "https://as.example" }, "authorizationServers"],
  ["createGuard", { authorizationServers: [new URL("https://as.example")] }, "authorizationServers"],
  ["createGuard", { scopes: "notes:write" }, "scopes"],
  ["createGuard", { scopes: null }, "scopes"],
  ["createGuard", { scopesSupported: "notes:write" }, "scopesSupported"],
  ["createGuard", { resourceName: 1 }, "resourceName"],
  ["createGuard", { verification: "introspection" }, "verification"],
  ["createGuard", { verification: introspection }, "introspection has no option"],
  ["createGuard", { verification: () => true }, "what verification returns"],
  ["createGuard", { tokenCacheSize: "1000" }, "tokenCacheSize"],
  ["createGuard", { onRefusal: {} }, "onRefusal"],
  ["createGuard", { fetch: "fetch" }, "fetch"],
  ["createGuard", { clocks: { now: Date.now } }, "clocks"],
  ["introspection", { clientId: undefined }, "clientId"],
  ["introspection", { clientSecret: undefined }, "clientSecret of introspection must be a string that is not empty, and is missing"],
  ["introspection", { clientSecret: "" }, "clientSecret"],
  ["introspection", { timeoutSeconds: "2" }, "timeoutSeconds"],
  ["grpcIntrospection", { clientSecret: undefined }, "clientSecret"],
  ["grpcIntrospection", { clientSecret: "" }, "clientSecret"],
  ["grpcIntrospection", { address: undefined }, "address"],
  ["grpcIntrospection", { ca: {} }, "ca"],
  ["localWithRevocations", { clientSecret: undefined }, "clientSecret"],
  ["localWithRevocations", { whenStale: "refused" }, 'whenStale of localWithRevocations must be "introspect" or "refuse"'],
  ["localWithRevocations", { maxAgeSeconds: "5" }, "maxAgeSeconds"],
  ["createPqcVerifier", { issuer: undefined }, "issuer"],
  ["createPqcVerifier", { introspect: "https://as.example/introspect" }, "introspect"],
] as const)("%s refuses %j and names %s", ([name, change, message]) => {
  const [entry, sound] = WITH_OPTIONS[name] ?? [];
  let thrown: unknown;
  try {
    untyped(entry)({ ...sound, ...change });
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(TypeError);
  expect(String(thrown)).toContain(message);
  expect(String(thrown)).not.toContain(access.clientSecret);
});

const ROUTES: Readonly<Record<string, Entry>> = {
  "guard.protect": (route) => untyped(guard.protect)(handler, route),
  express: (route) => untyped(viaExpress.protect)(guard, route),
  koa: (route) => untyped(viaKoa.protect)(guard, route),
  fastify: (route) => untyped(viaFastify.protect)(guard, route),
  hono: (route) => untyped(viaHono.protect)(guard, route),
  node: (route) => untyped(viaNode.protect)(guard, handler, route),
  protectMcp: (route) => untyped(protectMcp)(guard, { fetch: handler }, route),
};

test.for(Object.entries(ROUTES))("%s refuses invalid options of a route", ([, protect]) => {
  for (const sound of [undefined, {}, { scopes: [] }, { scopes: ["notes:write"] }]) expect(() => protect(sound)).not.toThrow();
  expect(() => protect({ scope: ["notes:write"] })).toThrow('protect has no option "scope"; it takes scopes');
  expect(() => protect(["notes:write"])).toThrow("protect takes its options as one object: scopes");
  for (const slip of ["notes:write", null, () => undefined]) expect(() => protect(slip)).toThrow(TypeError);
  for (const scopes of ["notes:write", [["notes:write"]], null]) expect(() => protect({ scopes })).toThrow("scopes of protect must be");
});

test.for([
  ...[viaExpress, viaKoa, viaFastify, viaHono].flatMap(({ protect, metadata }) => [protect, metadata]),
  viaNode.protect,
  protectMcp,
  tokenVerifier,
  toolScopes,
])("an adapter refuses a missing guard when it is created", (entry) => {
  for (const none of [undefined, good, createGuard])
    expect(() => untyped(entry)(none, handler)).toThrow("the guard that createGuard returned");
});

test.for([
  ["a missing Fetch handler", () => untyped(guard.protect)(), "handler"],
  ["a missing listener for node:http", () => untyped(viaNode.protect)(guard, { scopes: [] }), "listener"],
  ["a missing MCP handler", () => untyped(protectMcp)(guard), "protectMcp"],
  ["a string for the scopes of a tool", () => untyped(toolScopes)(guard, "notes:write"), "toolScopes"],
  ["a missing verifier of second signatures", () => untyped(requireHybrid)(), "first argument of requireHybrid"],
  [
    "an unknown verification",
    () => untyped(requireHybrid)(createPqcVerifier({ issuer: "https://as.example" }), "local"),
    "second argument",
  ],
] as const)("%s is refused", ([, misuse, message]) => {
  expect(misuse).toThrow(message);
  expect(misuse).toThrow(TypeError);
});
