import { createHash, randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { access, constants, link, mkdir, open, readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { linesOf } from "../audit-chain/export-file.ts";
import { systemClock } from "../clock.ts";

/** Characters that are written at once. */
const CHUNK = 256 * 1024;

/** The name of a file that is being written. */
const TEMPORARY = /^\..+\.ndjson\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
/** Seconds without a write after which no process writes a file any more: between two writes are a few reads of the database. */
const LEFT = 3600;

/** What two archives of the same records have in common: all but the keys, of which there may be more by now. */
function contentDigest() {
  const hash = createHash("sha256");
  return {
    take: (line: string): void => void (line.startsWith('{"type":"key"') || hash.update(`${line}\n`)),
    end: (): string => hash.digest("base64url"),
  };
}

async function digestOf(path: string): Promise<string> {
  const digest = contentDigest();
  for await (const line of linesOf(createReadStream(path))) digest.take(line);
  return digest.end();
}

/** @returns the digest of what was written */
async function writeLines(path: string, lines: AsyncIterable<string>): Promise<string> {
  const digest = contentDigest();
  const file = await open(path, "wx", 0o600);
  try {
    let waiting = "";
    for await (const line of lines) {
      digest.take(line);
      waiting += `${line}\n`;
      if (waiting.length < CHUNK) continue;
      await file.appendFile(waiting); // goes on where the system takes only a part, which `write` does not
      waiting = "";
    }
    await file.appendFile(waiting);
    await file.sync();
  } finally {
    await file.close();
  }
  return digest.end();
}

/** Removes what processes that were killed left behind. Others may be writing into the folder now. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((one) => TEMPORARY.test(one))) {
    const path = join(folder, name);
    const file = await stat(path).catch(() => undefined); // its process has just ended
    if (file !== undefined && file.mtimeMs / 1000 < systemClock() - LEFT) await rm(path, { force: true });
  }
}

/** Makes a folder of archives if it is missing. @throws {Error} when this process may not write files there */
export async function openArchive(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await access(folder, constants.W_OK | constants.X_OK);
}

/**
 * Writes lines to a file of a folder, which is made if it is missing. When the file has its name, it is whole and on the disk; one that has
 * the name already is left as it is.
 * @throws {Error} when that one holds something else, such as the archive of another database
 */
export async function writeArchive(folder: string, name: string, lines: AsyncIterable<string>): Promise<void> {
  await openArchive(folder);
  await removeLeftovers(folder);
  const temporary = join(folder, `.${name}.${randomUUID()}`);
  try {
    const digest = await writeLines(temporary, lines);
    await link(temporary, join(folder, name)).catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
      if ((await digestOf(join(folder, name))) !== digest) throw new Error(`${name} has other records, so these stay`);
    });
  } finally {
    await rm(temporary, { force: true });
  }
  const directory = await open(folder, "r");
  await directory.sync().finally(() => directory.close());
}
