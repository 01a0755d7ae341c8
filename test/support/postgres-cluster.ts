import { execFileSync } from "node:child_process";
import { appendFileSync, chmodSync, chownSync, globSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { freePort } from "./free-port.ts";
import { aDirectory } from "./processes.ts";

/** PostgreSQL refuses to run as root. */
const ACCOUNT = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** A PostgreSQL server of a test's own, with data that the test may destroy. It runs until `stop`. */
export interface Cluster {
  readonly url: string;
  /** Of the account that the server runs as. */
  readonly dir: string;
  readonly data: string;
  /** Runs commands as that account. */
  run(commands: readonly string[], env?: Record<string, string>): string;
  /** Ends the server at once, as a crash does. */
  stop(): void;
}

/** @param settings lines for postgresql.conf, by the folder of the cluster */
export async function aCluster(settings: (dir: string) => string): Promise<Cluster> {
  const bin = globSync("/usr/lib/postgresql/*/bin").sort().at(-1) ?? expect.fail("PostgreSQL is not installed");
  const dir = aDirectory();
  const data = join(dir, "data");
  mkdirSync(join(dir, "wal"));
  for (const each of [dir, join(dir, "wal")]) {
    chmodSync(each, 0o711);
    if (ACCOUNT.uid !== undefined) chownSync(each, ACCOUNT.uid, ACCOUNT.gid);
  }
  const run = (commands: readonly string[], env: Record<string, string> = {}): string =>
    execFileSync("bash", ["-c", ["set -eu", ...commands].join("\n")], {
      ...ACCOUNT,
      cwd: dir,
      encoding: "utf8",
      env: { PATH: `${bin}:${process.env.PATH}`, HOME: dir, PGDATA: data, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
  const port = await freePort();
  run(["initdb --username=countersign --auth=trust --encoding=UTF8 --locale=C --no-sync"]);
  // The test kills processes, not the machine: nothing has to reach the disk.
  const own = ["listen_addresses = '127.0.0.1'", `port = ${port}`, `unix_socket_directories = '${dir}'`, "fsync = off"];
  appendFileSync(join(data, "postgresql.conf"), `${[...own, settings(dir)].join("\n")}\n`);
  run(["pg_ctl --log=first.log --wait start"]);
  return {
    url: `postgres://countersign@127.0.0.1:${port}/postgres`,
    dir,
    data,
    run,
    stop: () => void run(["test ! -e $PGDATA/postmaster.pid || pg_ctl --mode=immediate --wait stop"]),
  };
}
