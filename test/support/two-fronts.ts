import { rmSync } from "node:fs";
import { join } from "node:path";
import { compose, type Running } from "../../src/compose.ts";
import { loadConfig } from "../../src/config.ts";
import { parseProvisionFile } from "../../src/management/provision.ts";
import { aDataDir } from "./data-directory.ts";
import { type ServerDriver, serverDriver } from "./flow.ts";
import { freePort } from "./free-port.ts";
import { lentDatabase } from "./lent-database.ts";
import { TEST_DATABASE_URL } from "./postgres.ts";
import { LOW_COST } from "./server.ts";

export const FRONT_SECRET = "the front's secret, long enough to be one";

/** Two fronts, each with a core of its own, over one database, so that state which a process keeps for itself would show. */
export async function startTwoFronts(provision: object, settings: Record<string, string> = {}) {
  const dataDir = aDataDir();
  const { database, url: databaseUrl } = await lentDatabase(TEST_DATABASE_URL === undefined ? "embedded" : "postgresql");
  const plan = parseProvisionFile(JSON.stringify(provision));
  const ports = await Promise.all([1, 2, 3, 4].map(freePort));
  const running: Running[] = [];
  const start = async (port: number | undefined, grpcPort: number | undefined): Promise<ServerDriver> => {
    const env = {
      NODE_ENV: "test",
      PORT: String(port),
      GRPC_PORT: String(grpcPort),
      DATA_DIR: dataDir,
      LOG_LEVEL: "silent",
      JWT_ISSUER: `http://localhost:${ports[0]}`,
      TOKEN_CORE_SECRET: FRONT_SECRET,
      ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
      ...settings,
    };
    running.push(await compose(loadConfig(env, "core"), "core", { database, passwordCost: LOW_COST, provision: plan }));
    const core = { TOKEN_CORE_URL: `http://127.0.0.1:${grpcPort}` };
    running.push(await compose(loadConfig({ ...env, ...core }, "front"), "front", { database, passwordCost: LOW_COST }));
    return serverDriver(`http://localhost:${port}`, join(dataDir, "outbox"));
  };
  const here = await start(ports[0], ports[2]);
  const there = await start(ports[1], ports[3]);
  return {
    here,
    there,
    database,
    /** The gRPC addresses of the two cores. */
    grpc: { here: `127.0.0.1:${ports[2]}`, there: `127.0.0.1:${ports[3]}` },
    async close() {
      for (const part of running.reverse()) await part.close(0);
      await database.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
