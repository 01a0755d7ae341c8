import { expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { setRetryHeaders } from "../../../src/front/http/answers.ts";
import { inFlight } from "../../../src/front/http/steps.ts";

/** A body that arrives when the test says so. */
function lateBody() {
  const { promise, resolve } = Promise.withResolvers<string>();
  return { body: promise, arrive: () => resolve("body") };
}

test("a request whose body is still arriving is not counted", async () => {
  const requests = inFlight(1);
  const { body, arrive } = lateBody();
  const first = requests.run(async (_signal, receive) => expect(await receive(body)).toBe("body"), false);
  await requests.run(async () => undefined, false);
  expect(requests.size).toBe(0);
  arrive();
  await first;
});

test("a request whose body arrives while the cap is reached is refused with 503", async () => {
  const requests = inFlight(1);
  const [late, held] = [lateBody(), lateBody()];
  let answered = false;
  const first = requests.run(async (_signal, receive) => {
    await receive(late.body);
    answered = true;
  }, false);
  const second = requests.run(async () => void (await held.body), false);
  late.arrive();
  await expect(first).rejects.toMatchObject({ code: "temporarily_unavailable", reason: "front_overloaded" });
  expect(answered).toBe(false);
  held.arrive();
  await second;
  await requests.run(async () => undefined, false);
});

test("a request above the cap is refused, unless it is essential", async () => {
  const requests = inFlight(2);
  const held = lateBody();
  const running = [1, 2].map(() => requests.run(async () => void (await held.body), false));
  await expect(requests.run(async () => undefined, false)).rejects.toMatchObject({ reason: "front_overloaded" });
  await requests.run(async () => undefined, true);
  held.arrive();
  await Promise.all(running);
  expect(requests.size).toBe(0);
});

test.for([
  ["a 503 without a time to wait", new Refusal("temporarily_unavailable", "x"), { "Retry-After": "5" }],
  ["a 503 with a time to wait", new Refusal("temporarily_unavailable", "x", { retryAfter: 1.2 }), { "Retry-After": "2" }],
  ["a wait of less than a second", new Refusal("too_many_requests", "x", { retryAfter: 0.1 }), { "Retry-After": "1" }],
  ["another refusal", new Refusal("invalid_request", "x"), {}],
  ["a fault", undefined, {}],
] as const)("Retry-After of %s", ([, refusal, expected]) => {
  const headers = new Map<string, string>();
  const ctx = { set: (name: string, value: string) => headers.set(name, value) };
  setRetryHeaders(ctx as unknown as Parameters<typeof setRetryHeaders>[0], refusal);
  expect(Object.fromEntries(headers)).toEqual(expected);
});
