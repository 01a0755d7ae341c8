import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";

const COMMAND = join(import.meta.dirname, "../../bin/countersign");
const SIZE = { cols: 120, rows: 50 };

/** An escape sequence that shows nothing. */
const EXIT = 7_777;
/**
 * Runs a command, writes its exit code after its output, and stays: what has not been read 200 ms after a terminal's program has exited is
 * lost, and a busy machine takes longer.
 */
const STAYING = `"$@"; printf '\\033]${EXIT};%d\\007' $?; kill -STOP $$`;

/** A run of the command line in a real pseudo-terminal, with its screen. */
export interface TerminalRun {
  /** The current text on the screen, without empty lines. */
  screen(): string;
  /** Whether any text that was written to the terminal had a colour. */
  colours(): boolean;
  /** Waits until the screen shows `text`. @throws {Error} with the screen when the command exits first */
  shows(text: string): Promise<void>;
  /** Types a line and presses Enter. */
  type(line: string): void;
  /** The exit code as a shell gives it, once the command has exited. */
  readonly ended: Promise<number>;
  /** Presses Ctrl-C. */
  interrupt(): void;
  kill(): void;
}

/** @param env the environment besides PATH  @param command the words before `args` */
export function runInTerminal(args: readonly string[], env: Record<string, string>, command: readonly string[] = [COMMAND]): TerminalRun {
  const display = new xterm.Terminal({ ...SIZE, allowProposedApi: true });
  const all = { PATH: process.env.PATH ?? "", TERM: "xterm-256color", ...env };
  const child = spawn("sh", ["-c", STAYING, "sh", ...command, ...args], { ...SIZE, env: all });
  const watchers = new Set<() => void>();
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  let exited = false;
  let coloured = false;
  child.onData((text) => {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: the escape sequence of a foreground colour
    coloured ||= /\u001b\[3[0-7]m/.test(text);
    display.write(text, look);
  });
  const kill = () => void (exited || process.kill(-child.pid, "SIGKILL")); // the command too
  const ended = new Promise<number>((resolve) => {
    const end = (code: number) => {
      exited = true;
      look();
      resolve(code);
    };
    display.parser.registerOscHandler(EXIT, (code) => {
      kill();
      end(Number(code));
      return true;
    });
    // Killed by the test, or by the signal that ended the command. Draws what the terminal has received before.
    child.onExit(({ exitCode, signal }) => display.write("", () => end(signal ? 128 + signal : exitCode)));
  });
  const screen = (): string =>
    Array.from({ length: SIZE.rows }, (_, row) => display.buffer.active.getLine(row)?.translateToString(true) ?? "")
      .filter((line) => line !== "")
      .join("\n");
  return {
    screen,
    colours: () => coloured,
    shows: (text) =>
      new Promise((resolve, reject) => {
        const watcher = () => {
          if (!screen().includes(text) && !exited) return;
          watchers.delete(watcher);
          if (screen().includes(text)) resolve();
          else reject(new Error(`the command ended without showing "${text}":\n${screen()}`));
        };
        watchers.add(watcher);
        watcher();
      }),
    type: (line) => child.write(`${line}\r`),
    ended,
    interrupt: () => child.write("\u0003"),
    kill,
  };
}
