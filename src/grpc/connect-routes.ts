import type { IncomingMessage, ServerResponse } from "node:http";
import type { Code as ConnectCode, ContextKey, HandlerContext } from "@connectrpc/connect";
import { type BodyBudget, gathering, UNCOUNTED } from "../body-budget.ts";
import { CATALOGUE, isRefusal, Refusal } from "../errors.ts";
import { ErrorDetailSchema } from "../gen/countersign/errors/v1/errors_pb.ts";
import { IntrospectionService } from "../gen/countersign/introspection/v1/introspection_pb.ts";
import { loadOnce } from "../load-once.ts";
import { resourceServerCredential } from "./caller-auth.ts";
import { INTROSPECTION_LIMIT, shortenDeadline } from "./deadline.ts";
import { REQUEST_BYTES, UNKNOWN_LEFT_OUT } from "./definition.ts";
import { type IntrospectionCall, introspectionService } from "./introspection.ts";
import type { TokenCore } from "./local.ts";
import { errorDetail } from "./refusal.ts";
import { admission, callRunner, MAX_IN_FLIGHT, type OnFault } from "./served-call.ts";

export interface ConnectRoutesOptions {
  readonly core: TokenCore;
  /** Named in the challenge of an invalid_client response. */
  readonly issuer: string;
  readonly addressOf: (request: IncomingMessage) => string;
  /** Counts the bodies that are arriving. */
  readonly bodies: BodyBudget;
  readonly onFault: OnFault;
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;
type AsyncHandler = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

const { introspect, introspectBatch, verifyApiKey } = IntrospectionService.method;
export const CONNECT_PATHS: ReadonlySet<string> = new Set(
  [introspect, introspectBatch, verifyApiKey].map(({ name }) => `/${IntrospectionService.typeName}/${name}`),
);

/**
 * IntrospectionService on the HTTP listener: JSON for `curl`, gRPC-Web for callers without gRPC; same authentication, limits and answers as
 * over gRPC, but for a message of gRPC-Web that cannot be decoded, which is `INTERNAL`. The Connect library is loaded with the first call.
 */
export function connectRoutes(options: ConnectRoutesOptions): Handler {
  const handler = loadOnce(() => loadHandler(options));
  return (request, response) => {
    response.setHeader("cache-control", "no-store");
    if (request.method !== "POST") {
      response.setHeader("allow", "POST");
      return refuse(response, 405, "unimplemented", "This path takes POST.");
    }
    if ((request.headers["content-encoding"] ?? "identity") !== "identity")
      return refuse(response, 415, "invalid_argument", "Compression is not accepted.");
    if ((request.headersDistinct["content-type"]?.length ?? 0) > 1)
      return refuse(response, 400, "invalid_argument", "content-type was sent more than once.");
    // The library makes a URL of it before it catches anything.
    if (!URL.canParse(`http://${request.headers.host ?? ""}`))
      return refuse(response, 400, "invalid_argument", "Host is missing or malformed.");
    shortenDeadline(request.headers);
    handler()
      .then((handle) => handle(request, response))
      .catch((fault: unknown) => {
        if (!isRefusal(fault)) options.onFault(fault, "connect");
        if (response.headersSent) return void response.destroy();
        response.setHeader("retry-after", "1");
        refuse(response, 503, "unavailable", "The service cannot answer now.");
      });
  };
}

/** Refuses what the library would accept, or take for a fault of its own. Part of the body may be unread, so the connection is closed. */
function refuse(response: ServerResponse, status: number, code: string, message: string): void {
  const body = JSON.stringify({ code, message });
  response.writeHead(status, { "content-type": "application/json", "accept-encoding": "identity", connection: "close" }).end(body);
}

const pathOf = ({ url }: IncomingMessage) => url?.split("?", 1)[0];

/** Whether a request may be longer than one of a single token: its length is unknown, or too great. */
const isLong = (request: IncomingMessage): boolean =>
  pathOf(request)?.endsWith(`/${introspectBatch.name}`) === true &&
  !(Number(request.headers["content-length"]) <= REQUEST_BYTES.introspect);

/** Bytes of a body that are passed on together, unless it ends. */
const BLOCK = 4096;

/**
 * Counts what the library reads of a body, if it may be longer than `UNCOUNTED`; one of a declared length above `limit` is not read at all.
 * @param full is thrown where there is no room
 */
function countBody(request: IncomingMessage, response: ServerResponse, limit: number, bodies: BodyBudget, full: () => Error): void {
  const declared = Number(request.headers["content-length"]);
  if (declared <= UNCOUNTED || declared > limit) return;
  delete request.headers["content-length"]; // the library would allocate that much before anything has arrived
  async function* counted(): AsyncGenerator<Buffer> {
    const share = bodies();
    try {
      let block = gathering(); // the library keeps each piece that it gets until the last
      for await (const chunk of request.iterator({ destroyOnReturn: false })) {
        if (!share.take(chunk.length)) throw full();
        if (block.add(chunk) < BLOCK) continue;
        yield block.bytes();
        block = gathering();
      }
      yield block.bytes();
    } finally {
      share.giveBack();
      if (!request.complete && !response.headersSent) response.setHeader("connection", "close"); // the rest stays unread
    }
  }
  Object.defineProperty(request, Symbol.asyncIterator, { value: counted });
}

/** @throws any error but the refusal of a wrong credential */
async function isAuthenticated(request: IncomingMessage, { core, addressOf }: ConnectRoutesOptions): Promise<boolean> {
  try {
    const client = resourceServerCredential(request.headersDistinct.authorization ?? [], addressOf(request));
    await core.introspect({ client, tokens: [] }, { signal: AbortSignal.timeout(INTROSPECTION_LIMIT) });
    return true;
  } catch (error) {
    if (isRefusal(error) && error.code !== "temporarily_unavailable") return false;
    throw error;
  }
}

async function loadHandler(options: ConnectRoutesOptions): Promise<AsyncHandler> {
  const { core, issuer, addressOf, bodies, onFault } = options;
  const [
    { universalRequestFromNodeRequest, universalResponseToNodeResponse },
    { Code, ConnectError, createConnectRouter, createContextKey, createContextValues },
  ] = await Promise.all([import("@connectrpc/connect-node"), import("@connectrpc/connect")]);
  /** Whether the library has decoded the message. One that it cannot decode it takes for a fault of its own. */
  const decoded: ContextKey<boolean> = createContextKey(false);
  const presented: ContextKey<readonly string[]> = createContextKey<readonly string[]>([]);
  const address: ContextKey<string> = createContextKey("");
  const run = callRunner(admission(MAX_IN_FLIGHT), onFault);
  const service = introspectionService(core);
  const errorOf = (thrown: unknown): Error => {
    if (!isRefusal(thrown)) return new Error("internal error"); // Connect sends no text of errors other than its own
    const { grpc } = CATALOGUE[thrown.code];
    const challenge = thrown.code === "invalid_client" && { "www-authenticate": `Basic realm="${issuer}", charset="UTF-8"` };
    const retry = thrown.detail.retryAfter !== undefined && { "retry-after": String(Math.ceil(thrown.detail.retryAfter)) };
    // The catalogue's numbers are those of google.rpc.Code, as Connect's are.
    return new ConnectError(thrown.detail.description ?? thrown.code, grpc as ConnectCode, { ...challenge, ...retry }, [
      { desc: ErrorDetailSchema, value: errorDetail(thrown) },
    ]);
  };
  const answer =
    <Request, Answer>(serve: (request: Request, call: IntrospectionCall) => Promise<Answer>) =>
    (request: Request, context: HandlerContext): Promise<Answer> => {
      context.values.set(decoded, true);
      const terms = {
        method: context.method.name,
        limit: INTROSPECTION_LIMIT,
        callerWaits: context.timeoutMs(),
        onLeave: (leave: () => void) => context.signal.addEventListener("abort", leave, { once: true }),
      };
      const credential = () => resourceServerCredential(context.values.get(presented), context.values.get(address));
      return run(terms, async (signal) => serve(request, { client: credential(), signal })).catch((thrown: unknown) => {
        throw errorOf(thrown);
      });
    };
  const adapter = (batchBytes: number): AsyncHandler => {
    const { handlers } = createConnectRouter({
      grpc: false,
      acceptCompression: [],
      binaryOptions: UNKNOWN_LEFT_OUT,
      jsonOptions: { useProtoFieldName: true, ignoreUnknownFields: true },
    })
      .rpc(introspect, answer(service.introspect), { readMaxBytes: REQUEST_BYTES.introspect })
      .rpc(introspectBatch, answer(service.introspectBatch), { readMaxBytes: batchBytes })
      .rpc(verifyApiKey, answer(service.verifyApiKey), { readMaxBytes: REQUEST_BYTES.introspect });
    const serve: AsyncHandler = async (request, response) => {
      const values = createContextValues()
        .set(presented, request.headersDistinct.authorization ?? [])
        .set(address, addressOf(request));
      const handle = handlers.find(({ requestPath }) => requestPath === pathOf(request));
      const answered = await handle?.(universalRequestFromNodeRequest(request, response, undefined, values));
      if (answered === undefined) return refuse(response, 404, "unimplemented", "There is no such method.");
      if (answered.status === 500 && !values.get(decoded)) return refuse(response, 400, "invalid_argument", "The message cannot be read.");
      await universalResponseToNodeResponse(answered, response);
    };
    return (request, response) =>
      serve(request, response).catch((reason: unknown) => {
        if (ConnectError.from(reason).code !== Code.Aborted) throw reason; // the caller has left
      });
  };
  const [short, whole] = [adapter(REQUEST_BYTES.introspect), adapter(REQUEST_BYTES.introspectBatch)];
  const full = () => errorOf(new Refusal("temporarily_unavailable", "bodies_full", { retryAfter: 1 }));
  return async (request, response) => {
    // Slow senders are not limited in number, and each would hold its part of a MiB.
    const takesLong = isLong(request) && (await isAuthenticated(request, options));
    countBody(request, response, takesLong ? REQUEST_BYTES.introspectBatch : REQUEST_BYTES.introspect, bodies, full);
    await (takesLong ? whole : short)(request, response);
  };
}
