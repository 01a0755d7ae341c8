import { existsSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { isWorker, obeySupervisor, othersServe } from "../../src/compose/worker.ts";
import { supervise } from "../../src/compose/workers.ts";
import { createLog } from "../../src/telemetry/log.ts";

// A supervisor of two workers that serve nothing. They are not ready while the file exists that the first argument names, and at SIGUSR2
// ask their supervisor something and are killed.
const [, , gate = ""] = process.argv;
if (isWorker()) {
  while (existsSync(gate)) await setTimeout(20);
  process.on("SIGUSR2", () => {
    void othersServe();
    process.kill(process.pid, "SIGKILL");
  });
  obeySupervisor({ drain: () => process.exit(0), welcome: () => undefined });
} else await supervise(2, createLog({ level: "info" }), {}, 500);
