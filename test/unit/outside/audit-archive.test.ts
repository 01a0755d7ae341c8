import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { writeArchive } from "../../../src/outside/audit-archive.ts";

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "archive-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
});

async function* linesOf(...lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

/** Longer than what is written at once, and not a multiple of it. */
const LONG = Array.from({ length: 700 }, (_, at) => `${at} ${"é".repeat(500)}`);

test("an archive has every line, one to a line", async () => {
  await writeArchive(folder, "a.ndjson", linesOf(...LONG));
  expect(readFileSync(join(folder, "a.ndjson"), "utf8")).toBe(`${LONG.join("\n")}\n`);
  expect(readdirSync(folder)).toEqual(["a.ndjson"]);
});

test("an archive whose records hold separators of lines is the same as another one of them", async () => {
  const lines = ["{}", JSON.stringify({ subject: "a\u2028b" })];
  for (let times = 0; times < 2; times++) await writeArchive(folder, "a.ndjson", linesOf(...lines));
  expect(readFileSync(join(folder, "a.ndjson"), "utf8")).toBe(`${lines.join("\n")}\n`);
});

test("what a process left behind that was killed is removed by the next archive, and a file that another one is writing stays", async () => {
  const [left, written] = [randomUUID(), randomUUID()].map((id) => `.audit-1-2.ndjson.${id}`) as [string, string];
  for (const name of [left, written, ".mine.ndjson", "audit-3-4.ndjson"]) writeFileSync(join(folder, name), "half a");
  const before = Date.now() / 1000 - 2 * 3600;
  for (const name of [left, ".mine.ndjson", "audit-3-4.ndjson"]) utimesSync(join(folder, name), before, before);
  await writeArchive(folder, "a.ndjson", linesOf("line"));
  expect(readdirSync(folder).sort()).toEqual([written, ".mine.ndjson", "a.ndjson", "audit-3-4.ndjson"].sort());
});

test("writing fails where the system takes a part of the last lines only, and no archive is left", () => {
  // Of a write beyond a limit for files the system takes what fits, as on a disk that is nearly full.
  const script = `
    const { writeArchive } = await import(${JSON.stringify(new URL("../../../src/outside/audit-archive.ts", import.meta.url).href)});
    await writeArchive(${JSON.stringify(folder)}, "a.ndjson", (async function* () { yield "x".repeat(4_000); })());`;
  const limited = ["-c", 'ulimit -f 1 && exec "$0" --input-type=module --eval "$1"', process.execPath, script];
  const { status, stderr } = spawnSync("sh", limited, { encoding: "utf8" });
  expect(stderr).toContain("EFBIG");
  expect(status).toBe(1);
  expect(readdirSync(folder)).toEqual([]);
});
