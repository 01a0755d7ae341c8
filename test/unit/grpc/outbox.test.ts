import { setImmediate as turn } from "node:timers/promises";
import { expect, test } from "vitest";
import { outbox } from "../../../src/grpc/outbox.ts";

function aSocket() {
  const batches: string[] = [];
  let free: () => void = () => undefined;
  const box = outbox((batch, done) => {
    batches.push(batch.toString());
    free = done;
  });
  const push = (text: string) => box.push(Buffer.from(text));
  return { box, push, batches, free: () => free() };
}

test("messages of one turn of the event loop are sent together", async () => {
  const { push, batches } = aSocket();
  for (const text of ["a", "b", "c"]) push(text);
  expect(batches).toEqual([]);
  await turn();
  expect(batches).toEqual(["abc"]);
});

test("messages wait while the socket is busy, and are then sent together", async () => {
  const { box, push, batches, free } = aSocket();
  push("a");
  await turn();
  for (const text of ["b", "c"]) push(text);
  await turn();
  expect([batches, box.waits()]).toEqual([["a"], true]);
  free();
  expect(batches).toEqual(["a", "bc"]);
  free();
  expect(box.waits()).toBe(false);
});

test("a batch is bounded, and a larger message is sent alone", async () => {
  const { push, batches, free } = aSocket();
  const large = "x".repeat(300 * 1024);
  const half = "y".repeat(150 * 1024);
  for (const text of [large, half, half, "z"]) push(text);
  await turn();
  for (let i = 0; i < 3; i += 1) free();
  expect(batches.map(({ length }) => length)).toEqual([large.length, half.length, half.length + 1]);
});

test("a message's callback runs when it is sent", async () => {
  const { box, free } = aSocket();
  const sent: string[] = [];
  box.push(Buffer.from("a"), () => sent.push("a"));
  expect(sent).toEqual([]);
  await turn();
  expect(sent).toEqual(["a"]);
  box.push(Buffer.from("b"), () => sent.push("b"));
  expect(sent).toEqual(["a"]);
  free();
  expect(sent).toEqual(["a", "b"]);
});

test("an outbox is finished once, when everything is written", async () => {
  const { box, push, batches, free } = aSocket();
  const finished: number[] = [];
  push("a");
  await turn();
  push("b");
  box.finish(() => finished.push(batches.length));
  free();
  expect(finished).toEqual([]);
  free();
  expect(finished).toEqual([2]);
  box.finish(() => finished.push(0));
  expect(finished).toEqual([2, 0]);
});

test("what is pushed while an outbox is held stays, and is sent together when it is released", async () => {
  const { box, push, batches, free } = aSocket();
  push("a");
  await turn();
  box.hold();
  push("b");
  free();
  push("c");
  await turn();
  expect([batches, box.waits()]).toEqual([["a"], true]);
  box.release();
  expect(batches).toEqual(["a", "bc"]);
  free();
  expect(box.waits()).toBe(false);
});

test("an outbox that is finished while it is held sends what it has", async () => {
  const { box, push, batches, free } = aSocket();
  const finished: number[] = [];
  box.hold();
  push("a");
  await turn();
  box.finish(() => finished.push(batches.length));
  expect([batches, finished]).toEqual([["a"], []]);
  free();
  expect(finished).toEqual([1]);
});
