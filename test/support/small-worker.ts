import cluster from "node:cluster";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { isWorker, obeySupervisor, waitWhileOthersServe } from "../../src/compose/worker.ts";
import { supervise } from "../../src/compose/workers.ts";
import { createLog } from "../../src/telemetry/log.ts";

// A supervisor of two workers that serve nothing. In the directory that the first argument names, a file `gate` keeps them from being ready, a
// file `waits` lets them wait while others serve, and one with the id of a worker keeps it from ending. At SIGUSR2 they ask their supervisor
// something and are killed. The second argument: milliseconds until a worker that does not end is killed. The third: which worker ends at its start.
// The fourth: milliseconds between two questions whether a worker lives.
const [, , directory = "", patience, faulty, pulse] = process.argv;
if (isWorker()) {
  if (String(cluster.worker?.id) === faulty) process.exit(1);
  while (existsSync(join(directory, "gate"))) await setTimeout(20);
  await waitWhileOthersServe(async () => !existsSync(join(directory, "waits")));
  process.on("SIGUSR2", () => {
    void waitWhileOthersServe(async () => false);
    process.kill(process.pid, "SIGKILL");
  });
  const drain = async () => {
    process.stdout.write(`${process.pid} drains\n`);
    while (existsSync(join(directory, String(process.pid)))) await setTimeout(20);
    process.exit(0);
  };
  obeySupervisor({ drain, welcome: () => undefined });
} else await supervise(2, createLog({ level: "info" }), {}, Number(patience), Number(pulse));
