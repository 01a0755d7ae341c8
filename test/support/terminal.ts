import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import type { ServerAccess, Terminal } from "../../src/cli/terminal.ts";
import { systemClock } from "../../src/clock.ts";

/** Adds commands to a program that runs at a terminal. */
export type Registers = (program: Command, terminal: Terminal) => void;

/** A terminal with a home directory of its own, which collects the output. */
export function aTerminal(access: ServerAccess, ask: Terminal["ask"] = async () => "") {
  const home = mkdtempSync(join(tmpdir(), "countersign-terminal-"));
  const said = { out: "", err: "", code: 0 };
  const terminal: Terminal = {
    server: () => access,
    configDir: join(home, "countersign"),
    clock: systemClock,
    write: (text) => {
      said.out += `${text}\n`;
    },
    complain: (text) => {
      said.err += `${text}\n`;
    },
    ask,
    interactive: false,
    paint: (_colour, text) => text,
    open: () => undefined,
    end: (code) => {
      said.code = code;
    },
  };
  /** Runs one command. @returns its own output, without that of earlier commands */
  async function run(registers: readonly Registers[], words: readonly string[]) {
    Object.assign(said, { out: "", err: "", code: 0 });
    const program = new Command().exitOverride().configureOutput({ writeErr: () => undefined });
    for (const register of registers) register(program, terminal);
    await program.parseAsync(words, { from: "user" });
    return { ...said };
  }
  return { home, terminal, said, run, leave: () => rmSync(home, { recursive: true, force: true }) };
}

export type TestTerminal = ReturnType<typeof aTerminal>;
