import cluster, { type Worker } from "node:cluster";
import { setTimeout } from "node:timers/promises";
import { AggregatorRegistry } from "prom-client";
import { shared } from "../load-once.ts";
import type { Log } from "../telemetry/log.ts";
import type { FromWorker, ToWorker } from "./worker.ts";

/** Milliseconds before the replacement of a worker that ended by itself: none for one that had lived a while, else more each time. */
const PAUSES = [1_000, 2_000, 5_000, 15_000, 30_000];
const A_WHILE = 10_000;

/** Seconds in which a replaced worker still accepts. More than 0, so that it answers on open connections until they are idle for long. */
const MOMENT = 0.1;

/** Milliseconds from its order to end until a worker is killed: longer than all that it waits for itself. */
const PATIENCE = 90_000;

/** Milliseconds between two questions whether a worker lives, and how many it may leave without an answer: more while it loads its code. */
const PULSE = 10_000;
const UNANSWERED = 3;
const UNANSWERED_AT_START = 6;

/** Where it is logged that a worker was killed, after how many milliseconds, and the ends of workers that drain. */
interface Terms {
  readonly log: Log;
  readonly patience: number;
  readonly ending: Set<Promise<unknown>>;
}

/** A worker of this supervisor, and when it was ready. */
interface Ready {
  readonly worker: Worker;
  readonly since: number;
}

const send = (worker: Worker, message: ToWorker): void => {
  if (worker.isConnected()) worker.send(message);
};

/** The messages by which Node gives a worker a connection, and by which the worker accepts it. */
type Delivery = { readonly act?: string; readonly seq?: number; readonly ack?: number };

/**
 * Closes connections that were on their way to a worker when it was killed. Node waits for the worker to accept them, so that their
 * clients would wait for ever.
 */
function closeUndelivered({ process: child }: Worker): void {
  const underway = new Map<number | undefined, { close(): void }>();
  const { send } = child;
  child.send = ((message: Delivery, handle?: { close(): void }, ...more: unknown[]) => {
    if (message.act === "newconn" && handle !== undefined) underway.set(message.seq, handle);
    return Reflect.apply(send, child, [message, handle, ...more]);
  }) as typeof send;
  child.on("internalMessage", ({ ack }: Delivery) => underway.delete(ack));
  child.once("exit", () => {
    for (const handle of underway.values()) handle.close();
  });
}

/** Workers that wait to serve by settings which a reload has to read again; they are ended. */
const outdated = new WeakSet<Worker>();

class Outdated extends Error {}

/** Workers that are not ready yet. */
const young = new Set<Worker>();

/** Starts a worker, and waits until it serves. @throws when it ends before, having printed why  @throws {Outdated} */
async function startWorker(): Promise<Ready> {
  const worker = cluster.fork();
  worker.on("error", () => undefined); // of a message to one that was just killed, whose exit follows
  closeUndelivered(worker);
  young.add(worker);
  const ready = new Promise<void>((resolve, reject) => {
    worker.once("exit", () => reject(new (outdated.has(worker) ? Outdated : Error)("a worker ended before it was ready")));
    worker.on("message", (message: FromWorker) => message.type === "ready" && resolve());
  });
  await ready.finally(() => young.delete(worker));
  return { worker, since: performance.now() };
}

/** Ends a worker as a signal would, and waits for it. One that does not end is killed. */
async function drain({ worker }: Ready, lingerSeconds: number, { log, patience, ending }: Terms): Promise<void> {
  if (worker.isDead()) return;
  const ended = new Promise((resolve) => worker.once("exit", resolve));
  ending.add(ended);
  send(worker, { type: "drain", lingerSeconds });
  const overdue = globalThis.setTimeout(() => {
    log.error("worker_ended", { signal: "SIGKILL" });
    worker.process.kill("SIGKILL");
  }, patience);
  await ended;
  ending.delete(ended);
  clearTimeout(overdue);
}

/** Sends the sum of all metrics to the worker that is asked for them. */
function answerMetrics(): void {
  const whole = new AggregatorRegistry();
  const sum = shared(() => whole.clusterMetrics());
  cluster.on("message", (worker, message: FromWorker) => {
    if (message.type !== "metrics") return;
    sum().then(
      (text) => send(worker, { type: "metrics", text }),
      () => send(worker, { type: "metrics" }),
    );
  });
}

/** Kills workers that hang; their exit follows. While this process is stopped too, it counts nothing. @returns a function that ends the watch */
function watchPulse(workers: ReadonlySet<Ready>, log: Log, pulse: number): () => void {
  const unanswered = new WeakMap<Worker, number>();
  cluster.on("message", (worker, { type }: FromWorker) => type === "alive" && unanswered.delete(worker));
  const timer = setInterval(() => {
    for (const worker of [...young, ...Array.from(workers, (ready) => ready.worker)]) {
      const count = unanswered.get(worker) ?? 0;
      if (count >= (young.has(worker) ? UNANSWERED_AT_START : UNANSWERED)) {
        log.error("worker_hangs");
        worker.process.kill("SIGKILL");
      }
      unanswered.set(worker, count + 1);
      send(worker, { type: "alive" });
    }
  }, pulse);
  return () => clearInterval(timer);
}

/**
 * Keeps `count` workers serving on the same ports, and never returns.
 *
 * A worker that ends or hangs is replaced. SIGHUP replaces all of them, one after the other, each after its successor is ready, which may
 * wait for its keys or its core (waitWhileOthersServe), until a further SIGHUP. SIGTERM and SIGINT end all as they would end one process.
 * @param lingers seconds that workers keep serving after a signal
 */
export async function supervise(
  count: number,
  log: Log,
  lingers: Partial<Record<NodeJS.Signals, number>>,
  patience: number = PATIENCE,
  pulse: number = PULSE,
): Promise<void> {
  const workers = new Set<Ready>();
  const terms: Terms = { log, patience, ending: new Set() };
  const starting = new Set<Promise<Ready>>();
  const endWatch = watchPulse(workers, log, pulse);
  let leaving = false;
  let quick = 0;

  const watched = (ready: Ready): Ready => {
    workers.add(ready);
    ready.worker.once("exit", (status: number | null, signal: NodeJS.Signals | null) => {
      if (!workers.delete(ready) || leaving) return;
      log.error("worker_ended", { ...(status !== null && { status }), ...(signal !== null && { signal }) });
      quick = performance.now() - ready.since > A_WHILE ? 0 : quick + 1;
      void replace();
    });
    return ready;
  };
  const start = async (): Promise<Ready> => {
    const started = startWorker();
    starting.add(started);
    try {
      const ready = watched(await started);
      if (leaving) void drain(ready, 0, terms);
      return ready;
    } finally {
      starting.delete(started);
    }
  };
  const replace = async (): Promise<void> => {
    if (quick > 0) await setTimeout(PAUSES[Math.min(quick, PAUSES.length) - 1]);
    while (!leaving) {
      try {
        return void (await start());
      } catch (error) {
        if (leaving) return;
        if (error instanceof Outdated) continue;
        log.error("worker_did_not_start", { error });
        quick += 1;
        await setTimeout(PAUSES[Math.min(quick, PAUSES.length) - 1]);
      }
    }
  };
  const leave = async (signal: NodeJS.Signals): Promise<void> => {
    if (leaving) {
      for (const worker of Object.values(cluster.workers ?? {})) worker?.process.kill("SIGKILL");
      process.exit(1);
    }
    leaving = true;
    log.info("draining", { signal });
    endWatch();
    for (const ready of workers) void drain(ready, lingers[signal] ?? 0, terms);
    while (terms.ending.size > 0) await Promise.all(terms.ending); // also of one that a reload replaces, or that was starting
    log.flush();
    process.exit(0);
  };
  for (const signal of ["SIGTERM", "SIGINT"] as const) process.on(signal, () => void leave(signal));
  const reload = reloading({ workers, starting }, watched, () => leaving, terms);
  process.on("SIGHUP", reload);

  answerMetrics();
  cluster.on("message", (worker, { type }: FromWorker) => {
    if (type !== "others") return;
    const serve = workers.size > 0;
    if (serve && outdated.has(worker)) worker.process.kill("SIGKILL");
    else send(worker, { type, serve });
  });
  const first = await start(); // it migrates and provisions before the others begin
  send(first.worker, { type: "welcome" });
  await Promise.all(Array.from({ length: count - 1 }, replace));
  if (leaving) return;
  log.info("workers_ready", { count });
}

/** Replaces every worker by a new one, which reads settings from their files again. Signals during a turn lead to one more. */
function reloading(
  { workers, starting }: { readonly workers: Set<Ready>; readonly starting: Set<Promise<Ready>> },
  watched: (ready: Ready) => Ready,
  isLeaving: () => boolean,
  terms: Terms,
): () => void {
  const { log } = terms;
  let running = false;
  let asked = false;
  const turn = async (): Promise<void> => {
    await Promise.allSettled(starting); // they have read the settings already
    for (const old of [...workers]) {
      if (isLeaving()) return;
      const next = await startWorker();
      // At a stop the old one drains already; one that has ended by itself in the meantime has its own successor.
      if (isLeaving() || !workers.delete(old)) await drain(next, 0, terms);
      else {
        watched(next);
        await drain(old, MOMENT, terms);
      }
    }
    if (workers.size > 0) log.info("workers_reloaded", { count: workers.size });
  };
  return () => {
    for (const worker of Object.values(cluster.workers ?? {})) if (worker !== undefined) outdated.add(worker);
    asked = true;
    if (running) return;
    running = true;
    void (async () => {
      while (asked && !isLeaving()) {
        asked = false;
        await turn().catch((error: unknown) => error instanceof Outdated || log.error("reload_failed", { error }));
      }
      running = false;
    })();
  };
}
