import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const pinned = join(import.meta.dirname, "../runtimes");

/**
 * The folder with the runtimes of test/runtimes, kept between runs until their lockfile changes; undefined when they cannot be installed.
 */
async function installed(): Promise<string | undefined> {
  const lock = readFileSync(join(pinned, "package-lock.json"));
  const dir = join(tmpdir(), `countersign-runtimes-${createHash("sha256").update(lock).digest("hex").slice(0, 12)}`);
  if (existsSync(dir)) return dir;
  const making = mkdtempSync(`${dir}-`);
  try {
    for (const name of ["package.json", "package-lock.json"]) cpSync(join(pinned, name), join(making, name));
    await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-bin-links", "--fetch-retries=1"], { cwd: making, timeout: 300_000 });
    if (!existsSync(dir)) renameSync(making, dir);
    return dir;
  } catch (error) {
    if (String(error).includes("EUSAGE")) throw error; // a lockfile that does not match is an error, not a missing toolchain
    return existsSync(dir) ? dir : undefined; // another process was first, or the packages cannot be installed
  } finally {
    rmSync(making, { recursive: true, force: true });
  }
}

/** The path of a runtime in the folder of packages; undefined when there is none for this machine. */
const firstOf = (dir: string | undefined, ...paths: readonly string[]): string | undefined =>
  dir === undefined ? undefined : paths.map((path) => join(dir, "node_modules", path)).find((path) => existsSync(path));

/** The command of each runtime; undefined where it is missing on this machine. */
export async function runtimes() {
  const dir = await installed();
  const node = (major: number) => firstOf(dir, `node-${major}-x64/bin/node`, `node-${major}-arm64/bin/node`);
  const bun = firstOf(dir, "@oven/bun-linux-x64/bin/bun", "@oven/bun-linux-aarch64/bin/bun");
  const deno = firstOf(dir, "@deno/linux-x64-glibc/deno");
  const command = (file: string | undefined, ...args: string[]) => (file === undefined ? undefined : ([file, ...args] as const));
  return {
    servers: {
      "Node 20": command(node(20)),
      "Node 22": command(node(22)),
      [`Node ${process.versions.node.split(".")[0]}`]: command(process.execPath),
      Bun: command(bun, "--no-install"),
      Deno: command(
        deno,
        "run",
        "--no-config",
        "--cached-only",
        "--no-prompt",
        "--node-modules-dir=manual",
        "--allow-net",
        "--allow-env",
        "--allow-read",
        "--allow-sys",
      ),
    },
    workerd: firstOf(dir, "@cloudflare/workerd-linux-64/bin/workerd", "@cloudflare/workerd-linux-arm64/bin/workerd"),
  };
}
