import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { freePort } from "./processes.ts";
import type { Storage } from "./storage.ts";

const MAIN = fileURLToPath(new URL("../src/main.ts", import.meta.url));

/** The settings of a server under measurement. Log lines of single requests are off, as they are by default. */
export const serverEnv = ({ env }: Storage): NodeJS.ProcessEnv => ({
  ...(process.env.PATH !== undefined && { PATH: process.env.PATH }),
  NODE_ENV: "development",
  LOG_LEVEL: "warn",
  HOST: "127.0.0.1",
  ...env,
});

export interface Served {
  readonly port: number;
  readonly child: ChildProcess;
  readonly grpcPort: number;
  stop(): Promise<void>;
}

/** Starts `serve` as an operator would, until it says that it is healthy. @param more settings besides those of every server */
export async function startServe(storage: Storage, more: NodeJS.ProcessEnv = {}): Promise<Served> {
  const [port, grpcPort] = [await freePort(), await freePort()];
  const env = { ...serverEnv(storage), PORT: String(port), GRPC_PORT: String(grpcPort), ...more };
  const begun = performance.now();
  const child = spawn(process.execPath, ["--conditions=countersign", MAIN, "serve"], { env, stdio: "ignore" });
  const ended = once(child, "exit");
  while (!(await isHealthy(port))) {
    if (child.exitCode !== null || performance.now() - begun > 60_000) throw new Error("the server did not become healthy");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return {
    port,
    child,
    grpcPort,
    async stop() {
      child.kill("SIGINT");
      await ended;
    },
  };
}

const isHealthy = (port: number): Promise<boolean> =>
  fetch(`http://127.0.0.1:${port}/health`).then(
    (response) => response.status === 200,
    () => false,
  );
