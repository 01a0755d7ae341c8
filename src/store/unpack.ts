import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { gunzipSync } from "node:zlib";

const BLOCK = 512;

/** A member of a header: text up to the first NUL. @see POSIX.1-1988 ustar */
const member = (archive: Buffer, from: number, length: number): string => {
  const text = archive.toString("latin1", from, from + length);
  const end = text.indexOf("\0");
  return end < 0 ? text : text.slice(0, end);
};

/**
 * Unpacks a gzipped tar of plain files and directories below `target`, readable by us alone.
 * @throws {Error} for anything else in it, and for a name that leads outside
 */
export function unpack(packed: Uint8Array, target: string): void {
  const archive = gunzipSync(packed);
  for (let at = 0; at + BLOCK <= archive.length && archive[at] !== 0; ) {
    const name = member(archive, at, 100);
    const size = Number.parseInt(member(archive, at + 124, 12), 8);
    const kind = member(archive, at + 156, 1);
    const path = join(target, name);
    if (name.split("/").includes("..") || !Number.isSafeInteger(size)) throw new Error("the archive is damaged");
    const start = at + BLOCK;
    if (kind === "5") mkdirSync(path, { recursive: true, mode: 0o700 });
    else if (kind === "0" || kind === "") {
      mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
      writeFileSync(path, archive.subarray(start, start + size), { mode: 0o600 });
    } else throw new Error("the archive holds more than files and directories");
    at = start + Math.ceil(size / BLOCK) * BLOCK;
  }
}
