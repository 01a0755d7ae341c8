import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, onTestFinished, test } from "vitest";
import { type BodyBudget, bodyBudget, gathering } from "../../../src/body-budget.ts";
import { apiErrorPrinter, sendJson } from "../../../src/front/http/answers.ts";
import { formText } from "../../../src/front/http/body.ts";
import type { HotContext, Route } from "../../../src/front/http/routes.ts";
import { CONNECT_PATHS, connectRoutes } from "../../../src/grpc/connect-routes.ts";
import { localTokenCore } from "../../../src/grpc/local.ts";
import { ISSUER, startFront } from "../../support/front.ts";
import { smallCore } from "../grpc/small-core.ts";

const FORM = "application/x-www-form-urlencoded";
const MIB = 1024 * 1024;
const print = apiErrorPrinter(ISSUER);
const answer = async (ctx: HotContext) => sendJson(ctx, { length: (await formText(ctx)).length });
const routes: readonly Route[] = [
  { method: "POST", path: "/hot", hot: true, print, answer },
  { method: "POST", path: "/koa", print, answer },
];
const [INTROSPECT = ""] = CONNECT_PATHS;

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;
/** Bytes that this process keeps for objects and buffers. */
function kept(): number {
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

async function aFront(bodies: BodyBudget): Promise<number> {
  const front = await startFront({ routes, bodies });
  onTestFinished(() => front.close());
  return front.port;
}

async function connectListener(bodies: BodyBudget): Promise<number> {
  const core = localTokenCore(smallCore().implementation);
  const options = { core, issuer: ISSUER, addressOf: () => "203.0.113.7", bodies, onFault: () => undefined };
  const server = createServer(connectRoutes(options)).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

const [PIECES, SENDERS] = [60_000, 5];

test.for([
  { path: "/hot", type: FORM, start: aFront },
  { path: INTROSPECT, type: "application/json", start: connectListener },
])("bodies at $path that arrive in pieces of one byte keep little more than their bytes", async ({ path, type, start }) => {
  let arrived = 0;
  const budget = bodyBudget();
  const port = await start(() => {
    const share = budget();
    return {
      take(bytes) {
        arrived += bytes;
        return share.take(bytes);
      },
      giveBack: () => share.giveBack(),
    };
  });
  const send = (pieces: number): void => {
    const socket = connect(port, "127.0.0.1").on("error", () => undefined);
    onTestFinished(() => void socket.destroy());
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${type}\r\nTransfer-Encoding: chunked\r\n\r\n${"1\r\na\r\n".repeat(pieces)}`,
    );
  };
  send(1); // loads what reads bodies
  await expect.poll(() => arrived).toBe(1);
  const before = kept();
  for (let sender = 0; sender < SENDERS; sender += 1) send(PIECES);
  await expect.poll(() => arrived, { timeout: 60_000 }).toBe(1 + SENDERS * PIECES);
  expect((kept() - before) / MIB).toBeLessThan(16);
});

test("a body that koa-body puts together counts for what its pieces take there", async () => {
  const port = await aFront(bodyBudget(100_000));
  const statusOf = async (body: string): Promise<string> => {
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => void socket.destroy());
    socket.write(`POST /koa HTTP/1.1\r\nHost: x\r\nContent-Type: ${FORM}\r\nTransfer-Encoding: chunked\r\n\r\n${body}0\r\n\r\n`);
    const [answer] = (await once(socket, "data")) as [Buffer];
    return answer.toString().slice(9, 12);
  };
  const size = 10_000;
  expect(await statusOf(`${size.toString(16)}\r\n${"a".repeat(size)}\r\n`)).toBe("200");
  expect(await statusOf("1\r\na\r\n".repeat(size))).toBe("503");
});

test("pieces that are gathered are those that came, in their order", () => {
  const text = Array.from({ length: 5000 }, (_, at) => String(at)).join();
  const body = gathering();
  expect(body.bytes()).toEqual(Buffer.alloc(0));
  for (let [from, size] = [0, 1]; from < text.length; from += size, size = (size * 7) % 1009)
    expect(body.add(Buffer.from(text.slice(from, from + size)))).toBe(Math.min(from + size, text.length));
  expect(body.bytes().toString()).toBe(text);
});
