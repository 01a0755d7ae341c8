import { generateKeyPairSync } from "node:crypto";
import { join } from "node:path";
import { keyFor } from "../test/support/assertions.ts";
import { type ServerDriver, serverDriver } from "../test/support/flow.ts";
import { freePort } from "../test/support/free-port.ts";
import {
  aDirectory,
  cheapHashes,
  endProcesses,
  named,
  preloads,
  provisionFile,
  type ServiceProcess,
  shiftedClock,
  startProcess,
} from "../test/support/processes.ts";
import { PROVISIONED } from "../test/support/provisioned.ts";
import { aDisk, type Disk, type Engine, startPostgres, startRedis } from "./engines.ts";
import { commandOf, descendantsOf, signal } from "./os.ts";
import { type Link, startLink } from "./proxy.ts";

const NAME = "cores.example.test";
const HOST = "127.0.0.1";
const CORE_HOSTS = [HOST, "127.0.0.2"];

/** A front or a core, which can be replaced by another process like it. */
export interface Part {
  readonly name: string;
  readonly role: "front" | "core";
  process: ServiceProcess;
  readonly toDatabase: Link;
  readonly toRedis: Link;
  /** Of a front: its links to the cores. */
  readonly toCores: readonly Link[];
  /** Ids of all of its processes, the first one first. */
  processes(): readonly number[];
  /** Starts it again. @param env what differs from now on; `clock`: the seconds by which its clock is wrong */
  start(change?: { readonly env?: Record<string, string>; readonly clock?: number }): Promise<void>;
}

/** Two fronts, one of them with two workers, and two cores over one PostgreSQL and one Redis, with a breakable network between them all. */
export interface Service {
  readonly fronts: readonly Part[];
  readonly cores: readonly Part[];
  readonly postgres: Engine & { readonly url: string };
  readonly redis: Engine;
  readonly disk: Disk;
  /** One for each front. */
  readonly drivers: readonly ServerDriver[];
  /** Over both fronts, by a balancer: where browsers are. */
  readonly site: ServerDriver;
  close(): Promise<void>;
}

/** The process that hashes passwords for one of the processes of a part, if one runs. */
export const hashingProcessOf = (part: Part): number | undefined =>
  part.processes().find((pid) => commandOf(pid).includes("hashing-process"));

/** The workers of a part that has some. */
export const workersOf = (part: Part): readonly number[] =>
  part.processes().filter((pid, n) => n > 0 && !commandOf(pid).includes("hashing-process"));

const newKey = (): string => generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString();

/** The settings by which a core rotates its key: the former one signs until the new one has been published long enough. */
export function rotation(): { readonly first: Record<string, string>; next(): Record<string, string> } {
  let current = newKey();
  return {
    first: { JWT_PRIVATE_KEY: current },
    next() {
      const previous = current;
      current = newKey();
      return { JWT_PRIVATE_KEY: current, JWT_PREVIOUS_PRIVATE_KEY: previous };
    },
  };
}

/** The key of the client `robot`, which authenticates by assertions. */
export const ROBOT_KEY = keyFor("EdDSA", "robot-1");

/** The clients of the load. */
export const PLAN = {
  ...PROVISIONED,
  clients: [
    ...PROVISIONED.clients,
    {
      clientId: "robot",
      name: "Robot",
      tokenEndpointAuthMethod: "private_key_jwt",
      grantTypes: ["client_credentials"],
      scopes: ["notes:read"],
      jwks: { keys: [ROBOT_KEY.jwk] },
    },
  ],
};

/** Settings of all parts: nothing expires during a run, so that what no longer works was used up or revoked. */
const SETTINGS = {
  TOKEN_CORE_SECRET: "the secret of the fronts of this run",
  TRUST_PROXY: "true",
  ACCESS_TOKEN_TTL: "86400",
  AUTHORIZATION_CODE_TTL: "600",
};

/** What all parts have in common. */
interface Surroundings {
  readonly env: Readonly<Record<string, string>>;
  readonly grpc: number;
  readonly engines: readonly [postgres: Engine, redis: Engine];
  link(...given: Parameters<typeof startLink>): Promise<Link>;
}

/** Starts again what did not start, as the supervisors of processes do: where PostgreSQL does not answer soon enough, a start ends. */
async function supervised(launch: () => Promise<ServiceProcess>, starts = 3): Promise<ServiceProcess> {
  return launch().catch((error: unknown) => {
    if (starts <= 1) throw error;
    return supervised(launch, starts - 1);
  });
}

/** @param coreHosts of a front: addresses at which it reaches each core */
async function startPart(
  { env, grpc, engines: [postgres, redis], link }: Surroundings,
  { name, role, own, coreHosts = [] }: Pick<Part, "name" | "role"> & { own: Record<string, string>; coreHosts?: readonly string[] },
): Promise<Part> {
  const [databasePort, redisPort] = [await freePort(), await freePort()];
  const toCores: Link[] = [];
  for (const [n, host] of coreHosts.entries())
    toCores.push(await link(`${name} – core ${n + 1}`, { host, port: grpc }, [{ host: CORE_HOSTS[n] ?? HOST, port: grpc }]));
  const toDatabase = await link(`${name} – PostgreSQL`, { host: HOST, port: databasePort }, [postgres.address]);
  const toRedis = await link(`${name} – Redis`, { host: HOST, port: redisPort }, [redis.address]);
  const stores = { DATABASE_URL: `postgres://countersign@${HOST}:${databasePort}/postgres`, REDIS_URL: `redis://${HOST}:${redisPort}` };
  const state = { env: { ...env, ...stores, ...own }, clock: 0 };
  const launch = (): Promise<ServiceProcess> => {
    const preloaded = [cheapHashes(), named(NAME, coreHosts), ...(state.clock === 0 ? [] : [shiftedClock(state.clock)])];
    return startProcess({ ...state.env, ...preloads(...preloaded) }, role);
  };
  const part: Part = {
    name,
    role,
    process: await launch(),
    toDatabase,
    toRedis,
    toCores,
    processes: () => [part.process.child.pid ?? 0, ...descendantsOf(part.process.child.pid ?? 0)],
    async start({ env: changed = {}, clock = state.clock } = {}) {
      state.env = { ...state.env, ...changed };
      state.clock = clock;
      part.process = await supervised(launch);
    },
  };
  return part;
}

export async function startService(keys: Record<string, string>): Promise<Service> {
  const disk = aDisk();
  const links: Link[] = [];
  const engines: Engine[] = [];
  const link = async (...given: Parameters<typeof startLink>): Promise<Link> => {
    const one = await startLink(...given);
    links.push(one);
    return one;
  };
  try {
    const [postgres, redis] = await Promise.all([startPostgres(disk), startRedis(disk)]);
    engines.push(postgres, redis);
    const [first, second, site, grpc] = [await freePort(), await freePort(), await freePort(), await freePort()];
    const dataDir = aDirectory();
    const env = { ...SETTINGS, DATA_DIR: dataDir, JWT_ISSUER: `http://localhost:${site}`, PROVISION_FILE: provisionFile(PLAN) };
    const around: Surroundings = { env, grpc, engines: [postgres, redis], link };
    const cores: Part[] = [];
    for (const [n, GRPC_HOST] of CORE_HOSTS.entries())
      cores.push(await startPart(around, { name: `core ${n + 1}`, role: "core", own: { ...keys, GRPC_HOST, GRPC_PORT: `${grpc}` } }));
    const front = (n: number, port: number, own: Record<string, string> = {}) =>
      startPart(around, {
        name: `front ${n}`,
        role: "front",
        own: { PORT: `${port}`, TOKEN_CORE_URL: `http://${NAME}:${grpc}`, ...own },
        coreHosts: [`127.0.0.${n}1`, `127.0.0.${n}2`],
      });
    const fronts = await Promise.all([front(1, first), front(2, second, { WORKERS: "2" })]);
    const addresses = [first, second].map((port) => ({ host: HOST, port }));
    await link("browsers – fronts", { host: HOST, port: site }, addresses);
    const outbox = join(dataDir, "outbox");
    return {
      fronts,
      cores,
      postgres,
      redis,
      disk,
      drivers: addresses.map(({ port }) => serverDriver(`http://${HOST}:${port}`, outbox)),
      site: serverDriver(`http://localhost:${site}`, outbox),
      close: () => close(links, disk, engines),
    };
  } catch (error) {
    await close(links, disk, engines);
    throw error;
  }
}

async function close(links: readonly Link[], disk: Disk, engines: readonly Engine[]): Promise<void> {
  await endProcesses();
  for (const link of links) link.close();
  for (const engine of engines) signal(engine.processes(), "SIGKILL");
  disk.remove();
}
