import { accessSync, constants, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";

/** `isHeld`: whether the directory is still where it was locked, and no other one in its place, as far as that can be seen. */
export type DirectoryLock = { isHeld(): boolean; close(): void };

/** Another process uses the data directory. */
export class DirectoryInUse extends Error {
  override readonly name = "DirectoryInUse";
}

/** SQLite's BUSY and LOCKED: another process has the lock. */
const HELD = [5, 6];
/** SQLite's CORRUPT and NOTADB. Any other code, such as that of a full disk, is not about the content of the file. */
const DAMAGED = [11, 26];
const isOf = (codes: readonly number[], error: unknown): boolean => codes.includes(Number(Reflect.get(Object(error), "errcode")) & 0xff);

const holder = (pidFile: string): string => {
  try {
    const pid = readFileSync(pidFile, "utf8").trim();
    return /^\d+$/.test(pid) ? `process ${pid}` : "another process";
  } catch {
    return "another process";
  }
};

function openLock(lockFile: string): DatabaseSync {
  try {
    return new DatabaseSync(lockFile, { timeout: 0 });
  } catch (cause) {
    const message = `DATA_DIR: ${lockFile} cannot be opened; it has to be a file that this user may write. Delete it if it is none.`;
    throw new Error(message, { cause });
  }
}

/**
 * Locks the data directory for this process. The kernel frees the lock with the process, even after kill -9; the pid beside it only names
 * the holder.
 * @throws {Error} naming the holder when the directory is in use
 */
export function lockDirectory(directory: string): DirectoryLock {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  accessSync(directory, constants.W_OK | constants.X_OK);
  const pidFile = join(directory, "owner.pid");
  const lockFile = join(directory, "owner.lock");
  const lock = openLock(lockFile);
  try {
    lock.exec("pragma locking_mode = exclusive; begin exclusive");
  } catch (cause) {
    lock.close();
    if (isOf(DAMAGED, cause)) {
      const damaged = `DATA_DIR: ${lockFile} is damaged; see that no server uses the directory, delete this file, and start again.`;
      throw new Error(damaged, { cause });
    }
    if (!isOf(HELD, cause)) {
      const blocked = `DATA_DIR: ${lockFile} cannot be locked; see that its disk has room, and that files can be made beside it.`;
      throw new Error(blocked, { cause });
    }
    const message = `the data directory ${directory} is in use by ${holder(pidFile)}; stop it, or set DATA_DIR to another directory`;
    throw new DirectoryInUse(message, { cause });
  }
  writeFileSync(pidFile, `${process.pid}\n`, { mode: 0o600 });
  const { dev, ino } = statSync(lockFile);
  const isHeld = () => {
    try {
      const found = statSync(lockFile, { throwIfNoEntry: false });
      return found?.dev === dev && found.ino === ino;
    } catch {
      return true;
    }
  };
  return {
    isHeld,
    close: () => {
      if (isHeld()) rmSync(pidFile, { force: true });
      lock.close();
    },
  };
}

/** Of a file under DATA_DIR that belongs to another user. */
export const notOwn = (path: unknown, cause: unknown): Error =>
  new Error(`DATA_DIR: ${path} may not be read and written by this user; give it to this user (chown -R), or start as its owner.`, {
    cause,
  });

/** @throws {Error} naming a file or folder below a directory that this user may not read and write */
export function assertOwn(directory: string): void {
  const { R_OK, W_OK } = constants;
  try {
    accessSync(directory, R_OK | W_OK);
    for (const path of readdirSync(directory, { recursive: true, encoding: "utf8" })) accessSync(join(directory, path), R_OK | W_OK);
  } catch (error) {
    if (!["EACCES", "EPERM"].includes(String(Reflect.get(Object(error), "code")))) return; // says nothing about owners
    throw notOwn(Reflect.get(Object(error), "path") ?? directory, error);
  }
}
