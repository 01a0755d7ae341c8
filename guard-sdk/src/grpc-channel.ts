import type { DescMethod, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { ClientOptions } from "@grpc/grpc-js";
import type { IntrospectionService } from "./gen/countersign/introspection/v1/introspection_pb.ts";
import { trustworthyUrl } from "./issuer-document.ts";
import { basicCredential, type ResourceServer } from "./resource-server.ts";

/** Where the authorization server speaks gRPC, and as whom this resource server asks it. */
export interface GrpcAccess extends ResourceServer {
  /** `https://host:port`; plain `http://` on loopback alone, for the credential travels with each call. */
  readonly address: string;
  /** PEM text of the authorities to trust instead of the runtime's own. */
  readonly ca?: string;
}

/**
 * Makes an introspection once more that a server left unanswered as it stopped. Where more than one in ten fails, as at a server that is
 * overloaded, none is repeated after the first fifty.
 * @see gRPC A6, client retries
 */
const REPEATED = {
  methodConfig: [
    {
      name: [{ service: "countersign.introspection.v1.IntrospectionService", method: "Introspect" }],
      retryPolicy: {
        maxAttempts: 2,
        initialBackoff: "0.05s",
        maxBackoff: "0.05s",
        backoffMultiplier: 1,
        retryableStatusCodes: ["UNAVAILABLE"],
      },
    },
  ],
  retryThrottling: { maxTokens: 100, tokenRatio: 0.1 },
};

const OPTIONS: ClientOptions = {
  "grpc.service_config": JSON.stringify(REPEATED),
  // Reconnects quickly after a restart of the server.
  "grpc.initial_reconnect_backoff_ms": 100,
  "grpc.max_reconnect_backoff_ms": 1_000,
  // Closes a connection whose other end is lost, so that another address of the name is tried.
  "grpc.keepalive_time_ms": 1_000,
  "grpc.keepalive_timeout_ms": 2_000,
  "grpc.enable_http_proxy": 0,
};

/** Written out, since TypeScript would spell all of grpc-js in the declarations, with a path that `nodenext` does not resolve. */
interface Peers {
  readonly grpc: Pick<typeof import("@grpc/grpc-js"), "Client" | "Metadata" | "credentials">;
  readonly protobuf: typeof import("@bufbuild/protobuf");
  readonly service: (typeof IntrospectionService)["method"];
}

const loadPeers = async (): Promise<Peers> => {
  const [grpc, protobuf, contract] = await Promise.all([
    import("@grpc/grpc-js"),
    import("@bufbuild/protobuf"),
    import("./gen/countersign/introspection/v1/introspection_pb.ts"),
  ]);
  return { grpc, protobuf, service: contract.IntrospectionService.method };
};

type Service = Peers["service"];

/** An open connection to the authorization server. */
export interface OpenChannel extends Peers {
  readonly client: InstanceType<Peers["grpc"]["Client"]>;
  /** The metadata of each call. */
  readonly metadata: InstanceType<Peers["grpc"]["Metadata"]>;
  readonly codec: <M extends DescMethod>(method: M) => Codec<M>;
}

export interface Codec<M extends DescMethod> {
  readonly path: string;
  readonly encode: (message: MessageInitShape<M["input"]>) => Buffer;
  readonly decode: (bytes: Buffer) => MessageShape<M["output"]>;
}

export type Channel = ReturnType<typeof grpcChannel>;

/**
 * A connection to the authorization server that is opened when it is first needed. The gRPC libraries are peers of this package and loaded
 * with the first call, so that local verification needs neither.
 * @throws {TypeError} when an option is wrong
 */
export function grpcChannel(access: GrpcAccess) {
  const { protocol, hostname, port, origin, href } = trustworthyUrl(access.address, "address");
  if (href !== `${origin}/`) throw new TypeError(`address must be scheme, host and port alone: ${JSON.stringify(origin)}`);
  const authorization = basicCredential(access);
  const secure = protocol === "https:";
  const target = `dns:///${hostname}:${port || (secure ? 443 : 80)}`;
  let opening: Promise<OpenChannel> | undefined;
  let closed = false;

  async function connect(): Promise<OpenChannel> {
    const peers = await loadPeers();
    const { Client, Metadata, credentials } = peers.grpc;
    const trust = access.ca === undefined ? null : Buffer.from(access.ca);
    const client = new Client(target, secure ? credentials.createSsl(trust) : credentials.createInsecure(), OPTIONS);
    const metadata = new Metadata();
    metadata.set("authorization", authorization);
    return { ...peers, client, metadata, codec: codecWith(peers.protobuf) };
  }

  return {
    open(): Promise<OpenChannel> {
      if (closed) return Promise.reject(new Error("the guard was closed"));
      opening ??= connect();
      return opening;
    },
    close(): void {
      closed = true;
      opening?.then(
        ({ client }) => client.close(),
        () => undefined,
      );
    },
  };
}

function codecWith({ create, fromBinary, toBinary }: Peers["protobuf"]) {
  return <M extends DescMethod>(method: M): Codec<M> => ({
    path: `/${method.parent.typeName}/${method.name}`,
    encode(message) {
      const bytes = toBinary(method.input, create(method.input, message));
      return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    },
    decode: (bytes) => fromBinary(method.output, bytes) as MessageShape<M["output"]>, // the message of this very schema
  });
}

/**
 * Asks for the state of one token, with the members of RFC 7662.
 * @param timeout milliseconds, connecting included
 * @throws when there is no answer
 */
export async function askOverGrpc(channel: Channel, token: string, timeout: number): Promise<Readonly<Record<string, unknown>>> {
  const { client, metadata, codec, service } = await channel.open();
  const { path, encode, decode } = codec<Service["introspect"]>(service.introspect);
  const deadline = Date.now() + timeout;
  const { active, clientId, scope, tokenType, sub, aud, iss, exp, act, cnf, acr, amr, authTime } = await new Promise<
    MessageShape<Service["introspect"]["output"]>
  >((resolve, reject) => {
    client.makeUnaryRequest(path, encode, decode, { token }, metadata, { deadline }, (error, answer) => {
      if (error === null && answer !== undefined) resolve(answer);
      else reject(error ?? new Error("no answer"));
    });
  });
  if (active !== true) return { active };
  return {
    active,
    client_id: clientId === "" ? undefined : clientId,
    scope,
    token_type: tokenType,
    sub,
    aud,
    iss,
    exp,
    act,
    acr: acr || undefined,
    amr: amr.length === 0 ? undefined : amr,
    auth_time: authTime || undefined,
    cnf: cnf && { jkt: cnf.jkt, "x5t#S256": cnf.x5tS256 },
  };
}
