import { join } from "node:path";
import { credentials, loadPackageDefinition, Metadata, type ServiceError } from "@grpc/grpc-js";
import { loadSync } from "@grpc/proto-loader";

const PROTO = join(import.meta.dirname, "../../proto");

interface Introspection {
  readonly active: boolean;
  readonly sub?: string;
  readonly scope?: string;
}

/** Introspects as a resource server in any language would: from the .proto files alone, with Basic credentials as call metadata. */
export function introspectOverGrpc(address: string, authorization: string, token: string): Promise<Introspection> {
  const definition = loadSync("countersign/introspection/v1/introspection.proto", { includeDirs: [PROTO], keepCase: true });
  // The package is read at run time, so its types are known to the .proto file alone.
  // biome-ignore lint/suspicious/noExplicitAny: see above
  const { IntrospectionService } = (loadPackageDefinition(definition) as any).countersign.introspection.v1;
  const client = new IntrospectionService(address, credentials.createInsecure());
  const metadata = new Metadata();
  metadata.set("authorization", authorization);
  return new Promise<Introspection>((resolve, reject) => {
    client.introspect({ token }, metadata, (error: ServiceError | null, answer: Introspection) =>
      error ? reject(error) : resolve(answer),
    );
  }).finally(() => client.close());
}
