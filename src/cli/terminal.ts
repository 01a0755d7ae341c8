import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { styleText } from "node:util";
import { type Clock, systemClock } from "../clock.ts";
import { CommandFailure, EXIT } from "./failure.ts";

/** The server that commands use, and the credentials with which they sign in without asking. */
export interface ServerAccess {
  readonly serverUrl: string;
  readonly email: string | undefined;
  readonly password: string | undefined;
}

export type Colour = "red" | "yellow" | "green";

/** The environment of a command: server, configuration, input and output. */
export interface Terminal {
  server(): ServerAccess;
  /** The directory of sessions that are kept between commands. */
  readonly configDir: string;
  readonly clock: Clock;
  /** Whether a user can be asked. */
  readonly interactive: boolean;
  write(text: string): void;
  complain(text: string, colour?: Colour): void;
  /** Colours part of what is written, where the terminal has colours and NO_COLOR is not set. */
  paint(colour: Colour, text: string): string;
  /** @param hidden does not show what is typed */
  ask(question: string, hidden?: boolean): Promise<string>;
  /** Shows an address in the user's browser, if there is a terminal and a browser. */
  open(url: string): void;
  end(exitCode: number): void;
}

/** The terminal of this process. @param configHome XDG_CONFIG_HOME */
export const systemTerminal = (server: () => ServerAccess, configHome: string | undefined): Terminal => ({
  server,
  clock: systemClock,
  configDir: join(configHome === undefined || configHome === "" ? join(homedir(), ".config") : configHome, "countersign"),
  write: (text) => void process.stdout.write(`${text}\n`),
  complain: (text, colour) =>
    void process.stderr.write(`${colour === undefined ? text : styleText(colour, text, { stream: process.stderr })}\n`),
  paint: (colour, text) => styleText(colour, text, { stream: process.stdout }),
  interactive: process.stdin.isTTY === true && process.stderr.isTTY === true,
  ask: (question, hidden) => ask(question, server().serverUrl, hidden),
  open: (url) => process.stderr.isTTY && openBrowser(url),
  end: (exitCode) => {
    process.exitCode = exitCode;
  },
});

/** The program of each platform that shows an address in the browser. */
const OPENERS: Partial<Record<NodeJS.Platform, readonly [program: string, ...args: string[]]>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/** Without such a program nothing happens: the command has printed the address. */
function openBrowser(url: string): void {
  const [program, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const child = spawn(program, [...args, url], { stdio: "ignore", detached: true });
  child.on("error", () => undefined);
  child.unref();
}

async function ask(question: string, serverUrl: string, hidden = false): Promise<string> {
  if (!process.stdin.isTTY) {
    throw new CommandFailure(
      EXIT.notSignedIn,
      `Signing in at ${serverUrl} needs a password, and there is no terminal to ask for it. Set COUNTERSIGN_EMAIL and COUNTERSIGN_PASSWORD, or run \`countersign login\` in a terminal first. COUNTERSIGN_URL names the server.`,
    );
  }
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The interface is opened before the question: from then on the terminal itself shows nothing that is typed.
  const lines = createInterface({ input: process.stdin, output: hidden ? silent : process.stderr, terminal: true });
  try {
    if (hidden) process.stderr.write(question);
    return await lines.question(hidden ? "" : question);
  } finally {
    lines.close();
    if (hidden) process.stderr.write("\n");
  }
}

/** Work for the end of a command, by its terminal. */
const cleanups = new WeakMap<Terminal, (() => Promise<void>)[]>();

/** Runs `work` when the command ends, whether it succeeds or not. */
export const atEnd = (terminal: Terminal, work: () => Promise<void>): void => {
  cleanups.set(terminal, [...(cleanups.get(terminal) ?? []), work]);
};

async function cleanUp(terminal: Terminal): Promise<void> {
  const works = cleanups.get(terminal) ?? [];
  cleanups.delete(terminal);
  for (const work of works) await work();
}

/** The user as whom a command acts, by its terminal. */
const signedInAs = new WeakMap<Terminal, string>();

/** Records as whom a command acts, for its error messages. */
export const actAs = (terminal: Terminal, email: string): void => void signedInAs.set(terminal, email);

/** The action of a command. A failure becomes one message and the exit code. */
export const running =
  <Args extends unknown[]>(terminal: Terminal, action: (...args: Args) => Promise<void>) =>
  (...args: Args): Promise<void> =>
    action(...args)
      .catch(async (error: unknown) => {
        const { asFailure } = await import("./as-failure.ts");
        const failure = asFailure(error, {
          server: terminal.server().serverUrl,
          email: signedInAs.get(terminal),
          named: args.filter((arg) => typeof arg === "string"),
        });
        terminal.complain(failure.message, "red");
        terminal.end(failure.exitCode);
      })
      .finally(() => cleanUp(terminal));
