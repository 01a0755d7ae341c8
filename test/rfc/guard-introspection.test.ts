import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { createGuard, introspection } from "@countersign/guard";
import { grpcIntrospection } from "@countersign/guard/grpc";
import { describe, expect, onTestFinished } from "vitest";
import { statement } from "../../src/store/sql.ts";
import { aBalancer } from "../support/balancer.ts";
import { aProof, proofKey, thumbprintOf } from "../support/dpop.ts";
import { basicAuth } from "../support/flow.ts";
import { AS_RESOURCE_SERVER, aGuardClock, guardFor, INTROSPECTION, KINDS, RESOURCE } from "../support/guard-modes.ts";
import { refusalOf } from "../support/guard-refusal.ts";
import { SERVER_KINDS, serve } from "../support/guard-servers.ts";
import { startServer, type TestServer, test } from "../support/server.ts";

const enable = statement("test_enable", "update clients set enabled = $2::boolean where client_id = $1");

async function aToken(server: TestServer, resource = RESOURCE) {
  const ada = await server.signedInUser();
  const { access_token } = await server.tokens(server.clients.web, ada.browser, { scope: "notes:read", resource });
  return { ada, token: access_token as string };
}

/** A guard that introspects in the given way, and its clock. */
function aGuard(server: TestServer, kind: string, access = AS_RESOURCE_SERVER) {
  const { clocks, turn } = aGuardClock();
  const guard = guardFor(server, { verification: INTROSPECTION[kind]!(server, access), clocks });
  onTestFinished(() => guard.close());
  return { guard, turn, now: clocks.now };
}

describe.for(KINDS)("a guard that introspects %s", (kind) => {
  test("accepts a valid token, with the same principal as a guard that verifies locally", async ({ server }) => {
    const { ada, token } = await aToken(server);
    const { guard } = aGuard(server, kind);
    const principal = { sub: ada.id, clientId: "web", scopes: ["notes:read"], actors: [], audience: [RESOURCE] };
    await expect.poll(() => guard.verifyToken(token)).toMatchObject(principal); // the first of a server may take longer than a guard waits
    expect(await guard.verifyToken(token)).toEqual(await guardFor(server, {}).verifyToken(token));
  });

  test("RFC 9449 §6.2: accepts a bound token with a proof, and refuses it as a bearer token or with another key", async ({ server }) => {
    const key = proofKey();
    const proof = aProof(key, { url: `${server.url}/oauth/token` });
    const fields = { grant_type: "client_credentials", scope: "crm:read", resource: RESOURCE };
    const { body } = await server.form("/oauth/token", fields, { authorization: basicAuth("agent", "agent-secret"), dpop: proof });
    const token: string = body.access_token;
    const guard = guardFor(server, { verification: INTROSPECTION[kind]!(server, AS_RESOURCE_SERVER), dpop: "accepted" });
    onTestFinished(() => guard.close());
    const request = (scheme: string, by = key) => {
      const dpop = aProof(by, { url: RESOURCE, method: "GET", accessToken: token });
      return guard.verifyRequest(new Request(RESOURCE, { headers: { authorization: `${scheme} ${token}`, dpop } }));
    };
    expect(await request("DPoP")).toMatchObject({ clientId: "agent", jkt: thumbprintOf(key) });
    expect(await refusalOf(() => request("Bearer"))).toEqual(["invalid_token", "token_bound"]);
    expect(await refusalOf(() => request("DPoP", proofKey()))).toEqual(["invalid_token", "token_bound_to_another_key"]);
  });

  test("refuses malformed and overlong tokens, and tokens for another resource", async ({ server }) => {
    const { guard } = aGuard(server, kind);
    const { token } = await aToken(server, "https://elsewhere.example.test/mcp");
    for (const text of ["rubbish", token])
      expect(await refusalOf(() => guard.verifyToken(text))).toEqual(["invalid_token", "token_inactive"]);
    expect(await refusalOf(() => guard.verifyToken("x".repeat(20_000)))).toEqual(["invalid_token", "token_too_long"]);
  });

  test("refuses a token of its own client for another resource", async ({ server }) => {
    const { body } = await server.token(server.clients.agent, {
      grant_type: "client_credentials",
      scope: "crm:read",
      resource: "https://mail.example.test/mcp",
    });
    const { guard } = aGuard(server, kind);
    expect(await refusalOf(() => guard.verifyToken(body.access_token))).toEqual(["invalid_token", "audience_foreign"]);
  });

  test("caches an active response for ten seconds, then refuses the revoked token", async ({ server }) => {
    const { guard, turn } = aGuard(server, kind);
    const { token } = await aToken(server);
    const principal = await guard.verifyToken(token);
    await server.revoke(server.clients.web, token);
    turn(9);
    expect(await guard.verifyToken(token)).toBe(principal);
    turn(1);
    expect(await refusalOf(() => guard.verifyToken(token))).toEqual(["invalid_token", "token_inactive"]);
  });

  test("does not use a cached response after the token has expired", async ({ server }) => {
    const { guard, turn, now } = aGuard(server, kind);
    const { token } = await aToken(server);
    const { expiresAt } = await guard.verifyToken(token);
    turn(expiresAt - now() - 5);
    await guard.verifyToken(token); // introspected again; that response alone would be cached for ten seconds
    turn(4);
    await guard.verifyToken(token);
    turn(1);
    expect(await refusalOf(() => guard.verifyToken(token))).toEqual(["invalid_token", "token_expired"]);
  });

  test("does not cache an inactive response", async ({ server }) => {
    const { guard } = aGuard(server, kind);
    const { token } = await aToken(server);
    await server.database.sql.query(enable, ["web", false]);
    expect(await refusalOf(() => guard.verifyToken(token))).toEqual(["invalid_token", "token_inactive"]);
    await server.database.sql.query(enable, ["web", true]);
    expect((await guard.verifyToken(token)).clientId).toBe("web");
  });

  test("returns temporarily_unavailable if its own credential is wrong", async ({ server }) => {
    const { guard } = aGuard(server, kind, { clientId: "agent", clientSecret: "wrong" });
    const { token } = await aToken(server);
    expect(await refusalOf(() => guard.verifyToken(token))).toEqual(["temporarily_unavailable", "introspection_unavailable"]);
  });

  test("returns temporarily_unavailable after timeoutSeconds without a response", async () => {
    const silent = createServer(() => undefined).listen(0, "127.0.0.1");
    await once(silent, "listening");
    onTestFinished(() => void silent.close());
    const { port } = silent.address() as { port: number };
    const access = { ...AS_RESOURCE_SERVER, timeoutSeconds: 0.1 };
    const server = { url: `http://127.0.0.1:${port}`, grpc: `127.0.0.1:${port}` };
    const guard = guardFor(server, { verification: INTROSPECTION[kind]!(server, access) });
    onTestFinished(() => guard.close());
    expect(await refusalOf(() => guard.verifyToken("some.token"))).toEqual(["temporarily_unavailable", "introspection_unavailable"]);
  });

  test("returns 503 with Retry-After while the server is down, not 401 or 200", async () => {
    const server = await startServer();
    const { token } = await aToken(server);
    const { guard, turn } = aGuard(server, kind);
    await expect.poll(() => guard.verifyToken(token)).toBeDefined(); // as above
    await server.close();
    turn(10);
    for (const each of SERVER_KINDS) {
      const resource = await serve(each, guard);
      onTestFinished(resource.close);
      const response = await fetch(`${resource.origin}/mcp`, { headers: { authorization: `Bearer ${token}` } });
      expect([each, response.status, response.headers.get("retry-after"), response.headers.get("www-authenticate")]).toEqual([
        each,
        503,
        "5",
        null,
      ]);
    }
  });
});

test("a guard over gRPC gives up a connection whose other end is lost", async ({ server }) => {
  const port = Number(server.grpc.split(":")[1]);
  const [lost, kept] = [await aBalancer([port]), await aBalancer([port])];
  const name = await aBalancer([lost.port, kept.port]);
  onTestFinished(() => [name, lost, kept].forEach((each) => void each.close()));
  const verification = grpcIntrospection({ ...AS_RESOURCE_SERVER, address: `http://127.0.0.1:${name.port}`, timeoutSeconds: 0.3 });
  const guard = guardFor(server, { verification, tokenCacheSize: 0 });
  onTestFinished(() => guard.close());
  const { ada, token } = await aToken(server);
  await expect.poll(() => guard.verifyToken(token)).toBeDefined();
  name.stop(lost.port);
  await expect.poll(() => guard.verifyToken(token)).toMatchObject({ sub: ada.id });
});

/** A proxy to a gRPC server. Its first connection breaks when the server begins to answer a call. */
async function cutAtFirstAnswer(port: number) {
  let connections = 0;
  const proxy = createServer((near) => {
    const isFirst = connections++ === 0;
    const far = connect(port, "127.0.0.1");
    near.on("error", () => far.destroy()).on("close", () => far.destroy());
    far.on("error", () => near.destroy()).on("close", () => near.destroy());
    near.on("data", (bytes) => far.write(bytes));
    far.on("data", (bytes) => {
      if (isFirst && framesIn(bytes).includes(HEADERS)) near.destroy();
      else near.write(bytes);
    });
  });
  await once(proxy.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void proxy.close());
  return { port: (proxy.address() as AddressInfo).port, connections: () => connections };
}

/** Types of the frames that begin in a piece of a connection that begins with one (RFC 9113 §4.1). */
function framesIn(bytes: Buffer): readonly (number | undefined)[] {
  const types = [];
  for (let at = 0; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) types.push(bytes[at + 3]);
  return types;
}
const HEADERS = 1;

test("a guard over gRPC makes an introspection once more that the server left unanswered as it ended", async ({ server }) => {
  const { ada, token } = await aToken(server);
  // Each attempt has a guard and a connection that breaks: a second question of one guard would succeed anyway.
  const attempt = async () => {
    const proxy = await cutAtFirstAnswer(Number(server.grpc.split(":")[1]));
    const verification = grpcIntrospection({ ...AS_RESOURCE_SERVER, address: `http://127.0.0.1:${proxy.port}` });
    const guard = guardFor(server, { verification });
    onTestFinished(() => guard.close());
    const { sub } = await guard.verifyToken(token);
    return [sub, proxy.connections()];
  };
  await expect.poll(attempt).toEqual([ada.id, 2]);
});

test("invalid options throw a TypeError when the guard is created", () => {
  const access = { clientId: "rs", clientSecret: "s" };
  const two = ["https://one.example", "https://two.example"];
  for (const verification of [introspection(access), grpcIntrospection({ ...access, address: "https://one.example:3001" })]) {
    expect(() => createGuard({ resource: RESOURCE, authorizationServers: two, verification })).toThrow(TypeError);
  }
  expect(() => introspection({ ...access, clientSecret: "" })).toThrow(TypeError);
  expect(() => introspection({ ...access, endpoint: "http://one.example/introspect" })).toThrow(TypeError);
  expect(() => introspection({ ...access, timeoutSeconds: 0 })).toThrow(TypeError);
  expect(() => grpcIntrospection({ ...access, address: "one.example:3001" })).toThrow(TypeError);
});
