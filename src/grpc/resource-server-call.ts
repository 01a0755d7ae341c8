import { resourceServerCredential } from "./caller-auth.ts";
import type { IntrospectionCall } from "./introspection.ts";
import { authorizationOf, type UnaryCall } from "./served-call.ts";

/** The address of `address:port`, the form in which grpc-js tells a peer; IPv4 as such, even where it came through a socket for both. */
const peerAddress = (peer: string): string => peer.slice(0, Math.max(0, peer.lastIndexOf(":"))).replace(/^::ffff:(?=\d+\.)/, "");

/** Who calls, as a call over gRPC says it. @throws {Refusal} invalid_client */
export const asResourceServer = (call: Pick<UnaryCall, "metadata" | "getPeer">, signal: AbortSignal): IntrospectionCall => ({
  client: resourceServerCredential(authorizationOf(call), peerAddress(call.getPeer())),
  signal,
});
