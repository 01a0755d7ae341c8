import { connect, constants } from "node:http2";
import { Server, ServerCredentials, type ServerDuplexStream, status } from "@grpc/grpc-js";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bodyBudget } from "../../../src/body-budget.ts";
import { intake } from "../../../src/grpc/listener.ts";

const server = new Server({ interceptors: [intake(150, bodyBudget(64 * 1024))] });
const bytes = (buffer: Buffer) => buffer;
let port = 0;
beforeAll(async () => {
  server.register(
    "/echo.Echo/Echo",
    (call: { request: Buffer }, done: (error: null, answer: Buffer) => void) => done(null, call.request),
    bytes,
    bytes,
    "unary",
  );
  server.register("/grpc.test.Echo/Echo", (call: ServerDuplexStream<Buffer, Buffer>) => void call.resume(), bytes, bytes, "bidi");
  port = await new Promise<number>((resolve) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_, bound) => resolve(bound)),
  );
});
afterAll(() => server.forceShutdown());

async function statusOf(headers: Record<string, string>, send: (write: (chunk: Buffer) => void, end: () => void) => void) {
  const session = connect(`http://127.0.0.1:${port}`);
  const stream = session.request({
    [constants.HTTP2_HEADER_METHOD]: "POST",
    [constants.HTTP2_HEADER_PATH]: "/echo.Echo/Echo",
    "content-type": "application/grpc",
    ...headers,
  });
  stream.on("error", () => undefined);
  const answered = new Promise<{ status: number; accepts: unknown }>((resolve) => {
    let accepts: unknown;
    stream.on("response", (response) => {
      accepts = response["grpc-accept-encoding"];
      if (response["grpc-status"] !== undefined) resolve({ status: Number(response["grpc-status"]), accepts });
    });
    stream.on("trailers", (trailers) => resolve({ status: Number(trailers["grpc-status"]), accepts }));
  });
  stream.resume();
  send(
    (chunk) => stream.write(chunk),
    () => stream.end(),
  );
  const answer = await answered;
  session.destroy();
  return answer;
}
const MESSAGE = Buffer.from([0, 0, 0, 0, 1, 7]);
const whole = (write: (chunk: Buffer) => void, end: () => void) => {
  write(MESSAGE);
  end();
};

test("an uncompressed request is answered with the accepted encodings", async () => {
  expect(await statusOf({}, whole)).toEqual({ status: 0, accepts: "identity" });
  expect((await statusOf({ "grpc-encoding": "identity" }, whole)).status).toBe(0);
});

test.for(["gzip", "deflate", "br"])("a request with the encoding %s is refused with UNIMPLEMENTED", async (encoding) => {
  expect((await statusOf({ "grpc-encoding": encoding }, whole)).status).toBe(12);
});

test("an incomplete request is refused at its deadline", async () => {
  expect((await statusOf({}, (write) => write(MESSAGE.subarray(0, 5)))).status).toBe(4);
  expect((await statusOf({}, (write) => write(MESSAGE))).status).toBe(4);
});

test.for(["/echo.Echo/Echo", "/grpc.test.Echo/Echo"])("an incomplete request to %s is closed at its deadline", async (path) => {
  const session = connect(`http://127.0.0.1:${port}`);
  const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
  stream.on("error", () => undefined).resume();
  stream.write(MESSAGE.subarray(0, 5));
  await new Promise((resolve) => stream.once("close", resolve));
  expect(stream.rstCode).toBe(constants.NGHTTP2_NO_ERROR);
  session.destroy();
});

test("requests for which there is no room beside those that are arriving are refused and closed, until there is", async () => {
  const session = connect(`http://127.0.0.1:${port}`);
  const large = Buffer.alloc(48_000); // there is room for one
  large.writeUInt32BE(large.length, 1); // five bytes short of its end
  const opened = [1, 2].map(() => {
    const stream = session.request({ ":method": "POST", ":path": "/echo.Echo/Echo", "content-type": "application/grpc" });
    let answer: unknown;
    stream.on("error", () => undefined).on("response", (headers) => (answer = headers["grpc-status"]));
    stream.resume().write(large);
    return new Promise<unknown>((resolve) => stream.once("close", () => resolve(answer)));
  });
  expect(await Promise.race(opened)).toBe(String(status.UNAVAILABLE));
  expect((await Promise.all(opened)).toSorted()).toEqual([String(status.UNAVAILABLE), String(status.DEADLINE_EXCEEDED)]);
  session.destroy();
  const complete = Buffer.concat([large, Buffer.alloc(5)]);
  for (let turn = 0; turn < 3; turn += 1) {
    const answer = await statusOf({}, (write, end) => {
      write(complete);
      end();
    });
    expect(answer.status).toBe(status.OK);
  }
});
