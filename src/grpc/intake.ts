import { ServerInterceptingCall, type ServerInterceptor, status } from "@grpc/grpc-js";

/**
 * Lets in uncompressed requests alone, and says so in every answer: they are small and secret, so compressing them gains nothing, and
 * unpacking is work that a stranger could order. A request that dribbles is not waited for.
 * @param arrival milliseconds in which a request that is one message must have arrived whole
 * @see https://github.com/grpc/grpc/blob/master/doc/compression.md
 */
export const intake =
  (arrival: number): ServerInterceptor =>
  (method, call) => {
    // grpc-js takes the header away before anybody may look at it; this is where it keeps what it said.
    const encoding: unknown = Reflect.get(call, "incomingEncoding");
    return new ServerInterceptingCall(call, {
      start(next) {
        if (encoding !== "identity") {
          call.sendStatus({ code: status.UNIMPLEMENTED, details: "compression is not accepted" });
          return;
        }
        if (method.requestStream) {
          next();
          return;
        }
        const tooSlow = () => call.sendStatus({ code: status.DEADLINE_EXCEEDED, details: "the request did not arrive in time" });
        const timer = setTimeout(tooSlow, arrival);
        next({
          onReceiveHalfClose(pass) {
            clearTimeout(timer);
            pass();
          },
          onCancel: () => clearTimeout(timer),
        });
      },
      sendMetadata(metadata, next) {
        metadata.set("grpc-accept-encoding", "identity");
        next(metadata);
      },
    });
  };
