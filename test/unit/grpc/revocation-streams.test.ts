import { EventEmitter } from "node:events";
import { Metadata, type Server } from "@grpc/grpc-js";
import { expect, test } from "vitest";
import type { RevocationEvent } from "../../../src/core/revocation.ts";
import { Refusal } from "../../../src/errors.ts";
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
  let refusal: Refusal | undefined;
  const feed: RevocationFeed = {
    async watch(_, listener) {
      watching.now += 1;
      listeners.add(listener);
      await begun.promise;
      const stop = () => {
        if (listeners.delete(listener)) watching.now -= 1;
      };
      return { beginning: { marks: [], cursor: "1", whole: true }, stop };
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
  async function introspect() {
    await authenticated.promise;
    if (refusal !== undefined) throw refusal;
    return { results: [] };
  }
  const streams = serveRevocations(
    server as unknown as Server,
    { introspect } as never,
    callRunner(admission(1_000), () => undefined),
    feed,
    (peer) => peer,
  );
  const refuse = (thrown: Refusal) => {
    refusal = thrown;
  };
  return { open: (call: unknown) => handle(call), close: streams.close, authenticated, begun, watching, report, refuse };
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

test("a client that is disabled, deleted or given another secret gets no later event: its stream ends", async () => {
  const { open, authenticated, begun, watching, report } = someStreams();
  authenticated.resolve();
  begun.resolve();
  const { call, did } = aCall();
  open(call);
  await settled();
  report(anEvent(1, { kind: "user", key: "api" }), anEvent(2, { key: "other" }));
  expect([did, watching.now]).toEqual([["written", "written"], 1]);
  report(anEvent(3, { lifted: true }), anEvent(4, { key: "other", lifted: true }));
  report(anEvent(5, { kind: "user", key: "someone" }));
  expect([did, watching.now]).toEqual([["written", "written", "ended"], 0]);
});

test("a client that changes while its stream begins gets no event", async () => {
  const { open, authenticated, begun, watching, report } = someStreams();
  authenticated.resolve();
  const { call, did } = aCall();
  open(call);
  await settled();
  report(anEvent(1));
  begun.resolve();
  await settled();
  expect([did, watching.now]).toEqual([["ended"], 0]);
});

test("a client whose credential is refused once the watch has begun gets no event", async () => {
  const { open, authenticated, begun, watching, refuse } = someStreams();
  authenticated.resolve();
  const { call, outcome, did } = aCall();
  open(call);
  await settled();
  refuse(new Refusal("invalid_client", "wrong_secret"));
  begun.resolve();
  expect([await outcome, did, watching.now]).toEqual([expect.any(String), [], 0]);
});
