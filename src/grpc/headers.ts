import { constants, type Http2Server, type IncomingHttpHeaders, type ServerHttp2Stream } from "node:http2";
import { shortenDeadline } from "./deadline.ts";

/** Bytes of the headers of a call, as of a request over HTTP. */
const HEADER_BYTES = 16 * 1024;

/** Bytes that a field counts beside its name and value. @see RFC 9113 §6.5.2 */
const FIELD_BYTES = 32;

/** Bytes of the headers that most calls have: they are part of what each stream takes. */
const USUAL = 1024;

const arrived = new WeakMap<object, number>();

function sizeOf(headers: IncomingHttpHeaders): number {
  let bytes = 0;
  for (const [name, value = ""] of Object.entries(headers)) {
    const values = typeof value === "string" ? value : value.join("");
    bytes += name.length + values.length + FIELD_BYTES;
  }
  return bytes;
}

/** Bytes of the headers of a stream, above those that most have. */
export const headerBytesOf = (stream: object): number => Math.max(0, (arrived.get(stream) ?? 0) - USUAL);

/** Calls above the limit that one connection may make: those that a caller begins before it has the setting. */
const EXCUSED = 16;

const refused = new WeakMap<object, number>();

/** Refuses a call alone, as Node does where the setting binds, or leaves a caller that goes on. */
function refuse(stream: ServerHttp2Stream): void {
  const { session } = stream;
  const calls = (refused.get(session ?? stream) ?? 0) + 1;
  refused.set(session ?? stream, calls);
  stream.on("error", () => undefined).close(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  if (calls <= EXCUSED) return;
  session?.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM);
  session?.destroy();
}

type Handle = (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, ...rest: unknown[]) => void;

/**
 * Limits the headers of calls. Node resets a call with more, by a setting that binds a caller once it has acknowledged it. Until then calls are
 * reset here, of one connection only a few: a byte that refers to the header table (RFC 7541 §6.1) stands for up to four thousand.
 */
export function limitHeaders(server: Http2Server): void {
  server.updateSettings({ maxHeaderListSize: HEADER_BYTES });
  const handlers = server.listeners("stream") as Handle[];
  const limited: Handle = (stream, headers, ...rest) => {
    const bytes = sizeOf(headers);
    if (bytes > HEADER_BYTES) return refuse(stream);
    shortenDeadline(headers);
    arrived.set(stream, bytes);
    for (const handle of handlers) handle.call(server, stream, headers, ...rest);
  };
  server.removeAllListeners("stream").on("stream", limited);
}
