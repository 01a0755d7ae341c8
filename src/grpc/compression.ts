import { ServerInterceptingCall, type ServerInterceptor, status } from "@grpc/grpc-js";

/**
 * Lets in uncompressed calls alone, and says so in every answer. Requests here are small and secret: compressing them gains nothing, and
 * unpacking is work that a stranger could order.
 * @see https://github.com/grpc/grpc/blob/master/doc/compression.md
 */
export const identityOnly: ServerInterceptor = (_method, call) => {
  // grpc-js takes the header away before anybody may look at it; this is where it keeps what it said.
  const encoding: unknown = Reflect.get(call, "incomingEncoding");
  return new ServerInterceptingCall(call, {
    start(next) {
      if (encoding === "identity") next();
      else call.sendStatus({ code: status.UNIMPLEMENTED, details: "compression is not accepted" });
    },
    sendMetadata(metadata, next) {
      metadata.set("grpc-accept-encoding", "identity");
      next(metadata);
    },
  });
};
