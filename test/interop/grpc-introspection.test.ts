import { once } from "node:events";
import { connect, constants } from "node:http2";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as grpc from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";
import { protoPath as healthProto } from "grpc-health-check";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { forwardedAddress } from "../../src/front/http/caller.ts";
import { type GrpcListener, startGrpcListener } from "../../src/grpc/listener.ts";
import { localTokenCore } from "../../src/grpc/local.ts";
import { runText } from "../support/database.ts";
import { basicAuth } from "../support/flow.ts";
import { freePort } from "../support/free-port.ts";
import { NGINX, nginxBefore } from "../support/nginx.ts";
import { startServer } from "../support/server.ts";
import { RS_BASIC, smallCore } from "../unit/grpc/small-core.ts";

/** What a service in another language has: the .proto files, and nothing else of this repository. */
const protoDirectory = fileURLToPath(new URL("../../proto", import.meta.url));
const reflectionProto = fileURLToPath(
  new URL("../../node_modules/@grpc/reflection/build/proto/grpc/reflection/v1/reflection.proto", import.meta.url),
);
const loadOptions = { keepCase: true, defaults: false, enums: String, includeDirs: [protoDirectory] };
const definitionOf = (file: string, service: string) => loadSync(file, loadOptions)[service] as grpc.ServiceDefinition;
const introspection = definitionOf("countersign/introspection/v1/introspection.proto", "countersign.introspection.v1.IntrospectionService");
const tokenCore = definitionOf("countersign/token/v1/token.proto", "countersign.token.v1.TokenCoreService");
const health = definitionOf(healthProto, "grpc.health.v1.Health");
const reflection = definitionOf(reflectionProto, "grpc.reflection.v1.ServerReflection");

type ServiceClient = InstanceType<ReturnType<typeof grpc.makeGenericClientConstructor>>;
type Json = Record<string, unknown>;
const clientOf = (definition: grpc.ServiceDefinition, port: number, options?: grpc.ClientOptions) =>
  new (grpc.makeGenericClientConstructor(definition, ""))(`127.0.0.1:${port}`, grpc.credentials.createInsecure(), options);

function call(client: ServiceClient, method: string, request: Json, authorization?: string, options: grpc.CallOptions = {}): Promise<Json> {
  const metadata = new grpc.Metadata();
  if (authorization !== undefined) metadata.set("authorization", authorization);
  return new Promise((resolve, reject) =>
    client[method]!(request, metadata, options, (error: grpc.ServiceError | null, answer: Json) =>
      error ? reject(error) : resolve(answer),
    ),
  );
}
/** As `call`, with X-Forwarded-For. */
function callFor(client: ServiceClient, forwarded: readonly string[], authorization = RS_BASIC): Promise<Json> {
  const metadata = new grpc.Metadata();
  metadata.set("authorization", authorization);
  for (const each of forwarded) metadata.add("x-forwarded-for", each);
  return new Promise((resolve, reject) =>
    client.Introspect!({ token: "live-a" }, metadata, {}, (error: grpc.ServiceError | null, answer: Json) =>
      error ? reject(error) : resolve(answer),
    ),
  );
}
const statusOf = (answer: Promise<unknown>): Promise<unknown> =>
  answer.then(
    () => grpc.status.OK,
    (error: grpc.ServiceError) => error.code,
  );

describe.each(["all", "core"] as const)("the gRPC listener in the role %s, called by a client generated from the .proto files", (role) => {
  const { implementation, seen } = smallCore();
  const faults: unknown[] = [];
  let listener: GrpcListener;
  let client: ServiceClient;
  beforeAll(async () => {
    listener = await startGrpcListener({
      host: "127.0.0.1",
      port: 0,
      core: localTokenCore(implementation),
      ...(role === "core" && { fronts: {} }),
      onFault: (fault) => faults.push(fault),
    });
    await listener.load();
    client = clientOf(introspection, listener.port);
  });
  afterAll(async () => {
    client.close();
    await listener.close(1);
    expect(faults).toEqual([]);
  });

  test("an active token has the members of RFC 7662 §2.2 and its chain of actors", async () => {
    expect(await call(client, "Introspect", { token: "live-alice" }, RS_BASIC)).toMatchObject({
      active: true,
      sub: "alice",
      client_id: "c",
      scope: "a b",
      aud: ["https://rs.example.test"],
      exp: 2_000_000_000,
      token_type: "Bearer",
      act: { sub: "agent", act: { sub: "first" } },
    });
    expect(seen).toContain("127.0.0.1");
  });

  test("any other token is exactly {active: false}", async () => {
    expect(await call(client, "Introspect", { token: "rubbish" }, RS_BASIC)).toEqual({ active: false });
  });

  test("a batch is answered in the order of its tokens", async () => {
    const requests = Array.from({ length: 100 }, (_, i) => ({ token: i % 2 ? `live-${i}` : `dead-${i}` }));
    const { responses } = (await call(client, "IntrospectBatch", { requests }, RS_BASIC)) as { responses: Json[] };
    expect(responses.map((state) => state.sub)).toEqual(requests.map((_, i) => (i % 2 ? String(i) : undefined)));
  });

  test.for([
    ["without a credential", undefined],
    ["with a bearer token", "Bearer live-alice"],
    ["with a wrong secret", `Basic ${btoa("rs:wrong")}`],
    ["with invalid Base64 for Basic", "Basic %%%"],
    ["with Basic without a colon", `Basic ${btoa("rs")}`],
    ["with Basic of invalid UTF-8", `Basic ${Buffer.from([0x72, 0x3a, 0xff]).toString("base64")}`],
    ["with two credentials", `${RS_BASIC}, ${RS_BASIC}`],
  ] as const)("a caller %s is refused with UNAUTHENTICATED", async ([, authorization]) => {
    const error = await call(client, "Introspect", { token: "live-alice" }, authorization).catch((thrown: grpc.ServiceError) => thrown);
    expect((error as grpc.ServiceError).code).toBe(grpc.status.UNAUTHENTICATED);
    expect((error as grpc.ServiceError).metadata.get("grpc-status-details-bin").toString()).toContain("invalid_client");
  });

  test.for([
    ["Introspect", {}],
    ["IntrospectBatch", { requests: [{ token: "live-a" }, {}] }],
    ["IntrospectBatch", { requests: [] }],
    ["IntrospectBatch", {}],
    ["IntrospectBatch", { requests: Array.from({ length: 101 }, () => ({ token: "live-a" })) }],
  ] as const)("%s without tokens, or with too many, is refused with INVALID_ARGUMENT", async ([method, request]) => {
    expect(await statusOf(call(client, method, request, RS_BASIC))).toBe(grpc.status.INVALID_ARGUMENT);
  });

  test("accepts a request of 64 KiB and a batch of 1 MiB, and refuses larger ones with RESOURCE_EXHAUSTED", async () => {
    const limit = 64 * 1024 - 4; // tag and length
    expect(await statusOf(call(client, "Introspect", { token: "x".repeat(limit) }, RS_BASIC))).toBe(grpc.status.OK);
    expect(await statusOf(call(client, "Introspect", { token: "x".repeat(limit + 1) }, RS_BASIC))).toBe(grpc.status.RESOURCE_EXHAUSTED);
    const requests = Array.from({ length: 16 }, () => ({ token: "x".repeat(65_000) }));
    expect(await statusOf(call(client, "IntrospectBatch", { requests }, RS_BASIC))).toBe(grpc.status.OK);
    expect(await statusOf(call(client, "IntrospectBatch", { requests: [...requests, { token: "x".repeat(9_000) }] }, RS_BASIC))).toBe(
      grpc.status.RESOURCE_EXHAUSTED,
    );
    expect(await statusOf(call(client, "Introspect", { token: "x".repeat(5_000_000) }, RS_BASIC))).toBe(grpc.status.RESOURCE_EXHAUSTED);
    expect(await call(client, "Introspect", { token: "live-after" }, RS_BASIC)).toMatchObject({ sub: "after" });
  });

  test("compressed messages are refused with UNIMPLEMENTED", async () => {
    const zipping = clientOf(introspection, listener.port, { "grpc.default_compression_algorithm": grpc.compressionAlgorithms.gzip });
    expect(await statusOf(call(zipping, "Introspect", { token: "live-a" }, RS_BASIC))).toBe(grpc.status.UNIMPLEMENTED);
    zipping.close();
  });

  test("a call whose deadline is too near is not started, and a call that takes too long is aborted", async () => {
    seen.length = 0;
    expect(await statusOf(call(client, "Introspect", { token: "live-a" }, RS_BASIC, { deadline: Date.now() + 60 }))).not.toBe(
      grpc.status.OK,
    );
    expect(seen).toEqual([]);
    expect(await statusOf(call(client, "Introspect", { token: "slow-120000" }, RS_BASIC))).toBe(grpc.status.UNAVAILABLE);
  });

  test("health reports the server and its services, and sends changes to watchers", async () => {
    const healthClient = clientOf(health, listener.port);
    expect(await call(healthClient, "Check", {})).toEqual({ status: "NOT_SERVING" });
    listener.setServing(true);
    expect(await call(healthClient, "Check", {})).toEqual({ status: "SERVING" });
    expect(await call(healthClient, "Check", { service: "countersign.introspection.v1.IntrospectionService" })).toEqual({
      status: "SERVING",
    });
    expect(await statusOf(call(healthClient, "Check", { service: "unknown.Service" }))).toBe(grpc.status.NOT_FOUND);
    const watch = healthClient.Watch!({}) as grpc.ClientReadableStream<Json>;
    const statuses: unknown[] = [];
    watch.on("error", () => undefined);
    for await (const { status } of watch) {
      statuses.push(status);
      if (statuses.length === 2) break;
      listener.setServing(false);
    }
    expect(statuses).toEqual(["SERVING", "NOT_SERVING"]);
    healthClient.close();
  });

  test("an open health watch does not delay the shutdown of the listener", async () => {
    const watched = await startGrpcListener({ host: "127.0.0.1", port: 0, core: localTokenCore(implementation), onFault: () => undefined });
    await watched.load();
    const watcher = clientOf(health, watched.port);
    const watch = watcher.Watch!({}) as grpc.ClientReadableStream<Json>;
    await once(watch, "data");
    const ended = once(watch.resume(), "end");
    await watched.close(3_600);
    await ended;
    watcher.close();
  });

  test("reflection lists the services of the role with their descriptors", async () => {
    const reflectionClient = clientOf(reflection, listener.port);
    const stream = reflectionClient.ServerReflectionInfo!() as grpc.ClientDuplexStream<Json, Json>;
    stream.write({ list_services: "*" });
    stream.write({ file_containing_symbol: "countersign.introspection.v1.IntrospectionService" });
    stream.write({ file_containing_symbol: "grpc.health.v1.Health" });
    stream.end();
    const answers: Json[] = [];
    for await (const answer of stream) answers.push(answer);
    const services = (answers[0]!.list_services_response as { service: { name: string }[] }).service.map(({ name }) => name);
    expect(services).toEqual(
      [introspection, ...(role === "core" ? [tokenCore] : []), health].map(
        (definition) => Object.values(definition)[0]!.path.split("/")[1],
      ),
    );
    expect(
      (answers[1]!.file_descriptor_response as { file_descriptor_proto: Buffer[] }).file_descriptor_proto[0]!.toString("latin1"),
    ).toContain("IntrospectBatch");
    expect(
      (answers[2]!.file_descriptor_response as { file_descriptor_proto: Buffer[] }).file_descriptor_proto[0]!.toString("latin1"),
    ).toContain("HealthCheckRequest");
    reflectionClient.close();
  });

  test("TokenCoreService refuses a resource server's credentials", async () => {
    const otherClient = clientOf(tokenCore, listener.port);
    const refusal = role === "core" ? grpc.status.UNAUTHENTICATED : grpc.status.UNIMPLEMENTED;
    for (const authorization of [RS_BASIC, "Bearer x"]) {
      expect([authorization, await statusOf(call(otherClient, "PublicKeys", {}, authorization))]).toEqual([authorization, refusal]);
    }
    // On loopback a core without a secret accepts calls without a credential; in one process the service does not exist.
    expect(await statusOf(call(otherClient, "PublicKeys", {}))).toBe(role === "core" ? grpc.status.OK : grpc.status.UNIMPLEMENTED);
    otherClient.close();
  });

  test.for([
    ["invalid protobuf", Buffer.from([0, 0, 0, 0, 3, 0xff, 0xff, 0xff]), grpc.status.INVALID_ARGUMENT],
    ["a length without a message", Buffer.from([0, 0, 0, 1, 0, 1]), grpc.status.UNIMPLEMENTED],
    ["a length of 4 GiB", Buffer.from([0, 0xff, 0xff, 0xff, 0xff, 1]), grpc.status.RESOURCE_EXHAUSTED],
    ["an empty body", Buffer.alloc(0), grpc.status.UNIMPLEMENTED],
    ["a message flagged as compressed", Buffer.concat([Buffer.from([1, 0, 0, 0, 23]), gzipSync("").subarray(0, 20)]), undefined],
  ] as const)("%s in a frame is refused, and the next call succeeds", async ([, bytes, expected]) => {
    const session = connect(`http://127.0.0.1:${listener.port}`);
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: "POST",
      [constants.HTTP2_HEADER_PATH]: "/countersign.introspection.v1.IntrospectionService/Introspect",
      "content-type": "application/grpc",
      te: "trailers",
      authorization: RS_BASIC,
    });
    const status = new Promise<unknown>((resolve) => {
      stream.on("response", (headers) => headers["grpc-status"] !== undefined && resolve(Number(headers["grpc-status"])));
      stream.on("trailers", (headers) => resolve(Number(headers["grpc-status"])));
      stream.on("close", () => resolve("closed"));
    });
    stream.resume();
    stream.end(bytes);
    const got = await status;
    if (expected !== undefined) expect(got).toBe(expected);
    else expect(got).not.toBe(grpc.status.OK);
    session.destroy();
    expect(await call(client, "Introspect", { token: "live-still" }, RS_BASIC)).toMatchObject({ sub: "still" });
  });

  test("an authorization header that is invalid metadata is not logged", async () => {
    const logged = [vi.spyOn(console, "error"), vi.spyOn(console, "log"), vi.spyOn(console, "warn")];
    const session = connect(`http://127.0.0.1:${listener.port}`);
    const stream = session.request({
      [constants.HTTP2_HEADER_METHOD]: "POST",
      [constants.HTTP2_HEADER_PATH]: "/countersign.introspection.v1.IntrospectionService/Introspect",
      "content-type": "application/grpc",
      authorization: "Basic s\u00e9cret-canary",
    });
    stream.resume();
    stream.end(Buffer.from([0, 0, 0, 0, 3, 0x0a, 1, 0x78]));
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    session.destroy();
    expect(Number(headers["grpc-status"])).toBe(grpc.status.UNAUTHENTICATED);
    expect(JSON.stringify(logged.map((spy) => spy.mock.calls))).not.toContain("canary");
    for (const spy of logged) spy.mockRestore();
  });

  test("an HTTP/1.1 request is cut off, and the next call succeeds", async () => {
    const answer = await fetch(`http://127.0.0.1:${listener.port}/`).catch(() => "cut");
    expect(answer).toBe("cut");
    expect(await call(client, "Introspect", { token: "live-still" }, RS_BASIC)).toMatchObject({ sub: "still" });
  });
});

describe("the address of a caller behind a proxy", () => {
  const { implementation, seen } = smallCore();
  let proxied: GrpcListener;
  beforeAll(async () => {
    const core = localTokenCore(implementation);
    proxied = await startGrpcListener({ host: "127.0.0.1", port: 0, core, addressOf: forwardedAddress, onFault: () => undefined });
  });
  afterAll(() => proxied.close(1));
  const seenOf = async (port: number, forwarded: readonly string[]) => {
    const client = clientOf(introspection, port);
    await callFor(client, forwarded).finally(() => client.close());
    return seen.at(-1);
  };

  test("is the one that the proxy writes, where it is trusted", async () => {
    expect(await seenOf(proxied.port, ["203.0.113.9"])).toBe("203.0.113.9");
    expect(await seenOf(proxied.port, ["192.0.2.8", "203.0.113.9, 203.0.113.10"])).toBe("203.0.113.10");
    expect(await seenOf(proxied.port, [])).toBe("127.0.0.1");
    const core = localTokenCore(implementation);
    const direct = await startGrpcListener({ host: "127.0.0.1", port: 0, core, onFault: () => undefined });
    expect(await seenOf(direct.port, ["203.0.113.9"])).toBe("127.0.0.1");
    await direct.close(1);
  });

  test("is what failed authentications are counted by with GRPC_TRUST_PROXY", async () => {
    const server = await startServer({ env: { GRPC_TRUST_PROXY: "true" } });
    onTestFinished(() => server.close());
    const client = clientOf(introspection, Number(server.grpc.split(":")[1]));
    onTestFinished(() => client.close());
    const wrong = basicAuth(server.clients.other.clientId, "wrong");
    const refused = await Promise.allSettled(Array.from({ length: 100 }, () => callFor(client, ["203.0.113.9"], wrong)));
    expect(refused.map(({ status }) => status)).not.toContain("fulfilled");
    const addresses = () =>
      runText(server.database.sql, "select address::text as address from audit_records where event = 'client.refused'");
    await expect.poll(addresses).toEqual([{ address: "203.0.113.9" }]);
  });

  test.runIf(NGINX)("is not one that the caller chose, behind deploy/proxy.conf", async () => {
    const { grpcPort, close } = await nginxBefore(
      ["127.0.0.1:1", "127.0.0.1:1"],
      Array(2).fill(`127.0.0.1:${proxied.port}`),
      await freePort(),
    );
    onTestFinished(close);
    expect(await seenOf(grpcPort, ["203.0.113.9"])).toBe("127.0.0.1");
  });
});
