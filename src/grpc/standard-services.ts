import { readFile } from "node:fs/promises";
import { type Server, ServerInterceptingCall, type ServerInterceptingCallInterface, type ServerInterceptor, status } from "@grpc/grpc-js";
import type { HealthImplementation, ServingStatus } from "grpc-health-check";
import { loadOnce } from "../load-once.ts";

const HEALTH = "grpc.health.v1.Health";
const DESCRIPTORS = new URL("../gen/api.binpb", import.meta.url);

/**
 * Health checking and reflection. Their libraries would cost a quarter of the cold start, so they are loaded once the server listens; until
 * then their methods return UNIMPLEMENTED.
 * @param offered full names of the server's services
 * @see https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
export function standardServices(server: Server, offered: readonly string[]) {
  let state: ServingStatus = "NOT_SERVING";
  let health: HealthImplementation | undefined;
  const load = loadOnce(async () => {
    const [{ HealthImplementation, protoPath }, { ReflectionService }, { load: loadProto, loadFileDescriptorSetFromBuffer }] =
      await Promise.all([import("grpc-health-check"), import("@grpc/reflection"), import("@grpc/proto-loader")]);
    const descriptors = { ...loadFileDescriptorSetFromBuffer(await readFile(DESCRIPTORS)), ...(await loadProto(protoPath)) };
    health = new HealthImplementation(Object.fromEntries(["", ...offered].map((name) => [name, state])));
    health.addToServer(server);
    new ReflectionService(descriptors, { services: [...offered, HEALTH] }).addToServer(server);
  });
  return {
    setServing(serving: boolean): void {
      state = serving ? "SERVING" : "NOT_SERVING";
      for (const name of ["", ...offered]) health?.setStatus(name, state);
    },
    load,
  };
}

/** Tracks the streams of health checking and reflection, which would otherwise keep the server from closing. */
export function standardStreams(): { readonly interceptor: ServerInterceptor; end(): void } {
  const open = new Set<ServerInterceptingCallInterface>();
  return {
    interceptor: (method, call) => {
      if (!method.responseStream || !method.path.startsWith("/grpc.")) return new ServerInterceptingCall(call);
      return new ServerInterceptingCall(call, {
        start(next) {
          open.add(call);
          next({ onCancel: () => open.delete(call) });
        },
        sendStatus(answer, next) {
          open.delete(call);
          next(answer);
        },
      });
    },
    end() {
      for (const call of open) call.sendStatus({ code: status.OK, details: "" });
      open.clear();
    },
  };
}
