import type { Http2Server } from "node:http2";
import { isIPv6, type Socket } from "node:net";
import type { DescMethodUnary } from "@bufbuild/protobuf";
import { experimental, logVerbosity, Server, ServerCredentials, setLogVerbosity } from "@grpc/grpc-js";
import { BODY_BYTES, bodyBudget } from "../body-budget.ts";
import type { RevocationEvents } from "../core/revocation.ts";
import { IntrospectionService } from "../gen/countersign/introspection/v1/introspection_pb.ts";
import { TokenCoreService } from "../gen/countersign/token/v1/token_pb.ts";
import { BACKLOG, closeUnused, MAX_CONNECTIONS, openSockets } from "../open-sockets.ts";
import type { FrontAccess } from "./caller-auth.ts";
import { isLoopback } from "./core-channel.ts";
import { serveTokenCore } from "./core-stream-server.ts";
import { INTROSPECTION_LIMIT } from "./deadline.ts";
import { REQUEST_BYTES } from "./definition.ts";
import { limitHeaders } from "./headers.ts";
import { intake } from "./intake.ts";
import { type AddressOf, asResourceServer, type IntrospectionCall, introspectionService } from "./introspection.ts";
import type { TokenCore } from "./local.ts";
import { revocationFeed } from "./revocation-feed.ts";
import { serveRevocations } from "./revocation-streams.ts";
import { admission, callRunner, MAX_IN_FLIGHT, type OnFault, type RunCall, serveUnary, type UnaryService } from "./served-call.ts";
import { standardServices, standardStreams } from "./standard-services.ts";

export interface GrpcListenerOptions {
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
  readonly core: TokenCore;
  /** h2c when absent. */
  readonly tls?: ServerTls | undefined;
  /** Set in a core: offers TokenCoreService to callers with one of these secrets or a certificate of `tls.clientCa`. */
  readonly fronts?: Omit<FrontAccess, "mutualTls"> | undefined;
  /** Calls in flight; further ones are refused at once. */
  readonly maxInFlight?: number;
  /** Connections, as many as over HTTP by default; further ones are closed at once. */
  readonly maxConnections?: number;
  readonly onFault: OnFault;
  /** By default the address of the connection. */
  readonly addressOf?: AddressOf | undefined;
  /** Without it WatchRevocations is not offered. */
  readonly revocations?: RevocationEvents | undefined;
}

const SERVER_OPTIONS = {
  "grpc.max_receive_message_length": REQUEST_BYTES.relayedBatch,
  "grpc.max_concurrent_streams": 100,
  "grpc.max_connection_idle_ms": 300_000,
  // Connections are renewed, so that callers find new cores.
  "grpc.max_connection_age_ms": 600_000,
  "grpc.max_connection_age_grace_ms": 60_000,
  "grpc.enable_channelz": 0,
};

function serveIntrospection(server: Server, core: TokenCore, run: RunCall, addressOf: AddressOf): void {
  const service = introspectionService(core);
  const { introspect, introspectBatch, verifyApiKey } = IntrospectionService.method;
  const serve = <Request>(
    method: DescMethodUnary,
    bytes: number,
    answer: (request: Request, call: IntrospectionCall) => ReturnType<UnaryService["answer"]>,
  ): void =>
    serveUnary(server, method, run, {
      bytes,
      limit: INTROSPECTION_LIMIT,
      answer: (request, call, signal) => answer(request as Request, asResourceServer(call, signal, addressOf)),
    });
  serve(introspect, REQUEST_BYTES.introspect, service.introspect);
  serve(introspectBatch, REQUEST_BYTES.introspectBatch, service.introspectBatch);
  serve(verifyApiKey, REQUEST_BYTES.introspect, service.verifyApiKey);
}

export type GrpcListener = Awaited<ReturnType<typeof startGrpcListener>>;

/**
 * The gRPC listener: introspection for resource servers, the token core for fronts (in a core), health and reflection.
 * @throws {Error} when the address is not available, or when a core would be open to the network without a credential
 */
export async function startGrpcListener(options: GrpcListenerOptions) {
  const {
    host,
    port,
    core,
    tls,
    fronts,
    onFault,
    maxInFlight = MAX_IN_FLIGHT,
    maxConnections = MAX_CONNECTIONS,
    addressOf = (peer) => peer,
    revocations,
  } = options;
  const mutualTls = tls?.clientCa !== undefined;
  if (fronts && fronts.secret === undefined && !mutualTls && !isLoopback(host)) {
    throw new Error(`a token core that listens on ${host} needs TOKEN_CORE_SECRET or mutual TLS`);
  }
  // The log of grpc-js would contain metadata that it cannot parse, credentials included.
  setLogVerbosity(logVerbosity.NONE);
  const standardCalls = standardStreams();
  const server = new Server({ ...SERVER_OPTIONS, interceptors: [intake(15_000, bodyBudget(BODY_BYTES, 0)), standardCalls.interceptor] });
  const run = callRunner(admission(maxInFlight), onFault);
  serveIntrospection(server, core, run, addressOf);
  const streams =
    revocations &&
    serveRevocations(
      server,
      core,
      callRunner(admission(maxInFlight), onFault), // streams that begin take no place of another call
      revocationFeed(revocations, (fault) => onFault(fault, "WatchRevocations")),
      addressOf,
    );
  const coreStreams = fronts && serveTokenCore(server, core, { ...fronts, mutualTls }, run);
  const standard = standardServices(server, [IntrospectionService.typeName, ...(fronts ? [TokenCoreService.typeName] : [])]);

  const authority = isIPv6(host) ? `[${host}]` : host;
  const bound = await new Promise<number>((resolve, reject) => {
    server.bindAsync(`${authority}:${port}`, serverCredentials(tls), (error, boundPort) => (error ? reject(error) : resolve(boundPort)));
  });
  const listening = listeningServers(server, maxConnections);
  // grpc-js knows its sessions alone, and a connection has none before its TLS handshake.
  const sockets = openSockets(listening);
  return {
    port: bound,
    /** Sets the state that health checking reports; false at first and while draining. */
    setServing: standard.setServing,
    /** Loads health checking and reflection. */
    load: standard.load,
    /** Accepts nothing new, sends GOAWAY, lets calls in flight finish for `graceSeconds`, then closes all connections. */
    async close(graceSeconds: number): Promise<void> {
      standard.setServing(false);
      standardCalls.end();
      streams?.close();
      coreStreams?.close();
      // GOAWAY now, disconnect after the grace. (`forceShutdown` misses connections when channelz is off.)
      server.drain(`${authority}:${bound}`, graceSeconds * 1_000);
      const closed = new Promise<void>((resolve) => server.tryShutdown(() => resolve()));
      // The library waits for connections without a session, and for callers that do not close their side, however long that takes.
      closeUnused(sockets);
      const cut = setTimeout(() => {
        for (const socket of sockets) socket.destroy();
      }, graceSeconds * 1_000);
      await closed;
      clearTimeout(cut);
    },
  };
}

/**
 * Milliseconds of silence after which the kernel asks whether the other end is there; ten seconds later the connection is lost. The
 * library's own keepalive would also end calls of a connection that drains (core-channel.ts).
 */
const SILENCE = 30_000;

/** Sets what the library has no options for. @returns the servers that listen */
function listeningServers(server: Server, maxConnections: number): readonly Http2Server[] {
  const listening = [...(Reflect.get(server, "http2Servers") as ReadonlyMap<Http2Server, unknown>).keys()];
  for (const one of listening) {
    limitHeaders(one);
    one.maxConnections = maxConnections;
    one.on("connection", (socket: Socket) => socket.setKeepAlive(true, SILENCE));
    // 511 connections would wait at most. A socket that listens already only gets the longer queue (listen(2)).
    (Reflect.get(one, "_handle") as { listen(backlog: number): number }).listen(BACKLOG);
  }
  return listening;
}

/** PEM texts; `clientCa` is the authority of the certificates by which fronts may authenticate. */
export type ServerTls = { readonly cert: string; readonly key: string; readonly clientCa?: string | undefined };

/** h2c without `tls`. Client certificates are optional, for resource servers have none; each call checks whether it needs one. */
function serverCredentials(tls: ServerTls | undefined): ServerCredentials {
  if (tls === undefined) return ServerCredentials.createInsecure();
  const certificate = Buffer.from(tls.cert);
  const privateKey = Buffer.from(tls.key);
  if (tls.clientCa === undefined) return ServerCredentials.createSsl(null, [{ cert_chain: certificate, private_key: privateKey }]);
  const caCertificate = Buffer.from(tls.clientCa);
  // grpc-js subscribes before it can pass certificates on, so they are delivered a moment later.
  const provider = {
    addCaCertificateListener: (deliver: experimental.CaCertificateUpdateListener) => queueMicrotask(() => deliver({ caCertificate })),
    addIdentityCertificateListener: (deliver: experimental.IdentityCertificateUpdateListener) =>
      queueMicrotask(() => deliver({ certificate, privateKey })),
    removeCaCertificateListener: () => undefined,
    removeIdentityCertificateListener: () => undefined,
  };
  return experimental.createCertificateProviderServerCredentials(provider, provider, false);
}
