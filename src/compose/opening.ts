import { createServer } from "node:net";
import { resolve } from "node:path";
import type { Config, Role } from "../config.ts";
import { databaseFault, UNANSWERED } from "../database-fault.ts";
import { isRefusal } from "../errors.ts";
import { isLoopbackHost } from "../outside/public-address.ts";
import { type Ephemeral, memoryEphemeral } from "../store/ephemeral/memory.ts";
import { connectDatabase, type Database, openDatabase } from "../store/orm.ts";
import type { Log } from "../telemetry/log.ts";
import type { DatabaseOutages } from "./database-outages.ts";

const location = (config: Config) => (config.databaseUrl === undefined ? { dir: config.dataDir } : { url: config.databaseUrl });

/** Whether this machine may be fetched from: outside production, by a server that only this machine reaches. */
export const reachesLoopback = ({ environment, host }: Pick<Config, "environment" | "host">): boolean =>
  environment !== "production" && isLoopbackHost(host);

/** The configured database, with a current schema. @throws {Error} naming the setting at fault */
export const openConfigured = (config: Config, disk?: DatabaseOutages["disk"]): Promise<Database> =>
  openDatabase({
    ...location(config),
    migrate: config.migrateOnStart,
    pool: config.databasePool,
    onDisk: (full) => disk?.(full, resolve(config.dataDir)),
  }).catch((error: unknown) => {
    throw asStartFault(error, config);
  });

/** The configured database, with whatever schema it has. */
export const connectConfigured = (config: Config): Promise<Database> => connectDatabase(location(config), config.databasePool);

/** Rates and caches in Redis if its URL is set, else in this process. */
export const openEphemeral = async ({ redisUrl, issuer }: Pick<Config, "redisUrl" | "issuer">, log: Log): Promise<Ephemeral> =>
  redisUrl === undefined ? memoryEphemeral() : (await import("../store/ephemeral/redis.ts")).redisEphemeral(redisUrl, issuer, log);

/** Describes the database for log and terminal, without credentials. */
export function databaseWords({ databaseUrl, dataDir }: Pick<Config, "databaseUrl" | "dataDir">): string {
  if (databaseUrl === undefined) return `the embedded database under ${resolve(dataDir)}`;
  const { host, pathname } = new URL(databaseUrl);
  return `the database ${pathname.slice(1) || "of the user's name"} at ${host || "DATABASE_URL"}`;
}

const DIRECTORY_FAULTS: ReadonlyMap<unknown, string> = new Map([
  ["EEXIST", "is a file"],
  ["ENOTDIR", "lies below a file"],
  ["EACCES", "may not be written to"],
  ["EROFS", "may not be written to"],
]);

/** The embedded database is read-only while its disk is nearly full, which it may become at a start: a first one takes 40 MiB. */
const isForWantOfRoom = (cause: unknown): boolean =>
  cause instanceof Error && "code" in cause && /^(?:25006|5310)/.test(String(cause.code));

/** A storage fault as an error that names the setting at fault; any other error unchanged. */
export function asStartFault(error: unknown, { databaseUrl }: Pick<Config, "databaseUrl">): unknown {
  if (databaseUrl !== undefined) {
    const isUnanswered = isRefusal(error) && error.code === "temporarily_unavailable";
    const fault = databaseFault(error) ?? (isUnanswered ? UNANSWERED : undefined);
    return fault === undefined ? error : new Error(`DATABASE_URL: ${fault.what}; ${fault.remedy}.`, { cause: error });
  }
  if (isRefusal(error) && isForWantOfRoom(error.detail.cause))
    return new Error("DATA_DIR: its disk has become full; the embedded database needs 48 MiB that stay free.", { cause: error });
  const fault = error instanceof Error ? DIRECTORY_FAULTS.get((error as NodeJS.ErrnoException).code) : undefined;
  return fault === undefined ? error : new Error(`DATA_DIR: ${fault}; give a directory of this user's own.`, { cause: error });
}

interface Listening {
  readonly setting: "PORT" | "GRPC_PORT";
  readonly port: number;
  readonly host: string;
}

const hostSetting = ({ setting }: Listening) => (setting === "PORT" ? "HOST" : "GRPC_HOST");

const LISTENING_FAULTS: readonly (readonly [code: RegExp, fault: (at: Listening) => string])[] = [
  [/EADDRINUSE/, ({ setting, port, host }) => `${setting}: ${port} is taken on ${host}; give a free one, or stop what listens there.`],
  [/EACCES/, ({ setting, port, host }) => `${setting}: ${port} may not be opened on ${host} by this user; give one above 1023.`],
  [/EADDRNOTAVAIL/, (at) => `${hostSetting(at)}: is no address of this machine; give one that it has, or 0.0.0.0 for all.`],
  [/ENOTFOUND|EAI_AGAIN/, (at) => `${hostSetting(at)}: is a name without an address; give another name, or an IP address.`],
];

/** Checks that the ports of a process are available, before a database is opened for nothing. @throws {Error} naming the setting */
export async function assertPortsFree({ host, port, grpc }: Pick<Config, "host" | "port" | "grpc">, role: Role): Promise<void> {
  if (role !== "core") await listening({ setting: "PORT", port, host }, () => openBriefly(host, port));
  if (role !== "front")
    await listening({ setting: "GRPC_PORT", port: grpc.port, host: grpc.host }, () => openBriefly(grpc.host, grpc.port));
}

const openBriefly = (host: string, port: number): Promise<void> =>
  new Promise((resolve, reject) => {
    const server = createServer().once("error", reject);
    server.listen({ host, port }, () => server.close(() => resolve()));
  });

/** Opens a listener. @param at its port, and the setting of it  @throws {Error} naming the setting at fault; any other error unchanged */
export async function listening<Listener>(at: Listening, open: () => Promise<Listener>): Promise<Listener> {
  try {
    return await open();
  } catch (error) {
    // The gRPC library gives the system's code only in its message.
    const text = error instanceof Error ? error.message : "";
    const fault = LISTENING_FAULTS.find(([code]) => code.test(text))?.[1];
    throw fault === undefined ? error : new Error(fault(at), { cause: error });
  }
}
