import { type ChildProcess, execFileSync, spawn, spawnSync } from "node:child_process";
import { chownSync, globSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { freePort } from "../test/support/free-port.ts";
import { until } from "../test/support/processes.ts";
import { descendantsOf, isAlive } from "./os.ts";
import type { Address } from "./proxy.ts";

/** PostgreSQL or Redis, in processes of this run alone, so that they can be killed. */
export interface Engine {
  readonly name: string;
  readonly address: Address;
  /** Ids of its processes, the first one first. */
  processes(): readonly number[];
  /** Starts it, and waits until it answers. */
  start(): Promise<void>;
}

const isRoot = process.getuid?.() === 0;
/** PostgreSQL refuses to run as root. */
const NOBODY = isRoot ? { uid: 65_534, gid: 65_534 } : {};
const DISK = "2g";

/** A directory for the data of the engines: a file system of its own, whose size can change, where this process may mount one. */
export function aDisk() {
  const path = mkdtempSync(join(tmpdir(), "countersign-chaos-"));
  const mount = (options: string) => spawnSync("mount", ["-t", "tmpfs", "-o", options, "countersign-chaos", path]).status === 0;
  const mounted = isRoot && mount(`size=${DISK},mode=0777`);
  if (isRoot && !mounted) chownSync(path, NOBODY.uid ?? 0, NOBODY.gid ?? 0);
  return {
    path,
    /** Whether it can be filled. */
    mounted,
    fill(): void {
      const used = Number(execFileSync("df", ["--output=used", "-B1", path], { encoding: "utf8" }).trim().split("\n").at(-1));
      if (!mount(`remount,size=${used + 64 * 1_024}`)) throw new Error("the file system cannot be made smaller");
    },
    empty: (): void => void mount(`remount,size=${DISK}`),
    remove(): void {
      if (mounted) spawnSync("umount", ["--lazy", path]);
      rmSync(path, { recursive: true, force: true });
    },
  };
}

export type Disk = ReturnType<typeof aDisk>;

const pidOf = (child: ChildProcess | undefined): number => child?.pid ?? 0;
const running = (child: ChildProcess | undefined): readonly number[] => {
  const all = [pidOf(child), ...descendantsOf(pidOf(child))];
  return all.filter((pid) => pid > 0 && isAlive(pid));
};

/** A cluster on `disk` with a database that `url` names. The kernel outlives every kill, so nothing waits for a disk. */
export async function startPostgres(disk: Disk): Promise<Engine & { readonly url: string }> {
  const bin = globSync("/usr/lib/postgresql/*/bin").sort().at(-1);
  if (bin === undefined) throw new Error("PostgreSQL is missing; apt-get install postgresql");
  const address = { host: "127.0.0.1", port: await freePort() };
  const data = join(disk.path, "postgres");
  const options = { cwd: disk.path, env: { PATH: process.env.PATH, HOME: disk.path }, ...NOBODY };
  execFileSync(join(bin, "initdb"), ["-D", data, "-U", "countersign", "--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"], {
    ...options,
    stdio: "ignore",
  });
  const settings = {
    max_connections: 200,
    fsync: "off",
    max_wal_size: "192MB",
    unix_socket_directories: disk.path,
    log_min_messages: "fatal",
  };
  writeFileSync(
    join(data, "postgresql.auto.conf"),
    Object.entries(settings)
      .map(([name, value]) => `${name} = '${value}'\n`)
      .join(""),
  );
  const url = `postgres://countersign@${address.host}:${address.port}/postgres`;
  const answers = async (): Promise<boolean> => {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1_000 });
    await client.connect();
    await client.end();
    return true;
  };
  let child: ChildProcess | undefined;
  const engine = {
    name: "PostgreSQL",
    address,
    url,
    processes: () => running(child),
    async start() {
      await until("PostgreSQL", async () => {
        if (running(child).length === 0)
          child = spawn(join(bin, "postgres"), ["-D", data, "-p", `${address.port}`, "-h", address.host], { ...options, stdio: "ignore" });
        return answers();
      });
    },
  };
  await engine.start();
  return engine;
}

/** Redis without a file: every kill empties it. */
export async function startRedis(disk: Disk): Promise<Engine> {
  const address = { host: "127.0.0.1", port: await freePort() };
  const directory = join(disk.path, "redis");
  mkdirSync(directory);
  const args = ["--bind", address.host, "--port", `${address.port}`, "--dir", directory, "--save", "", "--appendonly", "no"];
  let child: ChildProcess | undefined;
  const engine = {
    name: "Redis",
    address,
    processes: () => running(child),
    async start() {
      await until("Redis", async () => {
        if (running(child).length === 0) child = spawn("redis-server", args, { stdio: "ignore" });
        return spawnSync("redis-cli", ["-p", `${address.port}`, "ping"], { encoding: "utf8" }).stdout?.trim() === "PONG";
      });
    },
  };
  await engine.start();
  return engine;
}
