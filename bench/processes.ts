import { type ChildProcess, fork, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:net";
import type { Round, RoundResult } from "./load.ts";
import type { Usage } from "./measured.ts";
import type { OpenResult, OpenRound } from "./open-loop.ts";
import type { SignatureRound } from "./signature.ts";

/** Processor that the servers run on, and the one of the load; where there is only one, or no `taskset`, the system decides. */
const SERVER_PROCESSOR = 0;
const LOAD_PROCESSOR = 1;

export interface ServerProcess {
  readonly port: number;
  readonly pid: number;
  usage(): Promise<Usage>;
  stop(): Promise<void>;
}

export interface LoadProcess {
  /** Brings about what a round needs, and runs it. @param around called just before and just after the round itself */
  round(round: Round, around: () => Promise<void>): Promise<RoundResult>;
  stop(): void;
}

export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const address = probe.address();
  probe.close();
  if (address === null || typeof address === "string") throw new Error("no port is to be had");
  return address.port;
}

function pin({ pid }: ChildProcess, processor: number): void {
  spawnSync("taskset", ["-acp", String(processor), String(pid)], { stdio: "ignore" });
}

async function answer<Message>(child: ChildProcess, word: NodeJS.Dict<unknown> | string): Promise<Message> {
  const answered = message<Message>(child);
  child.send(word);
  return answered;
}

/** The next message of a child. @throws {Error} when it reports one, or ends instead */
async function message<Message>(child: ChildProcess): Promise<Message> {
  const over = new AbortController();
  const ended = once(child, "exit", { signal: over.signal }).then(() => {
    throw new Error("a process of the measurement has ended");
  });
  ended.catch(() => undefined);
  const [told] = (await Promise.race([once(child, "message", { signal: over.signal }), ended])) as [Message & { error?: string }];
  over.abort();
  if (told.error !== undefined) throw new Error(told.error);
  return told;
}

/**
 * Starts a server of this directory and waits until it listens.
 * @param profile directory for a CPU profile of the process, written when it stops
 */
export async function startServerProcess(file: string, env: NodeJS.ProcessEnv, profile?: string): Promise<ServerProcess> {
  const port = await freePort();
  const execArgv = ["--conditions=countersign", ...(profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profile}`])];
  const child = fork(new URL(file, import.meta.url), { execArgv, env: { ...env, PORT: String(port) } });
  await message(child);
  pin(child, SERVER_PROCESSOR);
  return {
    port,
    pid: child.pid ?? 0,
    usage: () => answer<Usage>(child, "usage"),
    async stop() {
      child.send("stop");
      await once(child, "exit");
    },
  };
}

export function startLoadProcess(): LoadProcess {
  const child = fork(new URL("load.ts", import.meta.url));
  pin(child, LOAD_PROCESSOR);
  return {
    async round(round, around) {
      await answer(child, { prepare: round });
      await around();
      const result = await answer<RoundResult>(child, "run");
      await around();
      return result;
    },
    stop: () => {
      child.kill();
    },
  };
}

/** A generator that keeps its rate whatever the server does. */
export function startOpenLoop() {
  const child = fork(new URL("open-loop.ts", import.meta.url));
  pin(child, LOAD_PROCESSOR);
  return {
    round: async (round: OpenRound): Promise<OpenResult> => {
      const result = message<OpenResult>(child);
      child.send(round);
      return result;
    },
    stop: () => void child.kill(),
  };
}

export interface SignatureProcess {
  round(seconds: number): Promise<SignatureRound>;
  stop(): void;
}

/** On the servers' processor, for it stands for what a server could do. */
export async function startSignatureProcess(): Promise<SignatureProcess> {
  const child = fork(new URL("signature.ts", import.meta.url), { execArgv: ["--conditions=countersign"] });
  await message(child);
  pin(child, SERVER_PROCESSOR);
  return {
    round: (seconds) => answer<SignatureRound>(child, { seconds }),
    stop: () => {
      child.kill();
    },
  };
}
