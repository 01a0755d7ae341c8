import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** A loopback port that was free a moment ago. */
async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  await once(probe, "close");
  return typeof address === "object" && address !== null ? address.port : 0;
}

export interface ServerProcess {
  readonly url: string;
  /** `host:port` of gRPC. */
  readonly grpc: string;
  /** Sends SIGINT and waits. @returns the exit code */
  stop(): Promise<number | null>;
}

/**
 * Starts `countersign serve` as its own process and waits until it is healthy.
 * @throws {Error} with what the process said, when it ends before that
 */
export async function startServerProcess(env: Record<string, string>): Promise<ServerProcess> {
  const [port, grpcPort] = [await freePort(), await freePort()];
  const child = spawn(process.execPath, ["--conditions=countersign", join(ROOT, "src/main.ts"), "serve"], {
    env: { PATH: process.env.PATH, NODE_ENV: "development", LOG_LEVEL: "warn", ...env, PORT: String(port), GRPC_PORT: String(grpcPort) },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const ended = once(child, "exit").then(([code]) => code as number | null);
  let said = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text: Buffer) => (said += text.toString()));
  const url = `http://localhost:${port}`;
  while (!(await isHealthy(url))) {
    if (child.exitCode !== null) throw new Error(`the server did not start:\n${said}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    url,
    grpc: `127.0.0.1:${grpcPort}`,
    stop() {
      child.kill("SIGINT");
      return ended;
    },
  };
}

const isHealthy = (url: string): Promise<boolean> =>
  fetch(`${url}/health`).then(
    (response) => response.ok,
    () => false,
  );
