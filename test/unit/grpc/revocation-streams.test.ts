import { EventEmitter } from "node:events";
import { Metadata, type Server } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import type { RevocationEvent } from "../../../src/core/revocation-events.ts";
import type { RevocationFeed, RevocationPage } from "../../../src/grpc/revocation-feed.ts";
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
  const did: string[] = [];
  for (const event of ["written", "ended"]) call.on(event, () => did.push(event));
  const outcome = new Promise<string>((resolve) => {
    call.once("written", () => resolve("served"));
    call.once("ended", () => resolve("ended"));
    call.once("error", ({ details }: { details: string }) => resolve(details));
  });
  return { call, outcome, did };
}

/** Streams whose calls are authenticated, and whose feed begins, when the test says so. */
function someStreams() {
  const [authenticated, begun] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const watching = { now: 0 };
  const listeners = new Set<(page: RevocationPage) => void>();
  const earlier: RevocationEvent[] = [];
  const feed: RevocationFeed = {
    async watch(_, listener) {
      watching.now += 1;
      listeners.add(listener);
      await begun.promise;
      const stop = () => {
        if (listeners.delete(listener)) watching.now -= 1;
      };
      return { beginning: { marks: earlier, cursor: "1", whole: true }, stop };
    },
  };
  const report = (...marks: RevocationEvent[]) => {
    for (const listener of listeners) listener({ marks, cursor: "2" });
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
  return { open: (call: unknown) => handle(call), close: streams.close, authenticated, begun, watching, earlier, report };
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

const anEvent = (sequence: number, members: Partial<RevocationEvent> = {}): RevocationEvent => ({
  ...{ sequence: String(sequence), kind: "client", key: "api", lifted: false, revokedAt: 1_000, expiresAt: 2_000, ...members },
});

test("a client that is disabled or deleted gets no later event: its stream ends", async () => {
  const { open, authenticated, begun, watching, report } = someStreams();
  authenticated.resolve();
  begun.resolve();
  const { call, did } = aCall();
  open(call);
  await settled();
  report(anEvent(1, { kind: "user", key: "api" }), anEvent(2, { key: "other" }), anEvent(3), anEvent(4, { lifted: true }));
  expect([did, watching.now]).toEqual([["written", "written"], 1]);
  report(anEvent(5), anEvent(6, { key: "other", lifted: true }));
  report(anEvent(7, { kind: "user", key: "someone" }));
  expect([did, watching.now]).toEqual([["written", "written", "ended"], 0]);
});

test.for(["before its stream begins", "while it begins"] as const)("a client that is disabled %s gets no event", async (when) => {
  const { open, authenticated, begun, watching, earlier, report } = someStreams();
  authenticated.resolve();
  const { call, did } = aCall();
  open(call);
  await settled();
  if (when === "while it begins") report(anEvent(1));
  else earlier.push(anEvent(1));
  begun.resolve();
  await settled();
  expect([did, watching.now]).toEqual([["ended"], 0]);
});
