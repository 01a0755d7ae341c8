// A guarded server on node:http and, where the runtime has one, on its own Fetch server. Each kind of verification has a path.
import { createServer } from "node:http";
import process from "node:process";
import { createGuard, introspection } from "@countersign/guard";
import { grpcIntrospection, localWithRevocations } from "@countersign/guard/grpc";
import { protect } from "@countersign/guard/node";

const { ISSUER, GRPC, RESOURCE: resource, CLIENT_ID: clientId, CLIENT_SECRET: clientSecret } = process.env;
const access = { clientId, clientSecret };
const overGrpc = { ...access, address: GRPC };

const WAYS = {
  "/local": {},
  "/introspection": { verification: introspection(access) },
  "/grpc": { verification: grpcIntrospection(overGrpc) },
  "/revocations": { verification: localWithRevocations({ ...overGrpc, whenStale: "refuse" }) },
};
const guards = Object.entries(WAYS).map(([path, way]) => {
  return [
    path,
    createGuard({
      resource,
      authorizationServers: [ISSUER],
      scopes: ["notes:read"],
      dpop: "accepted",
      dpopNonce: "a nonce secret of the tests, long enough",
      ...way,
    }),
  ];
});

/** The principal, and all that a handler can see of the request. */
const seen = (principal, ...visible) => JSON.stringify({ principal, visible: JSON.stringify(visible) });
const listeners = new Map(
  guards.map(([path, guard]) => {
    const listener = ({ headers, headersDistinct, rawHeaders }, response, principal) =>
      response.end(seen(principal, headers, headersDistinct, rawHeaders));
    return [path, protect(guard, listener)];
  }),
);
const handlers = new Map(
  guards.map(([path, guard]) => [path, guard.protect(({ headers }, principal) => new Response(seen(principal, [...headers])))]),
);

const listening = { port: 0, hostname: "127.0.0.1" };
const answer = (request) => handlers.get(new URL(request.url).pathname)(request);
function ownServer() {
  if (globalThis.Bun !== undefined) return globalThis.Bun.serve({ ...listening, fetch: answer }).port;
  if (globalThis.Deno !== undefined) return globalThis.Deno.serve({ ...listening, onListen: () => undefined }, answer).addr.port;
  return undefined;
}

const server = createServer((request, response) => listeners.get(request.url)(request, response));
server.listen(0, "127.0.0.1", () => process.stdout.write(JSON.stringify({ "node:http": server.address().port, Fetch: ownServer() })));
