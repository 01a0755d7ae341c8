import { statfs } from "node:fs/promises";
import { type Sql, statement } from "./sql.ts";

/** Bytes that stay free. PostgreSQL does not survive a file of its log (16 MiB) that it cannot create, so that writes end before. */
const RESERVE = 48 * 2 ** 20;
/** Milliseconds between two looks. */
const EVERY = 1_000;

const READ_ONLY = statement("embedded_read_only", "select set_config('default_transaction_read_only', $1::text, false)");

/** Bytes that are free on the disk of a directory. */
const freeSpace = async (dir: string): Promise<number> => {
  const { bavail, bsize } = await statfs(dir);
  return bavail * bsize;
};

/** @param full whether less than 48 MiB are free */
export type OnDisk = (full: boolean) => void;

/** @throws {Error} when the disk of a data directory is full */
export async function assertSpace(dir: string, free = freeSpace): Promise<void> {
  if ((await free(dir)) < RESERVE)
    throw new Error(`DATA_DIR: less than ${RESERVE / 2 ** 20} MiB are free on the disk of ${dir}; the embedded database needs them.`);
}

/**
 * Makes the embedded database read-only while its disk is nearly full: writes are refused and health reports it, reads go on.
 * @param changed is called when the disk has become full, and when it has room again
 * @returns a function that stops it, and one that looks at once
 */
export function guardSpace(sql: Sql, dir: string, changed: OnDisk = () => undefined, free = freeSpace) {
  let readOnly = false;
  const look = async (): Promise<void> => {
    const isShort = (await free(dir)) < RESERVE;
    if (isShort === readOnly) return;
    await sql.query(READ_ONLY, [isShort ? "on" : "off"]);
    readOnly = isShort;
    changed(isShort);
  };
  const timer = setInterval(() => void look().catch(() => undefined), EVERY).unref();
  return { look, stop: () => clearInterval(timer) };
}
