import { EventEmitter } from "node:events";
import { Metadata, type Server } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import type { RevocationFeed } from "../../../src/grpc/revocation-feed.ts";
import { serveRevocations } from "../../../src/grpc/revocation-streams.ts";
import { admission, callRunner } from "../../../src/grpc/served-call.ts";

const LIMIT_OF_ONE_CLIENT = 100;

/** A call of one client, as grpc-js hands it over. */
function aCall() {
  const metadata = new Metadata();
  metadata.set("authorization", `Basic ${Buffer.from("api:secret").toString("base64")}`);
  const call = Object.assign(new EventEmitter(), {
    ...{ request: { message: { cursor: "" } }, metadata, cancelled: false, writableLength: 0 },
    ...{ getDeadline: () => Number.POSITIVE_INFINITY, getPeer: () => "192.0.2.1:1" },
    ...{ write: () => call.emit("written"), end: () => call.emit("ended") },
  });
  const outcome = new Promise<string>((resolve) => {
    call.once("written", () => resolve("served"));
    call.once("ended", () => resolve("ended"));
    call.once("error", ({ details }: { details: string }) => resolve(details));
  });
  return { call, outcome };
}

/** Streams whose calls are authenticated, and whose feed begins, when the test says so. */
function someStreams() {
  const [authenticated, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const watching = { now: 0 };
  const feed: RevocationFeed = {
    async watch() {
      watching.now += 1;
      await begun.promise;
      return { beginning: { marks: [], cursor: "1", whole: true }, stop: () => void watching.now-- };
    },
  };
  let handle: (call: unknown) => void = () => undefined;
  const server = {
    addService(_: unknown, { watchRevocations }: { readonly watchRevocations: typeof handle }) {
      handle = watchRevocations;
    },
  };
  const core = { introspect: () => authenticated.promise.then(() => ({ results: [] })) };
  const streams = serveRevocations(
    server as unknown as Server,
    core as never,
    callRunner(admission(1_000), () => undefined),
    feed,
    (peer) => peer,
  );
  return { open: (call: unknown) => handle(call), close: streams.close, authenticated, begun, watching };
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

test("callers who leave while they are authenticated leave room for others of their client", async () => {
  const { open, authenticated, begun, watching } = someStreams();
  begun.resolve();
  const calls = Array.from({ length: LIMIT_OF_ONE_CLIENT }, aCall);
  for (const { call } of calls) open(call);
  for (const { call } of calls) call.emit("cancelled");
  await settled();
  authenticated.resolve();
  await settled();
  expect(watching.now).toBe(0);
  const { call, outcome } = aCall();
  open(call);
  expect(await outcome).toBe("served");
});

test("a caller who leaves while the feed begins watches no longer", async () => {
  const { open, authenticated, begun, watching } = someStreams();
  authenticated.resolve();
  const { call } = aCall();
  open(call);
  await settled();
  expect(watching.now).toBe(1);
  call.emit("cancelled");
  begun.resolve();
  await settled();
  expect(watching.now).toBe(0);
});

test("a stream whose feed begins while the server stops is ended", async () => {
  const { open, close, authenticated, begun, watching } = someStreams();
  authenticated.resolve();
  const { call, outcome } = aCall();
  open(call);
  await settled();
  close();
  begun.resolve();
  expect([await outcome, watching.now]).toEqual(["ended", 0]);
});
