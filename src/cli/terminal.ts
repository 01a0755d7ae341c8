import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { type Clock, systemClock } from "../clock.ts";
import { CommandFailure, EXIT } from "./failure.ts";

/** The server that commands talk to, and what they sign in with where nobody need be asked. */
export interface ServerAccess {
  readonly serverUrl: string;
  readonly email: string | undefined;
  readonly password: string | undefined;
}

/** Where a command runs: whom it talks to and how, and what it knows of the person who runs it. */
export interface Terminal {
  server(): ServerAccess;
  /** Where what is to be remembered between commands is kept. */
  readonly configDir: string;
  readonly clock: Clock;
  write(text: string): void;
  complain(text: string): void;
  /** @param hidden what is typed is not shown */
  ask(question: string, hidden?: boolean): Promise<string>;
  end(exitCode: number): void;
}

/** The terminal of this process. @param configHome XDG_CONFIG_HOME */
export const systemTerminal = (server: () => ServerAccess, configHome: string | undefined): Terminal => ({
  server,
  clock: systemClock,
  configDir: join(configHome === undefined || configHome === "" ? join(homedir(), ".config") : configHome, "countersign"),
  write: (text) => void process.stdout.write(`${text}\n`),
  complain: (text) => void process.stderr.write(`${text}\n`),
  ask,
  end: (exitCode) => {
    process.exitCode = exitCode;
  },
});

async function ask(question: string, hidden = false): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new CommandFailure(EXIT.notSignedIn, "Nobody can be asked: set COUNTERSIGN_EMAIL and COUNTERSIGN_PASSWORD.");
  }
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The interface comes before the question: from then on the terminal itself shows nothing of what is typed.
  const lines = createInterface({ input: process.stdin, output: hidden ? silent : process.stderr, terminal: true });
  try {
    if (hidden) process.stderr.write(question);
    return await lines.question(hidden ? "" : question);
  } finally {
    lines.close();
    if (hidden) process.stderr.write("\n");
  }
}

/** What is to be put away when a command ends, by its terminal. */
const toEnd = new WeakMap<Terminal, (() => Promise<void>)[]>();

/** Has something done when the command ends, whether it succeeds or not. */
export const atEnd = (terminal: Terminal, work: () => Promise<void>): void => {
  toEnd.set(terminal, [...(toEnd.get(terminal) ?? []), work]);
};

async function putAway(terminal: Terminal): Promise<void> {
  const works = toEnd.get(terminal) ?? [];
  toEnd.delete(terminal);
  for (const work of works) await work();
}

/** A command's action whose failure is told in one message, and by the exit code. */
export const running =
  <Args extends unknown[]>(terminal: Terminal, action: (...args: Args) => Promise<void>) =>
  (...args: Args): Promise<void> =>
    action(...args)
      .catch(async (error: unknown) => {
        const { asFailure } = await import("./as-failure.ts");
        const failure = asFailure(error);
        terminal.complain(failure.message);
        terminal.end(failure.exitCode);
      })
      .finally(() => putAway(terminal));
