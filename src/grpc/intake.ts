import { constants, type Http2Stream } from "node:http2";
import { ServerInterceptingCall, type ServerInterceptor, status } from "@grpc/grpc-js";
import { type BodyBudget, bodyBudget, PIECE_BYTES } from "../body-budget.ts";
import { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";
import { methodPath } from "./definition.ts";
import { headerBytesOf } from "./headers.ts";

/** Bytes that a stream takes beside its message, of which a caller may open a hundred on each connection. */
const STREAM_BYTES = 4096;

/** Bytes of all streams of reflection: a thousand without messages, which keep 50 kB of answers each. */
const REFLECTION_BYTES = 4 * 1024 * 1024;

/** Messages of a stream that wait for their answers to be sent; each further one waits unread for one of these. */
const UNANSWERED = 16;

function messageTurns() {
  let unanswered = 0;
  let held: (() => void) | undefined;
  return {
    received(pass: () => void): void {
      unanswered += 1;
      if (unanswered > UNANSWERED) held = pass;
      else pass();
    },
    answered(): void {
      unanswered -= 1;
      const pass = held;
      held = undefined;
      pass?.();
    },
  };
}

/** Takes bytes for a stream, or gives it up. Those before it are given up first, the oldest before all others. */
function takeRoom(share: ReturnType<BodyBudget>, bytes: number, giveUp: () => void, open: Iterable<() => void>): void {
  let fits = share.take(bytes);
  for (const giveOldestUp of open) {
    if (fits || giveOldestUp === giveUp) break;
    giveOldestUp();
    fits = share.take(0); // it has counted the length
  }
  if (!fits) giveUp();
}

/** Bytes that an answered stream takes beside what it has not sent. */
const ANSWERED_BYTES = 16 * 1024;

/**
 * Limits the memory of streams that callers leave open: where there is no room for another one, the oldest is closed. A caller can have a
 * hundred on each connection and give their answers no room (a window of 0), for as long as the connection lives.
 * @param most bytes of all of them
 * @returns begins to count a stream, until it closes
 */
export function oldestGiveWay(most: number): (stream: Http2Stream, headers?: number) => void {
  const budget = bodyBudget(most, 0);
  const open = new Map<Http2Stream, () => void>();
  return (stream, headers = 0) => {
    if (stream.closed || open.has(stream)) return;
    const share = budget();
    const leave = () => {
      open.delete(stream);
      share.giveBack();
    };
    const giveUp = () => {
      leave();
      stream.close(constants.NGHTTP2_CANCEL);
    };
    open.set(stream, giveUp);
    stream.once("close", leave);
    takeRoom(share, ANSWERED_BYTES + headers + stream.writableLength, giveUp, open.values());
  };
}

/**
 * Bytes of streams whose answers are not read, and again of those that watch the health of services: four thousand each. Other answers leave
 * within milliseconds, and calls at once (MAX_IN_FLIGHT) are too few to fill this with them.
 */
const UNREAD_BYTES = 64 * 1024 * 1024;

const HEALTH_WATCH = "/grpc.health.v1.Health/Watch";
const CORE_STREAM = methodPath(TokenCoreService.method.converse);

/**
 * Accepts only uncompressed requests, and says so in every answer: they are small and secret, so compression gains nothing, and
 * decompression is work that strangers could cause. A request that arrives too slowly is refused; where there is no room for another one, that
 * is the one that has been arriving for longest, so that a stranger with many keeps no caller out; its headers count too. Reflection writes
 * answers to a caller that does not read them, so its messages have to wait, and its streams, which hold an answer each, have less room. Other
 * answers that are not read give way to later ones, and watches of health to later watches. The stream of a front, which its handler admits
 * before anything is read, has none of these limits.
 * @param arrival milliseconds within which a request must arrive whole  @param bodies room of requests  @param streams room of reflection
 * @param unread counts an answered stream  @param watched counts one that watches the health of a service
 * @see https://github.com/grpc/grpc/blob/master/doc/compression.md
 */
export function intake(
  arrival: number,
  bodies: BodyBudget,
  streams = bodyBudget(REFLECTION_BYTES, 0),
  unread = oldestGiveWay(UNREAD_BYTES),
  watched = oldestGiveWay(UNREAD_BYTES),
): ServerInterceptor {
  /** Gives a request up that is arriving; the oldest first. */
  const [requests, questions] = [new Set<() => void>(), new Set<() => void>()];
  return (method, call) => {
    // grpc-js removes the header before interceptors run, and keeps its value here.
    const encoding: unknown = Reflect.get(call, "incomingEncoding");
    const stream = Reflect.get(call, "stream") as Http2Stream;
    const headers = headerBytesOf(stream);
    const [arriving, share] = method.requestStream ? [questions, streams()] : [requests, bodies()];
    let isAnswered = false;
    let timer: NodeJS.Timeout | undefined;
    const turns = messageTurns();
    const arrived = () => {
      arriving.delete(giveUp);
      clearTimeout(timer);
      share.giveBack();
    };
    /** The library leaves a stream, with what has arrived, to a caller that does not end it. */
    const refuse = (code: status, details: string) => {
      const unread = stream.writableLength > 0; // a caller that reads nothing would keep these answers
      call.sendStatus({ code, details });
      stream.close(unread ? constants.NGHTTP2_CANCEL : constants.NGHTTP2_NO_ERROR);
    };
    const take = (bytes: number) => takeRoom(share, bytes, giveUp, arriving);
    const count = ({ length }: Buffer) => take(Math.max(length, PIECE_BYTES)); // the library keeps pieces as they came
    const giveUp = () => {
      stream.off("data", count);
      arrived();
      refuse(status.UNAVAILABLE, "too much is arriving");
    };
    return new ServerInterceptingCall(call, {
      start(next) {
        if (encoding !== "identity") {
          refuse(status.UNIMPLEMENTED, "compression is not accepted");
          return;
        }
        if (method.path === CORE_STREAM) {
          next();
          return;
        }
        timer = setTimeout(refuse, arrival, status.DEADLINE_EXCEEDED, "the request did not arrive in time");
        arriving.add(giveUp);
        stream.on("data", count).once("close", arrived);
        take(STREAM_BYTES + headers);
        if (stream.closed) return;
        next({
          onReceiveMessage: (message, pass) => turns.received(() => pass(message)),
          onReceiveHalfClose(pass) {
            if (!method.requestStream) arrived(); // reflection: until its answers are read
            pass();
          },
        });
      },
      sendMetadata(metadata, next) {
        isAnswered = true;
        metadata.set("grpc-accept-encoding", "identity");
        next(metadata);
      },
      sendMessage(message, next) {
        next(message);
        turns.answered();
        if (method.path === HEALTH_WATCH) watched(stream, headers);
        else if (!method.responseStream) unread(stream, headers);
      },
      sendStatus(answer, next) {
        next(answer);
        if (!isAnswered && method.path === CORE_STREAM) stream.close(constants.NGHTTP2_NO_ERROR);
      },
    });
  };
}
