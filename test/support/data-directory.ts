import { createHash } from "node:crypto";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, statfsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase } from "../../src/store/orm.ts";

const MIGRATIONS = new URL("../../src/store/migrations/", import.meta.url);

const MEMORY = "/dev/shm";
const NEEDED_BYTES = 4 * 2 ** 30;

/** The parent of data directories: in memory where there is enough of it, in which a copy of the template takes a tenth of the time. */
const BASE = existsSync(MEMORY) && hasRoom(MEMORY) ? MEMORY : tmpdir();

function hasRoom(path: string): boolean {
  const { bavail, bsize } = statfsSync(path);
  return bavail * bsize > NEEDED_BYTES;
}

const PREFIX = "countersign-test-data-";

/** Removes the directories of killed test runs, which nothing else would remove. */
function removeAbandoned(): void {
  for (const name of readdirSync(BASE)) {
    const pid = name.startsWith(PREFIX) ? Number(name.slice(PREFIX.length).split("-", 1)[0]) : Number.NaN;
    if (pid > 0 && !isAlive(pid)) rmSync(join(BASE, name), { recursive: true, force: true });
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** An empty data directory. */
export const aDataDir = (): string => mkdtempSync(join(BASE, `${PREFIX}${process.pid}-`));

/** Names a template of databases: another for each state of the migrations and each version of the embedded database. */
export function templateDigest(): string {
  const digest = createHash("sha256").update(readFileSync(new URL("../../package.json", import.meta.url)));
  for (const file of readdirSync(MIGRATIONS).sort()) digest.update(file).update(readFileSync(new URL(file, MIGRATIONS)));
  return digest.digest("hex").slice(0, 16);
}

/** A migrated data directory, created once for each state of the migrations and kept between runs. */
async function template(): Promise<string> {
  removeAbandoned();
  const path = join(BASE, `countersign-test-template-${templateDigest()}`);
  if (existsSync(path)) return path;
  const making = aDataDir();
  await (await openDatabase({ dir: making })).close();
  // The databases template1 and template0, of which others are made: here none is.
  for (const unused of ["1", "4"]) rmSync(join(making, "pg/base", unused), { recursive: true });
  try {
    renameSync(making, path);
  } catch {
    rmSync(making, { recursive: true, force: true }); // another worker created it first
  }
  return path;
}

/** A data directory with a migrated database, for a process or an embedded database of its own. */
export async function freshDataDir(): Promise<string> {
  made ??= template();
  const from = await made;
  const dir = aDataDir();
  cpSync(from, dir, { recursive: true });
  return dir;
}
let made: Promise<string> | undefined;
