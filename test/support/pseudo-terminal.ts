import { join } from "node:path";
import { spawn } from "@lydell/node-pty";
import xterm from "@xterm/headless";

const COMMAND = join(import.meta.dirname, "../../bin/countersign");
const SIZE = { cols: 120, rows: 30 };

/** One run of the command line in a real pseudo-terminal, with the screen that its user looks at. */
export interface TerminalRun {
  /** The text on the screen right now, without empty lines. */
  screen(): string;
  /** Waits until the screen shows `text`. @throws {Error} with the screen when the command ends first */
  shows(text: string): Promise<void>;
  /** Types a line and presses Enter. */
  type(line: string): void;
  /** The exit code, once the command has ended. */
  readonly ended: Promise<number>;
  kill(): void;
}

/** @param env all that the command sees besides PATH */
export function runInTerminal(args: readonly string[], env: Record<string, string>): TerminalRun {
  const display = new xterm.Terminal({ ...SIZE, allowProposedApi: true });
  const child = spawn(COMMAND, [...args], { ...SIZE, env: { PATH: process.env.PATH ?? "", TERM: "xterm-256color", ...env } });
  const watchers = new Set<() => void>();
  const look = () => {
    for (const watcher of watchers) watcher();
  };
  let over = false;
  child.onData((text) => display.write(text, look));
  const ended = new Promise<number>((resolve) => {
    child.onExit(({ exitCode }) => {
      // What the terminal has received but not drawn yet comes first.
      display.write("", () => {
        over = true;
        look();
        resolve(exitCode);
      });
    });
  });
  const screen = (): string =>
    Array.from({ length: SIZE.rows }, (_, row) => display.buffer.active.getLine(row)?.translateToString(true) ?? "")
      .filter((line) => line !== "")
      .join("\n");
  return {
    screen,
    shows: (text) =>
      new Promise((resolve, reject) => {
        const watcher = () => {
          if (!screen().includes(text) && !over) return;
          watchers.delete(watcher);
          if (screen().includes(text)) resolve();
          else reject(new Error(`the command ended without showing "${text}":\n${screen()}`));
        };
        watchers.add(watcher);
        watcher();
      }),
    type: (line) => child.write(`${line}\r`),
    ended,
    kill: () => child.kill("SIGKILL"),
  };
}
