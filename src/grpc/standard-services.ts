import { readFile } from "node:fs/promises";
import type { Server } from "@grpc/grpc-js";
import type { HealthImplementation, ServingStatus } from "grpc-health-check";
import { collectMethods, serveLazily } from "./foreign-methods.ts";

export interface StandardServices {
  /** What the health service tells, for the server as a whole and for each of its services. */
  setServing(serving: boolean): void;
  /** Loads the libraries behind them, so that their first call need not. */
  load(): Promise<void>;
  /** Ends the streams that watch. */
  close(): void;
}

const HEALTH = "grpc.health.v1.Health";
const DESCRIPTORS = new URL("../gen/api.binpb", import.meta.url);

/**
 * Health checking and reflection, as every gRPC tool expects them.
 * @param offered full names of the services that this server has
 * @see https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
export function standardServices(server: Server, offered: readonly string[]): StandardServices {
  let state: ServingStatus = "NOT_SERVING";
  let health: HealthImplementation | undefined;
  const healthChecking = serveLazily(
    server,
    { unary: [`/${HEALTH}/Check`, `/${HEALTH}/List`], streams: [`/${HEALTH}/Watch`] },
    async () => {
      const library = await import("grpc-health-check");
      const implementation = new library.HealthImplementation(Object.fromEntries(["", ...offered].map((name) => [name, state])));
      health = implementation;
      return collectMethods((registrar) => implementation.addToServer(registrar));
    },
  );
  const reflection = serveLazily(
    server,
    { unary: [], streams: ["v1", "v1alpha"].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`) },
    async () => {
      const [{ ReflectionService }, { load, loadFileDescriptorSetFromBuffer }, { protoPath }] = await Promise.all([
        import("@grpc/reflection"),
        import("@grpc/proto-loader"),
        import("grpc-health-check"),
      ]);
      const descriptors = { ...loadFileDescriptorSetFromBuffer(await readFile(DESCRIPTORS)), ...(await load(protoPath)) };
      return collectMethods((registrar) => new ReflectionService(descriptors, { services: [...offered, HEALTH] }).addToServer(registrar));
    },
  );
  return {
    setServing(serving) {
      state = serving ? "SERVING" : "NOT_SERVING";
      for (const name of ["", ...offered]) health?.setStatus(name, state);
    },
    async load() {
      await healthChecking.load();
      await reflection.load();
    },
    close() {
      healthChecking.end();
      reflection.end();
    },
  };
}
