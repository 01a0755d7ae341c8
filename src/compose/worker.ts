import type { Cluster } from "node:cluster";
import { setTimeout } from "node:timers/promises";
import { Refusal } from "../errors.ts";
import { shared } from "../load-once.ts";

/** What a worker reports to its supervisor (workers.ts), and what the supervisor sends. */
export type FromWorker = { readonly type: "ready" | "metrics" | "others" | "alive" };
export type ToWorker =
  | { readonly type: "drain"; readonly lingerSeconds: number }
  | { readonly type: "welcome" | "alive" }
  | { readonly type: "others"; readonly serve: boolean }
  /** Without a text if a worker did not answer. */
  | { readonly type: "metrics"; readonly text?: string };

/** Whether this process is one of the workers of a supervisor. Only a process with a channel loads `node:cluster`, which takes 10 ms. */
export const isWorker = (): boolean =>
  process.channel !== undefined && (process.getBuiltinModule("node:cluster") as unknown as Cluster).isWorker;

const report = (message: FromWorker): void => void process.send?.(message);
const onMessage = (listener: (message: ToWorker) => void): void => void process.on("message", listener);

// From its start on, so that one that hangs before it is ready is replaced too.
if (isWorker()) onMessage(({ type }) => type === "alive" && report({ type }));

/**
 * Serves as a worker: the supervisor, not a signal, says when it drains, for a terminal sends its signals to every process. When the
 * supervisor is gone, Node ends the worker.
 */
export function obeySupervisor(orders: { drain(lingerSeconds: number): void; welcome(): void }): void {
  for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"]) process.on(signal, () => undefined);
  onMessage((message) => {
    if (message.type === "drain") orders.drain(message.lingerSeconds);
    if (message.type === "welcome") orders.welcome();
  });
  report({ type: "ready" });
}

/**
 * The metrics of all workers, which the supervisor collects: for all requests of a moment at once, since each takes work of every worker. The
 * promise is refused with temporarily_unavailable if one of them hangs.
 */
export function metricsOfAll(): () => Promise<string> {
  let answered: (text: string | undefined) => void = () => undefined;
  onMessage((message) => {
    if (message.type === "metrics") answered(message.text);
  });
  return shared(async () => {
    const text = await new Promise<string | undefined>((resolve) => {
      answered = resolve;
      report({ type: "metrics" });
    });
    if (text === undefined) throw new Refusal("temporarily_unavailable", "worker_hangs", { retryAfter: 1 });
    return text;
  });
}

/** Milliseconds between two looks at what a worker waits for. */
const LOOK = 1_000;

/** Lets a worker that cannot serve yet wait before it listens, while others serve. A reload in the meantime replaces it. */
export async function waitWhileOthersServe(canServe: () => Promise<boolean>): Promise<void> {
  if (!isWorker()) return;
  while (!(await canServe()) && (await othersServe())) await setTimeout(LOOK);
}

/** Whether other workers of the supervisor serve now. */
const othersServe = (): Promise<boolean> =>
  new Promise((resolve) => {
    const listener = (message: ToWorker): void => {
      if (message.type !== "others") return;
      process.off("message", listener);
      resolve(message.serve);
    };
    onMessage(listener);
    report({ type: "others" });
  });
