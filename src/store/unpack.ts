import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { buffer } from "node:stream/consumers";
import { gunzipSync } from "node:zlib";
import { extract } from "tar-stream";

/**
 * Unpacks a gzipped tar below `target`, readable by this user alone.
 * @throws {Error} for an entry that is no plain file or directory, or leads outside
 */
export async function unpack(packed: Uint8Array, target: string): Promise<void> {
  const archive = extract();
  archive.end(gunzipSync(packed));
  for await (const entry of archive) {
    const { name, type } = entry.header;
    if (name.split("/").includes("..")) throw new Error("the archive is damaged");
    const path = join(target, name);
    mkdirSync(type === "directory" ? path : dirname(path), { recursive: true, mode: 0o700 });
    if (type === "file") writeFileSync(path, await buffer(entry), { mode: 0o600 });
    else if (type !== "directory") throw new Error("the archive contains more than files and directories");
    entry.resume();
  }
}
