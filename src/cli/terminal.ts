import { spawn } from "node:child_process";
import { homedir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { styleText } from "node:util";
import { Command } from "commander";
import { type Clock, systemClock } from "../clock.ts";
import { CommandFailure, EXIT } from "./failure.ts";

/** The server that commands use, and the credentials with which they sign in without asking. */
export interface ServerAccess {
  readonly serverUrl: string;
  readonly email: string | undefined;
  readonly password: string | undefined;
}

/** `hidden` does not show what is typed; `instead` says how to answer the question where there is no terminal. */
export type Asking = { readonly hidden?: boolean; readonly instead: string };

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
  /** @throws {CommandFailure} without a terminal, with `instead` */
  ask(question: string, how: Asking): Promise<string>;
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
  ask,
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

async function ask(question: string, { hidden = false, instead }: Asking): Promise<string> {
  if (!process.stdin.isTTY) {
    const asked = question.trim().replace(/[:?]$/, "");
    throw new CommandFailure(EXIT.failed, `There is no terminal to ask for "${asked}". ${instead}`);
  }
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  // The interface is opened before the question: from then on the terminal itself shows nothing that is typed.
  const lines = createInterface({ input: process.stdin, output: hidden ? silent : process.stderr, terminal: true });
  // From now on the terminal gives Ctrl-C as a key. It ends the command as at any other time, so that a script ends with it.
  lines.once("SIGINT", () => {
    lines.close();
    process.stderr.write("\n");
    process.kill(process.pid, "SIGINT");
  });
  try {
    if (hidden) process.stderr.write(question);
    return await lines.question(hidden ? "" : question);
  } finally {
    lines.close();
    if (hidden) process.stderr.write("\n");
  }
}

/** The user as whom a command acts, by its terminal. */
const signedInAs = new WeakMap<Terminal, string>();

/** Records as whom a command acts, for its error messages. */
export const actAs = (terminal: Terminal, email: string): void => void signedInAs.set(terminal, email);

/** The objects that the arguments of a command name, or else its options. */
function namedBy(args: readonly unknown[]): readonly string[] {
  const texts = args.filter((arg) => typeof arg === "string");
  const options = args.find((arg) => arg instanceof Object && arg.constructor === Object) ?? {};
  return texts.length > 0 ? texts : Object.values(options).filter((value) => typeof value === "string");
}

/** The arguments and options of a command, by the members of a request: `issuer` by `issuer`, `--scope` by `scopes`. */
function takenBy(command: unknown): ReadonlyMap<string, string> {
  if (!(command instanceof Command)) return new Map();
  const options = command.options.filter(({ negate }) => !negate).map((option) => [option.attributeName(), option.long ?? ""] as const);
  return new Map([...command.registeredArguments.map((argument) => [argument.name(), argument.name()] as const), ...options]);
}

/** The action of a command. A failure becomes one message and the exit code. */
export const running =
  <Args extends unknown[]>(terminal: Terminal, action: (...args: Args) => Promise<void>) =>
  (...args: Args): Promise<void> =>
    action(...args).catch(async (error: unknown) => {
      const { asFailure } = await import("./as-failure.ts");
      const failure = asFailure(error, {
        server: terminal.server().serverUrl,
        email: signedInAs.get(terminal),
        named: namedBy(args),
        takes: takenBy(args.at(-1)),
      });
      terminal.complain(failure.message, "red");
      terminal.end(failure.exitCode);
    });

/** Answers for a server that may answer later. @throws any other error */
export const ifAway =
  <Answer>(answer: Answer) =>
  async (error: unknown): Promise<Answer> => {
    const { isAway } = await import("./as-failure.ts"); // loads the admin client
    if (isAway(error)) return answer;
    throw error;
  };
