import { readFileSync } from "node:fs";
import { until } from "../test/support/processes.ts";

const read = (path: string): string => {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // the process has ended
  }
};

/** Ids of the processes that a process started, and those started, and so on. */
export function descendantsOf(pid: number): readonly number[] {
  const children = read(`/proc/${pid}/task/${pid}/children`).trim().split(" ").filter(Boolean).map(Number);
  return children.flatMap((child) => [child, ...descendantsOf(child)]);
}

export const commandOf = (pid: number): string => read(`/proc/${pid}/cmdline`).replaceAll("\0", " ");

/** Whether a process runs; one that has ended and was not waited for does not. */
export const isAlive = (pid: number): boolean => {
  const state = read(`/proc/${pid}/stat`).split(") ").at(-1)?.[0];
  return state !== undefined && state !== "Z";
};

/** Sends a signal to processes. Those that have ended are left out, also where they end at this moment: PostgreSQL's own go with the first of them. */
export function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      if (isAlive(pid)) process.kill(pid, name);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}

/** Kills processes, and waits until they have ended. */
export async function killed(pids: readonly number[]): Promise<void> {
  signal(pids, "SIGKILL");
  await until("the end of killed processes", async () => !pids.some(isAlive));
}
