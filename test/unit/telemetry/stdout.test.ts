import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { descriptorSink } from "../../../src/telemetry/stdout.ts";

const directory = mkdtempSync(join(tmpdir(), "stdout-"));
afterAll(() => rmSync(directory, { recursive: true }));

const run = (body: string) =>
  spawn(
    process.execPath,
    [
      "--input-type=module-typescript",
      "--eval",
      `import { createLog } from "./src/telemetry/log.ts"; const log = createLog({ level: "info" }); ${body}`,
    ],
    { stdio: ["ignore", "pipe", "pipe"] },
  );

/** A process that logs for a while, and then writes "alive" to standard error. */
const logging = (flush: boolean) =>
  run(`
    let beats = 0;
    setInterval(() => {
      for (let i = 0; i < 500; i++) log.info("beat", { count: beats });
      ${flush ? "log.flush();" : ""}
      if (++beats === 20) { process.stderr.write("alive"); process.exit(0); }
    }, 10);`);

test.for([true, false])("the process continues after its reader closes the pipe (flushing: %s)", async (flush) => {
  const child = logging(flush);
  let stderrText = "";
  child.stderr.on("data", (chunk) => {
    stderrText += chunk;
  });
  child.stdout.once("data", () => child.stdout.destroy());
  const [code] = await once(child, "close"); // its output has been read by then
  expect([code, stderrText]).toEqual([0, "alive"]);
});

test("flush writes the queued lines before the process exits", async () => {
  const child = run('log.info("one"); log.info("two"); log.info("three"); log.flush(); process.exit(0);');
  let text = "";
  child.stdout.on("data", (chunk) => {
    text += chunk;
  });
  await once(child, "close");
  const events = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).event);
  expect(events.sort()).toEqual(["one", "three", "two"]);
});

test("flush writes what a slow reader has not taken yet", async () => {
  const child = run(`
    process.stdout; // makes a pipe non-blocking
    for (let n = 0; n < 4000; n++) log.info("line", { count: n });
    let turns = 0;
    setInterval(() => {
      if (++turns < 20) return;
      process.stderr.write("full");
      log.flush();
      process.exit(0);
    }, 5);`);
  let text = "";
  child.stderr.once("data", () =>
    child.stdout.on("data", (chunk) => {
      text += chunk;
    }),
  );
  await once(child, "close");
  const counts = text
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line).count);
  expect(counts).toEqual(Array.from({ length: 4000 }, (_, n) => n));
});

test("lines are written whole and in order", async () => {
  const path = join(directory, "lines");
  const descriptor = openSync(path, "w");
  const sink = descriptorSink(descriptor);
  const lines = Array.from({ length: 1000 }, (_, i) => `${i}\n`);
  for (const line of lines) sink.write(line);
  await expect.poll(() => readFileSync(path, "utf8")).toBe(lines.join(""));
  sink.write("last\n");
  await expect.poll(() => readFileSync(path, "utf8")).toBe(`${lines.join("")}last\n`);
  closeSync(descriptor);
});

test("a full disk loses lines without throwing", () => {
  const descriptor = openSync("/dev/full", "w");
  const sink = descriptorSink(descriptor);
  expect(() => {
    for (let i = 0; i < 100; i++) sink.write("line\n");
    sink.flush?.();
  }).not.toThrow();
});
