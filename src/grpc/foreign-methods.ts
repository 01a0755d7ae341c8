import {
  type handleBidiStreamingCall,
  type handleUnaryCall,
  type MethodDefinition,
  type Server,
  type ServerDuplexStream,
  type ServerErrorResponse,
  status,
  type UntypedHandleCall,
} from "@grpc/grpc-js";
import { loadOnce } from "../load-once.ts";

/** A method of a standard service that a library implements. */
interface LazyMethod {
  readonly definition: MethodDefinition<unknown, unknown>;
  readonly handle: UntypedHandleCall;
}

/** By path. */
type LazyMethods = ReadonlyMap<string, LazyMethod>;

/** Which methods there will be, told before the library that implements them is loaded. */
export interface Announced {
  readonly unary: readonly string[];
  readonly streams: readonly string[];
}

/** Collects what a library registers, in place of a server. */
export function collectMethods(register: (registrar: Pick<Server, "addService">) => void): LazyMethods {
  const methods = new Map<string, LazyMethod>();
  register({
    addService(service, implementation) {
      for (const [name, definition] of Object.entries<MethodDefinition<unknown, unknown>>(service)) {
        const handle = implementation[name] ?? implementation[definition.originalName ?? name];
        if (handle !== undefined) methods.set(definition.path, { definition, handle: handle.bind(implementation) });
      }
    },
  });
  return methods;
}

const MALFORMED = { code: status.INVALID_ARGUMENT, details: "the message cannot be read" };
const BROKEN = { code: status.INTERNAL, details: "internal error" };
const sameBytes = (bytes: Buffer): Buffer => bytes;

export interface LazyService {
  /** Loads the library now, so that the first call need not. */
  load(): Promise<void>;
  /** Ends the streams that are open. */
  end(): void;
}

/**
 * Serves methods whose library is loaded after the start, or when they are first called: it would cost a quarter of the cold start.
 */
export function serveLazily(server: Server, { unary, streams }: Announced, load: () => Promise<LazyMethods>): LazyService {
  const loaded = loadOnce(load);
  const method = async (path: string): Promise<LazyMethod> => {
    const found = (await loaded()).get(path);
    if (found === undefined) throw new Error(`${path} is not implemented by its library`);
    return found;
  };
  for (const path of unary) {
    const handle: handleUnaryCall<Buffer, Buffer> = (call, done) => {
      method(path).then(
        (foreign) => answerOnce(foreign, call.request, done),
        () => done(BROKEN),
      );
    };
    server.register(path, handle, sameBytes, sameBytes, "unary");
  }
  const open = new Set<ServerDuplexStream<Buffer, Buffer>>();
  for (const path of streams) {
    const handle: handleBidiStreamingCall<Buffer, Buffer> = (call) => {
      open.add(call);
      call.on("cancelled", () => open.delete(call)).on("finish", () => open.delete(call));
      method(path).then(
        (foreign) => call.cancelled || relay(foreign, call),
        () => call.emit("error", BROKEN),
      );
    };
    server.register(path, handle, sameBytes, sameBytes, "bidi");
  }
  return {
    load: async () => {
      await loaded();
    },
    end: () => {
      for (const call of open) call.end();
    },
  };
}

function answerOnce(
  { definition, handle }: LazyMethod,
  bytes: Buffer,
  done: (error: Partial<ServerErrorResponse> | null, answer?: Buffer) => void,
): void {
  let request: unknown;
  try {
    request = definition.requestDeserialize(bytes);
  } catch {
    done(MALFORMED);
    return;
  }
  // The library's handlers read `request` and nothing else of a call.
  const call = { request } as Parameters<handleUnaryCall<unknown, unknown>>[0];
  (handle as handleUnaryCall<unknown, unknown>)(call, (error, answer) =>
    error ? done(error) : done(null, definition.responseSerialize(answer)),
  );
}

/** Hands a stream of bytes to a handler of messages, be it for one request or for many. */
function relay({ definition, handle }: LazyMethod, call: ServerDuplexStream<Buffer, Buffer>): void {
  const decode = (use: (message: unknown) => void) => (bytes: Buffer) => {
    try {
      use(definition.requestDeserialize(bytes));
    } catch {
      call.emit("error", MALFORMED);
    }
  };
  const seen = {
    write: (message: unknown) => call.write(definition.responseSerialize(message)),
    end: () => call.end(),
    on: (event: string, listener: (value: unknown) => void) => call.on(event, event === "data" ? decode(listener) : listener),
  };
  const start = (request?: unknown) => {
    // Of a streaming call the libraries' handlers use what `seen` has, and the request where there is but one.
    (handle as handleBidiStreamingCall<unknown, unknown>)({ ...seen, request } as unknown as ServerDuplexStream<unknown, unknown>);
  };
  if (definition.requestStream) start();
  else call.once("data", decode(start));
}
