import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { test as base, type TestContext } from "vitest";

const WORKER = new URL("../../../src/compose/worker.ts", import.meta.url).href;
const SMALL_WORKER = join(import.meta.dirname, "../../support/small-worker.ts");

/** Supervisors of their own, which wait: beside each other. */
const test = base.concurrent;

const LONG = { timeout: 60_000 };

/** A supervisor of two workers, which serve nothing. `waits` names a file that lets new ones wait while others serve, `gate` and `busy(worker)` name files that keep them from starting, and one from ending. `faulty` ends at its start. */
async function aSupervisor(context: TestContext, patience = 60_000, faulty = 0, pulse = 60_000) {
  const supervisor = aStart(context, patience, faulty, [], pulse);
  await context.expect.poll(supervisor.said, LONG).toContain("workers_ready");
  return supervisor;
}

/** Starts the same; it need not be ready. `files` are there before it. */
function aStart({ onTestFinished }: TestContext, patience = 60_000, faulty = 0, files: readonly string[] = [], pulse = 60_000) {
  const directory = mkdtempSync(join(tmpdir(), "workers-"));
  for (const file of files) writeFileSync(join(directory, file), "");
  const child = spawn(process.execPath, [SMALL_WORKER, directory, `${patience}`, `${faulty}`, `${pulse}`], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  onTestFinished(() => {
    if (child.exitCode === null) for (const worker of workers()) process.kill(worker, "SIGKILL");
    child.kill("SIGKILL");
    rmSync(directory, { recursive: true });
  });
  let said = "";
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding("utf8").on("data", (lines: string) => {
      said += lines;
    });
  const { pid = 0 } = child;
  /** Ids of the processes of its workers. */
  const workers = (): readonly number[] =>
    readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ").filter(Boolean).map(Number);
  const busy = (worker: number) => join(directory, String(worker));
  return { child, gate: join(directory, "gate"), waits: join(directory, "waits"), busy, workers, said: () => said };
}

test("a worker that ends while its successor starts has one successor", async (context) => {
  const { expect } = context;
  const { child, gate, workers, said } = await aSupervisor(context);
  const [first = 0] = workers();
  writeFileSync(gate, "");
  child.kill("SIGHUP");
  await expect.poll(() => workers().length, LONG).toBe(3);
  process.kill(first, "SIGKILL");
  await expect.poll(said, LONG).toContain("worker_ended");
  await expect.poll(() => workers().length, LONG).toBe(3); // the one that lives, and two that start in place of the other
  rmSync(gate);
  await expect.poll(said, LONG).toContain("workers_reloaded");
  await expect.poll(() => workers().length, LONG).toBe(2);
});

test("a worker that is killed before its supervisor answers it is replaced", async (context) => {
  const { expect } = context;
  const { child, workers, said } = await aSupervisor(context);
  const [first = 0] = workers();
  child.kill("SIGSTOP"); // so that it reads the question before it learns that the worker is gone
  process.kill(first, "SIGUSR2");
  await expect.poll(() => readFileSync(`/proc/${first}/stat`, "utf8"), LONG).toContain(") Z ");
  child.kill("SIGCONT");
  await expect.poll(said, LONG).toContain("worker_ended");
  await expect.poll(() => workers().length, LONG).toBe(2);
  expect(workers()).not.toContain(first);
  expect(child.exitCode).toBeNull();
});

test("a worker that ends at the first start, while another serves, is replaced", async (context) => {
  const { expect } = context;
  const { child, workers, said } = await aSupervisor(context, 60_000, 2);
  expect(said()).toContain("worker_did_not_start");
  expect(workers()).toHaveLength(2);
  expect(child.exitCode).toBeNull();
});

test("a first worker that is killed after a reload ends the start with a sentence", async (context) => {
  const { expect } = context;
  const { child, workers, said } = aStart(context, undefined, undefined, ["gate"]);
  await expect.poll(() => workers().length, LONG).toBe(1);
  child.kill("SIGHUP");
  for (const worker of workers()) process.kill(worker, "SIGKILL");
  await expect.poll(() => child.exitCode, LONG).toBe(1);
  await expect.poll(said, LONG).toMatch(/Error\]?: a worker ended before it was ready/);
  expect(said()).not.toContain("workers_reloaded");
});

test("a worker that hangs before it is ready is killed and replaced", async (context) => {
  const { expect } = context;
  const { child, gate, workers, said } = await aSupervisor(context, undefined, undefined, 1_000);
  const old = workers();
  writeFileSync(gate, "");
  process.kill(old[0] ?? 0, "SIGKILL");
  const young = () => workers().filter((pid) => !old.includes(pid));
  await expect.poll(young, LONG).toHaveLength(1);
  const [hanging = 0] = young();
  // The supervisor itself waits until the new process runs its own program.
  await expect.poll(() => readFileSync(`/proc/${hanging}/environ`, "utf8"), LONG).toContain("NODE_UNIQUE_ID=");
  process.kill(hanging, "SIGSTOP");
  rmSync(gate);
  await expect.poll(workers, LONG).not.toContain(hanging);
  await expect.poll(young, LONG).toHaveLength(1);
  expect(said()).toMatch(/worker_hangs[\s\S]*worker_did_not_start/);
  expect(child.exitCode).toBeNull();
});

test("a worker that hangs is killed and replaced", async (context) => {
  const { expect } = context;
  const { child, workers, said } = await aSupervisor(context, undefined, undefined, 1_000);
  const [hanging = 0] = workers();
  process.kill(hanging, "SIGSTOP");
  await expect.poll(workers, LONG).not.toContain(hanging);
  await expect.poll(() => workers().length, LONG).toBe(2);
  expect(said()).toMatch(/worker_hangs[\s\S]*"signal":"SIGKILL","event":"worker_ended"/);
  expect(child.exitCode).toBeNull();
});

test("a reload kills a worker that hangs", async (context) => {
  const { expect } = context;
  const { child, workers, said } = await aSupervisor(context, 500);
  const before = workers();
  process.kill(before[0] ?? 0, "SIGSTOP");
  child.kill("SIGHUP");
  await expect.poll(said, LONG).toContain("workers_reloaded");
  expect(said()).toMatch(/"signal":"SIGKILL","event":"worker_ended"/);
  expect(workers().filter((pid) => before.includes(pid))).toEqual([]);
  expect(workers()).toHaveLength(2);
});

test("SIGTERM during a reload waits for the worker that is being replaced", async (context) => {
  const { expect } = context;
  const { child, busy, workers, said } = await aSupervisor(context);
  const [replaced = 0] = workers();
  writeFileSync(busy(replaced), "");
  child.kill("SIGHUP");
  await expect.poll(said, LONG).toContain(`${replaced} drains`);
  child.kill("SIGTERM");
  await expect.poll(() => workers(), LONG).toEqual([replaced]); // its successor and the other have ended
  rmSync(busy(replaced));
  await expect.poll(() => child.exitCode, LONG).toBe(0);
  expect(said()).not.toContain("worker_ended");
});

test("SIGTERM while a successor starts drains each worker once, and the successor too", async (context) => {
  const { expect } = context;
  const { child, gate, busy, workers, said } = await aSupervisor(context);
  const old = workers();
  for (const worker of old) writeFileSync(busy(worker), "");
  writeFileSync(gate, "");
  child.kill("SIGHUP");
  await expect.poll(() => workers().length, LONG).toBe(3);
  child.kill("SIGTERM");
  for (const worker of old) await expect.poll(said, LONG).toContain(`${worker} drains`);
  rmSync(gate);
  await expect.poll(() => workers(), LONG).toEqual(old);
  for (const worker of old) expect(said().split(`${worker} drains`)).toHaveLength(2);
  for (const worker of old) rmSync(busy(worker));
  await expect.poll(() => child.exitCode, LONG).toBe(0);
});

test("SIGTERM while a worker starts in place of one that ended drains it too", async (context) => {
  const { expect } = context;
  const { child, gate, busy, workers, said } = await aSupervisor(context);
  const [first = 0, second = 0] = workers();
  writeFileSync(busy(second), "");
  writeFileSync(gate, "");
  process.kill(first, "SIGKILL");
  await expect.poll(() => workers().filter((pid) => pid !== first && pid !== second), LONG).toHaveLength(1);
  const [starting = 0] = workers().filter((pid) => pid !== second);
  child.kill("SIGTERM");
  await expect.poll(said, LONG).toContain(`${second} drains`);
  rmSync(gate);
  await expect.poll(said, LONG).toContain(`${starting} drains`);
  rmSync(busy(second));
  await expect.poll(() => child.exitCode, LONG).toBe(0);
});

test("a reload replaces a worker that was starting at the signal too", async (context) => {
  const { expect } = context;
  const { child, gate, workers, said } = await aSupervisor(context);
  const [first = 0, second = 0] = workers();
  writeFileSync(gate, "");
  process.kill(first, "SIGKILL");
  await expect.poll(() => workers().filter((pid) => pid !== first && pid !== second), LONG).toHaveLength(1);
  const [starting] = workers().filter((pid) => pid !== second);
  child.kill("SIGHUP");
  rmSync(gate);
  await expect.poll(said, LONG).toContain("workers_reloaded");
  expect(workers()).toHaveLength(2);
  for (const old of [second, starting]) expect(workers()).not.toContain(old);
});

test("a reload replaces workers that still wait to serve at the signal", async (context) => {
  const { expect } = context;
  const { child, waits, workers, said } = await aSupervisor(context);
  const old = workers();
  const young = () => workers().filter((pid) => !old.includes(pid));
  writeFileSync(waits, "");
  child.kill("SIGHUP");
  await expect.poll(() => young().length, LONG).toBe(1);
  process.kill(old[0] ?? 0, "SIGKILL");
  await expect.poll(() => young().length, LONG).toBe(2); // in place of the one that was killed
  const waiting = young();
  child.kill("SIGHUP");
  await expect.poll(() => waiting.filter((pid) => workers().includes(pid)), LONG).toEqual([]);
  rmSync(waits);
  await expect.poll(said, LONG).toContain("workers_reloaded");
  expect([workers().length, young().length]).toEqual([2, 2]);
  expect(said()).not.toMatch(/reload_failed|worker_did_not_start/);
});

test("a reload while the first worker starts ends no start where that worker cannot serve yet", async (context) => {
  const { expect } = context;
  const { child, gate, waits, workers, said } = aStart(context, undefined, undefined, ["gate", "waits"]);
  await expect.poll(() => workers().length, LONG).toBe(1);
  const [first] = workers();
  child.kill("SIGHUP");
  rmSync(gate);
  await expect.poll(() => workers().length, LONG).toBe(3); // it serves, and both its fellow and its successor wait
  rmSync(waits);
  await expect.poll(said, LONG).toContain("workers_reloaded");
  await expect.poll(() => workers().length, LONG).toBe(2);
  expect(workers()).not.toContain(first);
  expect(child.exitCode).toBeNull();
});

test("requests for metrics at the same time are one question to the supervisor", async ({ expect }) => {
  const script = `
    const { metricsOfAll } = await import(${JSON.stringify(WORKER)});
    const metrics = metricsOfAll();
    console.log(JSON.stringify([await Promise.all([metrics(), metrics(), metrics()]), await metrics()]));
    process.disconnect();`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script], { stdio: ["ignore", "pipe", "inherit", "ipc"] });
  let asked = 0;
  child.on("message", () => child.send({ type: "metrics", text: String(++asked) }));
  expect(JSON.parse(await text(child.stdout as Readable))).toEqual([["1", "1", "1"], "2"]);
});
