import { EventEmitter } from "node:events";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Channel } from "../../../guard-sdk/src/grpc-channel.ts";
import { watchRevocations } from "../../../guard-sdk/src/revocation-watch.ts";

/** A channel whose streams are written by the test. */
function aChannel() {
  const streams: (EventEmitter & { cancel(): void })[] = [];
  const cursors: string[] = [];
  const client = {
    makeServerStreamRequest(_path: unknown, _encode: unknown, _decode: unknown, { cursor }: { readonly cursor: string }) {
      cursors.push(cursor);
      const stream = Object.assign(new EventEmitter(), { cancel: () => void stream.emit("error", new Error("cancelled")) });
      streams.push(stream);
      return stream;
    },
  };
  const opened = { client, metadata: {}, service: {}, codec: () => ({}) };
  return { streams, cursors, channel: { open: async () => opened, close: () => undefined } as unknown as Channel };
}

const mark = (byte: number) => ({ digest: new Uint8Array([byte]), sequence: BigInt(byte), lifted: false, revokedAt: 0, expiresAt: 1_000 });

test("events are kept when a stream that was to replace them breaks off", async () => {
  const { streams, channel } = aChannel();
  const watch = watchRevocations(channel, { now: () => 0, elapsed: () => 0 });
  onTestFinished(watch.close);
  const ready = watch.ready(60_000);
  const stream = (n: number) => vi.waitUntil(() => streams[n]);
  const first = await stream(0);
  first.emit("data", { marks: [mark(1)], cursor: "a", reset: true });
  await ready;
  first.emit("data", { marks: [mark(2)], cursor: "", reset: true });
  first.emit("end");
  (await stream(1)).emit("data", { marks: [mark(3)], cursor: "b", reset: false });
  expect(["01", "03"].map((digest) => watch.marks.anyEnded([digest]))).toEqual([true, true]);
});

test("an event is kept while the clock is ahead, and forgotten when its tokens have expired", async () => {
  const { streams, channel } = aChannel();
  const at = { now: 0, elapsed: 0 };
  const watch = watchRevocations(channel, { now: () => at.now, elapsed: () => at.elapsed });
  onTestFinished(watch.close);
  const ready = watch.ready(60_000);
  const stream = await vi.waitUntil(() => streams[0]);
  stream.emit("data", { marks: [mark(1)], cursor: "a", reset: true });
  await ready;
  let latest = stream;
  /** A message on the stream that is open at this moment: each jump of a clock ends one. */
  const endedAt = async (now: number, elapsed: number) => {
    Object.assign(at, { now, elapsed });
    const before = streams.length;
    latest.emit("data", { marks: [], cursor: "b", reset: false });
    latest = await vi.waitUntil(() => streams[before], 5_000);
    latest.emit("data", { marks: [], cursor: "b", reset: false });
    at.now = elapsed;
    return watch.marks.anyEnded(["01"]);
  };
  expect(await endedAt(86_400, 100)).toBe(true);
  expect(await endedAt(900, 900)).toBe(true);
  expect(await endedAt(1_200, 1_200)).toBe(false);
});

test("messages that a process finds after it stood still, or after the machine slept, do not count as recent: another stream is opened", async () => {
  const { streams, cursors, channel } = aChannel();
  const at = { now: 0, elapsed: 0 };
  const watch = watchRevocations(channel, { now: () => at.now, elapsed: () => at.elapsed });
  onTestFinished(watch.close);
  const ready = watch.ready(60_000);
  (await vi.waitUntil(() => streams[0])).emit("data", { marks: [mark(1)], cursor: "a", reset: true });
  await ready;
  expect(watch.age()).toBe(0);
  Object.assign(at, { now: 60, elapsed: 60 });
  expect(watch.age()).toBe(60);
  streams[0]?.emit("data", { marks: [], cursor: "b", reset: false });
  expect(watch.age()).toBe(60);
  (await vi.waitUntil(() => streams[1], 5_000)).emit("data", { marks: [mark(2)], cursor: "c", reset: false });
  expect([watch.age(), watch.marks.anyEnded(["02"]), cursors]).toEqual([0, true, ["", "a"]]);
  at.now = 3_600;
  expect(watch.age()).toBeGreaterThan(3_000);
  streams[1]?.emit("data", { marks: [], cursor: "d", reset: false });
  expect(watch.age()).toBeGreaterThan(3_000);
});

test("a stream that brings no message for four seconds is given up for another, which resumes at the cursor", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { streams, cursors, channel } = aChannel();
  const watch = watchRevocations(channel, { now: () => 0, elapsed: () => performance.now() / 1_000 });
  onTestFinished(watch.close);
  const ready = watch.ready(60_000);
  await vi.advanceTimersByTimeAsync(3_500);
  streams[0]?.emit("data", { marks: [mark(1)], cursor: "a", reset: true });
  await ready;
  await vi.advanceTimersByTimeAsync(3_500);
  expect(cursors).toEqual([""]);
  await vi.advanceTimersByTimeAsync(700);
  expect(cursors).toEqual(["", "a"]);
  streams[1]?.emit("data", { marks: [mark(2)], cursor: "b", reset: false });
  expect([watch.age(), watch.marks.anyEnded(["01"]), watch.marks.anyEnded(["02"])]).toEqual([0, true, true]);
});

test("a stream that never begins is given up, too, and none is opened once the watch is closed", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const { cursors, channel } = aChannel();
  const watch = watchRevocations(channel, { now: () => 0, elapsed: () => 0 });
  const ready = watch.ready(2_000);
  await vi.advanceTimersByTimeAsync(5_000);
  await ready;
  expect(cursors).toEqual(["", ""]);
  watch.close();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([cursors.length, vi.getTimerCount()]).toEqual([2, 0]);
});

test("requests that wait for the first events go on when the watch is closed", async () => {
  const { channel } = aChannel();
  const watch = watchRevocations(channel, { now: () => 0, elapsed: () => 0 });
  const ready = watch.ready(60_000);
  watch.close();
  await ready;
  expect(watch.age()).toBe(Number.POSITIVE_INFINITY);
});
