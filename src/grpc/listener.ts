import { isIPv4, isIPv6 } from "node:net";
import type { DescMessage, DescMethodUnary, Message, MessageInitShape } from "@bufbuild/protobuf";
import { type handleUnaryCall, Server, type ServerUnaryCall, status } from "@grpc/grpc-js";
import { epochMillis } from "../clock.ts";
import { isRefusal } from "../errors.ts";
import { IntrospectionService } from "../gen/countersign/introspection/v1/introspection_pb.ts";
import { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";
import { admission } from "./admission.ts";
import { type FrontAccess, frontGate, resourceServerCredential } from "./caller-auth.ts";
import { identityOnly } from "./compression.ts";
import { INTROSPECTION_LIMIT, timeLimit, timeToAnswer, withinBudget } from "./deadline.ts";
import { type Received, servedMethod } from "./definition.ts";
import { introspectionService } from "./introspection.ts";
import { type AnyCall, TOKEN_CORE_METHODS, type TokenCore } from "./local.ts";
import { statusOf } from "./refusal.ts";
import { type ServerTls, serverCredentials } from "./server-credentials.ts";
import { standardServices } from "./standard-services.ts";

export interface GrpcListenerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly core: TokenCore;
  /** h2c when absent. */
  readonly tls?: ServerTls | undefined;
  /** Present in the role of a core: TokenCoreService is offered, to whoever has this secret or a certificate of `tls.clientCa`. */
  readonly fronts?: Pick<FrontAccess, "secret"> | undefined;
  /** Calls in flight above which the next is refused at once. */
  readonly maxInFlight?: number;
  /** Told of what was thrown and is no refusal. */
  readonly onFault: (fault: unknown, method: string) => void;
}

export interface GrpcListener {
  readonly port: number;
  /** What health checking tells; false until it was set, and from the moment that draining begins. */
  setServing(serving: boolean): void;
  /** Accepts nothing new, sends GOAWAY, lets what is in flight finish for so many seconds, then cuts. */
  close(graceSeconds: number): Promise<void>;
}

const KIB = 1024;
/** Bytes of a request, by what it may hold: a form with its headers, a hundred tokens. */
const REQUEST_LIMIT = { introspect: 64 * KIB, introspectBatch: 1024 * KIB, relayed: 96 * KIB, relayedBatch: 1088 * KIB } as const;
const MAX_IN_FLIGHT = 256;

const isLoopback = (host: string): boolean => host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."));

/** The address of `address:port`, the form in which grpc-js tells a peer; IPv4 as such, even where it came through a socket for both. */
const peerAddress = (peer: string): string => peer.slice(0, Math.max(0, peer.lastIndexOf(":"))).replace(/^::ffff:(?=\d+\.)/, "");

type UnaryCall = ServerUnaryCall<Received, unknown>;
type Answer = MessageInitShape<DescMessage>;

/** Every `authorization` that a call brought. */
const authorizationOf = (call: UnaryCall): string[] => call.metadata.get("authorization").map(String);

const FRONTS_ONLY = { code: status.UNAUTHENTICATED, details: "for fronts only" };

/**
 * The gRPC side of the service: introspection for resource servers, in the role of a core the token core for fronts, health and reflection.
 * @throws {Error} when the address cannot be had, or when a core would be open to the network without a credential
 */
export async function startGrpcListener(options: GrpcListenerOptions): Promise<GrpcListener> {
  const { host, core, tls, fronts, onFault } = options;
  const gate = fronts && frontGate({ secret: fronts.secret, mutualTls: tls?.clientCa !== undefined });
  if (fronts && fronts.secret === undefined && tls?.clientCa === undefined && !isLoopback(host)) {
    throw new Error(`a token core on ${host} needs TOKEN_CORE_SECRET or a client certificate authority`);
  }
  const server = new Server({
    "grpc.max_receive_message_length": REQUEST_LIMIT.relayedBatch,
    "grpc.max_concurrent_streams": 100,
    "grpc.max_connection_idle_ms": 300_000,
    // Connections are renewed now and then, so that callers find cores that came later.
    "grpc.max_connection_age_ms": 600_000,
    "grpc.max_connection_age_grace_ms": 60_000,
    "grpc.keepalive_time_ms": 30_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.enable_channelz": 0,
    interceptors: [identityOnly],
  });
  const door = admission(options.maxInFlight ?? MAX_IN_FLIGHT);

  const unary =
    (
      method: DescMethodUnary,
      limit: number,
      answer: (request: Message, call: UnaryCall, signal: AbortSignal) => Promise<Answer>,
    ): handleUnaryCall<Received, unknown> =>
    (call, done) => {
      const run = async (): Promise<Answer> => {
        if (call.request.refusal) throw call.request.refusal;
        const { message } = call.request;
        const budget = timeToAnswer(limit, Number(call.getDeadline()) - epochMillis());
        return withinBudget(
          budget,
          (leave) => call.on("cancelled", leave),
          (signal) => door.enter(() => answer(message, call, signal)),
        );
      };
      run().then(
        (value) => done(null, value),
        (thrown: unknown) => {
          if (!isRefusal(thrown)) onFault(thrown, method.name);
          done(statusOf(thrown));
        },
      );
    };

  const introspection = introspectionService(core);
  const resourceServer = (call: UnaryCall, signal: AbortSignal) => ({
    client: resourceServerCredential(authorizationOf(call), peerAddress(call.getPeer())),
    signal,
  });
  const { introspect, introspectBatch } = IntrospectionService.method;
  server.addService(
    {
      introspect: servedMethod(introspect, REQUEST_LIMIT.introspect),
      introspectBatch: servedMethod(introspectBatch, REQUEST_LIMIT.introspectBatch),
    },
    {
      introspect: unary(introspect, INTROSPECTION_LIMIT, (request, call, signal) =>
        introspection.introspect(request as Parameters<typeof introspection.introspect>[0], resourceServer(call, signal)),
      ),
      introspectBatch: unary(introspectBatch, INTROSPECTION_LIMIT, (request, call, signal) =>
        introspection.introspectBatch(request as Parameters<typeof introspection.introspectBatch>[0], resourceServer(call, signal)),
      ),
    },
  );
  if (gate) {
    for (const [name, method] of TOKEN_CORE_METHODS) {
      const call = core[name] as AnyCall;
      const answer = unary(method, timeLimit(name), (request, _call, signal) => call(request, { signal }));
      const guarded: handleUnaryCall<Received, unknown> = (incoming, done) =>
        gate(authorizationOf(incoming), incoming.getAuthContext().sslPeerCertificate !== undefined)
          ? answer(incoming, done)
          : done(FRONTS_ONLY);
      const limit = name === "introspect" ? REQUEST_LIMIT.relayedBatch : REQUEST_LIMIT.relayed;
      server.addService({ [name]: servedMethod(method, limit) }, { [name]: guarded });
    }
  }
  const standard = standardServices(server, [IntrospectionService.typeName, ...(gate ? [TokenCoreService.typeName] : [])]);

  const port = await new Promise<number>((resolve, reject) => {
    const address = `${isIPv6(host) ? `[${host}]` : host}:${options.port}`;
    server.bindAsync(address, serverCredentials(tls), (error, bound) => (error ? reject(error) : resolve(bound)));
  });
  return {
    port,
    setServing: standard.setServing,
    async close(graceSeconds) {
      standard.setServing(false);
      standard.close();
      await new Promise<void>((resolve) => {
        const cut = setTimeout(() => server.forceShutdown(), graceSeconds * 1_000);
        server.tryShutdown(() => {
          clearTimeout(cut);
          resolve();
        });
      });
    },
  };
}
