import { connect, type Socket } from "node:net";
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { bodyBudget, UNCOUNTED } from "../../../src/body-budget.ts";
import { apiErrorPrinter, sendJson } from "../../../src/front/http/answers.ts";
import { formText } from "../../../src/front/http/body.ts";
import type { HotContext, Route } from "../../../src/front/http/routes.ts";
import { ISSUER, startFront, type TestFront } from "../../support/front.ts";

const FORM = "application/x-www-form-urlencoded";
const KIB = 1024;
const print = apiErrorPrinter(ISSUER);
const answer = async (ctx: HotContext) => sendJson(ctx, { length: (await formText(ctx)).length });
const routes: readonly Route[] = [
  { method: "POST", path: "/hot", hot: true, print, answer },
  { method: "POST", path: "/koa", print, answer },
];

test("a budget counts what exceeds the first 8 KiB of each body, and gets it back", () => {
  const bodies = bodyBudget(10);
  const [one, other] = [bodies(), bodies()];
  expect([one.take(UNCOUNTED), one.take(6), other.take(UNCOUNTED + 4), other.take(1)]).toEqual([true, true, true, false]);
  expect(bodies().take(UNCOUNTED)).toBe(true);
  one.giveBack();
  one.giveBack();
  const third = bodies();
  expect([third.take(UNCOUNTED + 6), third.take(1)]).toEqual([true, false]);
});

describe.for(["/hot", "/koa"])("bodies at %s", (path) => {
  let front: TestFront;
  beforeEach(async () => {
    front = await startFront({ routes, bodies: bodyBudget(30 * KIB) });
  });
  afterEach(() => front.close());

  const post = (length: number) => fetch(front.url + path, { method: "POST", headers: { "content-type": FORM }, body: "x".repeat(length) });
  const statusOf = async (length: number) => (await post(length)).status;
  /** Sends a head and the beginning of a body. */
  const begin = (framing: string, sent: string): Socket => {
    const socket = connect(front.port, "127.0.0.1").on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${FORM}\r\n${framing}\r\n\r\n${sent}`);
    return socket;
  };
  const answerOf = (socket: Socket) =>
    new Promise<string>((resolve) => {
      let received = "";
      socket.on("data", (chunk) => {
        received += chunk;
      });
      socket.on("close", () => resolve(received));
    });
  const chunk = (length: number) => `${length.toString(16)}\r\n${"x".repeat(length)}\r\n`;

  test.for([
    ["of known length", `Content-Length: ${60 * KIB}`, "x".repeat(30 * KIB)],
    ["of unknown length", "Transfer-Encoding: chunked", chunk(30 * KIB)],
  ] as const)(
    "%s that would exceed the budget are refused with 503 and close their connection, short ones are not",
    async ([, framing, sent]) => {
      begin(framing, sent);
      await expect.poll(() => statusOf(24 * KIB)).toBe(503);
      const refused = await answerOf(begin(framing, sent));
      expect(refused).toMatch(/^HTTP\/1\.1 503 /);
      expect(refused).toMatch(/\r\nRetry-After: 1\r\n/i);
      expect(refused).toMatch(/\r\nConnection: close\r\n/i);
      expect(await (await post(UNCOUNTED)).json()).toEqual({ length: UNCOUNTED });
    },
  );

  test.for([
    ["is interrupted", (socket: Socket): void => void socket.destroy()],
    ["arrives whole", (socket: Socket): void => void socket.write("x".repeat(10 * KIB))],
    ["is not the form that it should be", (socket: Socket): void => void socket.write("\0".repeat(10 * KIB))],
  ] as const)("give back what they had when one %s", async ([, end]) => {
    const socket = begin(`Content-Length: ${40 * KIB}`, "x".repeat(30 * KIB));
    await expect.poll(() => statusOf(24 * KIB)).toBe(503);
    end(socket);
    await expect.poll(() => statusOf(38 * KIB)).toBe(200);
  });

  test("give back what they had when one is too large", async () => {
    await front.close();
    front = await startFront({ routes, bodies: bodyBudget(57 * KIB) });
    const socket = begin("Transfer-Encoding: chunked", chunk(60 * KIB));
    await expect.poll(() => statusOf(24 * KIB)).toBe(503);
    const answered = answerOf(socket);
    socket.write(chunk(5 * KIB));
    expect(await answered).toMatch(/^HTTP\/1\.1 413 /);
    await expect.poll(() => statusOf(60 * KIB)).toBe(200);
  });
});
