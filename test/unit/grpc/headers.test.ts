import { connect, constants, type Http2Server } from "node:http2";
import { connect as connectTcp } from "node:net";
import { Server, ServerCredentials, status } from "@grpc/grpc-js";
import { expect, onTestFinished, test } from "vitest";
import { bodyBudget } from "../../../src/body-budget.ts";
import { IntrospectionService } from "../../../src/gen/countersign/introspection/v1/introspection_pb.ts";
import { methodPath } from "../../../src/grpc/definition.ts";
import { limitHeaders } from "../../../src/grpc/headers.ts";
import { intake } from "../../../src/grpc/intake.ts";
import { startGrpcListener } from "../../../src/grpc/listener.ts";
import { localTokenCore } from "../../../src/grpc/local.ts";
import { smallCore } from "./small-core.ts";

const INTROSPECT = methodPath(IntrospectionService.method.introspect);

async function aListener() {
  const core = localTokenCore(smallCore().implementation);
  const listener = await startGrpcListener({ host: "127.0.0.1", port: 0, core, onFault: () => undefined });
  onTestFinished(() => listener.close(0));
  return listener.port;
}

/** Opens streams that their caller does not end, once it has acknowledged the settings. */
async function aCaller() {
  const session = connect(`http://127.0.0.1:${await aListener()}`, { maxSendHeaderBlockLength: 65_536 });
  onTestFinished(() => session.destroy());
  await new Promise((resolve) => session.once("remoteSettings", resolve));
  return (path: string, headers: Readonly<Record<string, string>> = {}) => {
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc", ...headers });
    let answered: unknown;
    stream.on("error", () => undefined).on("response", (response) => (answered = response["grpc-status"] ?? response[":status"]));
    stream.resume().write(Buffer.from([0, 0]));
    return new Promise((resolve) => stream.once("close", () => resolve([answered, stream.rstCode])));
  };
}

test("a call with more headers than a request over HTTP may have is refused, and its connection takes others", async () => {
  const call = await aCaller();
  for (const name of ["x-filling", "authorization"])
    expect(await call(INTROSPECT, { [name]: "a".repeat(16_384) })).toEqual([undefined, constants.NGHTTP2_ENHANCE_YOUR_CALM]);
  expect(await call(`${INTROSPECT}ed`, { "x-filling": "a".repeat(15_000) })).toEqual([
    String(status.UNIMPLEMENTED),
    constants.NGHTTP2_NO_ERROR,
  ]);
});

/** @see RFC 9113 §4.1 */
function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}
/** A text of HPACK without Huffman coding. @see RFC 7541 §5.2 */
const text = (value: string): Buffer => {
  const { length } = value;
  const coded = length < 127 ? [length] : [127, ((length - 127) % 128) + 128, Math.floor((length - 127) / 128)];
  return Buffer.concat([Buffer.from(coded), Buffer.from(value)]);
};
const field = (form: number, name: string, value: string): Buffer => Buffer.concat([Buffer.from([form]), text(name), text(value)]);

/** The header block of a call whose hundred bytes stand for 400 kB. @param fresh whether the entry is to go into the header table first */
const bomb = (fresh: boolean): Buffer =>
  Buffer.concat([
    field(0, ":method", "POST"),
    field(0, ":scheme", "http"),
    field(0, ":path", INTROSPECT),
    field(0, ":authority", "localhost"),
    field(0, "content-type", "application/grpc"),
    ...(fresh ? [field(0x40, "x-a", "b".repeat(3_900))] : []),
    Buffer.alloc(100, 0x80 | 62), // its newest entry, a hundred times
  ]);

/** Sends frames on a connection that acknowledges no settings. @returns all that arrives on it, and when it has ended */
async function aBlindCaller(...frames: readonly Buffer[]) {
  const socket = connectTcp(await aListener(), "127.0.0.1").on("error", () => undefined);
  onTestFinished(() => void socket.destroy());
  const received: Buffer[] = [];
  socket.on("data", (part) => void received.push(part));
  const ended = new Promise((resolve) => socket.once("close", resolve));
  socket.write("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
  socket.write(Buffer.concat([frame(4, 0, 0, Buffer.alloc(0)), ...frames]));
  return { received: () => Buffer.concat(received), ended };
}

const CALM = Buffer.from([0, 0, 0, constants.NGHTTP2_ENHANCE_YOUR_CALM]);
/** The reset of a stream (RFC 9113 §6.4), and what an answer to a ping looks like. */
const reset = (stream: number): Buffer => frame(3, 0, stream, CALM);
const ping = (flags: number): Buffer => frame(6, flags, 0, Buffer.from("pingpong"));

test("a first call with too many headers is refused alone, before its caller can know the limit", async () => {
  const caller = await aBlindCaller(frame(1, 4, 1, bomb(true)), ping(0));
  await expect.poll(() => caller.received().includes(ping(1))).toBe(true); // the connection serves on
  await expect.poll(() => caller.received().includes(reset(1))).toBe(true);
});

test("a caller that acknowledges no settings, and goes on with such calls, is left", async () => {
  const calls = Array.from({ length: 40 }, (_, at) => frame(1, 4, 2 * at + 1, bomb(at === 0)));
  const caller = await aBlindCaller(...calls);
  await caller.ended;
  const goAway = frame(7, 0, 0, Buffer.alloc(8)).subarray(0, 9);
  expect(caller.received().includes(goAway)).toBe(true);
});

test("headers of requests that have not arrived whole take their room", async () => {
  const server = new Server({ interceptors: [intake(15_000, bodyBudget(64 * 1024, 0))] });
  onTestFinished(() => server.forceShutdown());
  const bytes = (buffer: Buffer) => buffer;
  server.register(
    "/echo.Echo/Echo",
    (_: unknown, done: (error: null, answer: Buffer) => void) => done(null, Buffer.alloc(0)),
    bytes,
    bytes,
    "unary",
  );
  const port = await new Promise((resolve) =>
    server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (_, bound) => resolve(bound)),
  );
  for (const one of (Reflect.get(server, "http2Servers") as ReadonlyMap<Http2Server, unknown>).keys()) limitHeaders(one);
  const session = connect(`http://127.0.0.1:${port}`);
  onTestFinished(() => session.destroy());
  const refused: unknown[] = [];
  for (let count = 0; count < 10; count += 1)
    session
      .request({ ":method": "POST", ":path": "/echo.Echo/Echo", "content-type": "application/grpc", "x-filling": "a".repeat(15_000) })
      .on("error", () => undefined)
      .on("response", (headers) => refused.push(headers["grpc-status"]));
  await expect.poll(() => refused).toEqual(Array(7).fill(String(status.UNAVAILABLE))); // of 18 KiB each three have room
});
