// Asks the process in this container whether it can serve; exits 0 or 1. Usage: health.ts http|grpc
import { Client, credentials } from "@grpc/grpc-js";

const SERVING = Buffer.from([0x08, 0x01]); // HealthCheckResponse { status: SERVING }

const byHttp = async () => (await fetch(`http://127.0.0.1:${process.env.PORT || 3000}/health`, { signal: AbortSignal.timeout(2_000) })).ok;

/** It asks itself, on an address that its certificate hardly names: whose it is, is not judged. */
const channel = () =>
  process.env.GRPC_TLS_CERT ? credentials.createSsl(null, null, null, { rejectUnauthorized: false }) : credentials.createInsecure();

/** The standard health service, for the server as a whole: an empty request. */
const byGrpc = () =>
  new Promise<boolean>((resolve) => {
    const client = new Client(`127.0.0.1:${process.env.GRPC_PORT || 3001}`, channel());
    const bytes = (value: Buffer) => value;
    client.makeUnaryRequest(
      "/grpc.health.v1.Health/Check",
      bytes,
      bytes,
      Buffer.alloc(0),
      { deadline: Date.now() + 2_000 },
      (error, answer) => {
        client.close();
        resolve(!error && answer !== undefined && SERVING.equals(answer));
      },
    );
  });

const healthy = await (process.argv[2] === "grpc" ? byGrpc() : byHttp()).catch(() => false);
process.exit(healthy ? 0 : 1);
