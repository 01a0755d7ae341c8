import { readFile } from "node:fs/promises";
import type { Server } from "@grpc/grpc-js";
import type { HealthImplementation, ServingStatus } from "grpc-health-check";
import { collectMethods, serveLazily } from "./foreign-methods.ts";

export interface StandardServices {
  /** What the health service tells, for the server as a whole and for each of its services. */
  setServing(serving: boolean): void;
  /** Ends the streams that watch. */
  close(): void;
}

const DESCRIPTORS = new URL("../gen/api.binpb", import.meta.url);

/**
 * Health checking and reflection, as every gRPC tool expects them.
 * @param offered full names of the services that this server has
 * @see https://github.com/grpc/grpc/blob/master/doc/health-checking.md
 */
export function standardServices(server: Server, offered: readonly string[]): StandardServices {
  let state: ServingStatus = "NOT_SERVING";
  let health: HealthImplementation | undefined;
  const endHealth = serveLazily(
    server,
    { unary: ["/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/List"], streams: ["/grpc.health.v1.Health/Watch"] },
    async () => {
      const library = await import("grpc-health-check");
      const implementation = new library.HealthImplementation(Object.fromEntries(["", ...offered].map((name) => [name, state])));
      health = implementation;
      return collectMethods((registrar) => implementation.addToServer(registrar));
    },
  );
  const endReflection = serveLazily(
    server,
    { unary: [], streams: ["v1", "v1alpha"].map((version) => `/grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`) },
    async () => {
      const [{ ReflectionService }, { loadFileDescriptorSetFromBuffer }] = await Promise.all([
        import("@grpc/reflection"),
        import("@grpc/proto-loader"),
      ]);
      const descriptors = loadFileDescriptorSetFromBuffer(await readFile(DESCRIPTORS));
      return collectMethods((registrar) => new ReflectionService(descriptors, { services: [...offered] }).addToServer(registrar));
    },
  );
  return {
    setServing(serving) {
      state = serving ? "SERVING" : "NOT_SERVING";
      for (const name of ["", ...offered]) health?.setStatus(name, state);
    },
    close() {
      endHealth();
      endReflection();
    },
  };
}
