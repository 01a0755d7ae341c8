import type { handleBidiStreamingCall, Server } from "@grpc/grpc-js";
import { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";
import { type FrontAccess, frontGate } from "./caller-auth.ts";
import { type CoreStreamServer, coreStreamServer } from "./core-stream-server.ts";
import { timeLimit } from "./deadline.ts";
import { asBuffer, type Received, servedMethod } from "./definition.ts";
import { REQUEST_BYTES } from "./limits.ts";
import { type AnyCall, TOKEN_CORE_METHODS, type TokenCore } from "./local.ts";
import { authorizationOf, NOT_ADMITTED, type RunCall, serveUnary, type UnaryCall } from "./served-call.ts";
import { notAfterOf } from "./unary-call.ts";

/** Puts TokenCoreService on a server, behind the front's credential. @returns the host of its streams, to be closed before the server */
export function serveTokenCore(server: Server, core: TokenCore, access: FrontAccess, run: RunCall): Pick<CoreStreamServer, "close"> {
  const gate = frontGate(access);
  const admits = (call: Pick<UnaryCall, "metadata" | "getAuthContext">): boolean =>
    gate(authorizationOf(call), call.getAuthContext().sslPeerCertificate !== undefined);
  for (const [name, method] of TOKEN_CORE_METHODS) {
    const call = core[name] as AnyCall;
    serveUnary(server, method, run, {
      bytes: name === "introspect" ? REQUEST_BYTES.relayedBatch : REQUEST_BYTES.relayed,
      limit: timeLimit(name),
      answer: (request, unary, signal) => call(request, { signal, notAfter: notAfterOf(unary) }),
      admits,
    });
  }
  const host = coreStreamServer(core, run);
  const converse: handleBidiStreamingCall<Received, Uint8Array> = (stream) => {
    if (admits(stream)) host.begin(stream);
    else stream.emit("error", NOT_ADMITTED);
  };
  server.addService(
    { converse: { ...servedMethod(TokenCoreService.method.converse, REQUEST_BYTES.relayedBatch), responseSerialize: asBuffer } },
    { converse },
  );
  return host;
}
