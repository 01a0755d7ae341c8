import type { AdminClient, ManagementInputs } from "@countersign/admin";
import type { Command } from "commander";
import { CommandFailure, EXIT, EXIT_CODES } from "./failure.ts";
import { asJson, table } from "./table.ts";
import { running, type Terminal } from "./terminal.ts";

/** The management API, loaded and signed in to when a command needs it. @throws {CommandFailure} */
export const managing = async (terminal: Terminal): Promise<AdminClient> => (await import("./session.ts")).signedIn(terminal);

/** What a command prints: `value` with `--json`, else `text`. */
export interface Output {
  readonly value: unknown;
  readonly text: string;
  /** The next step after an empty list. */
  readonly whenEmpty?: string;
  /** The member of the output that is never shown again. */
  readonly shownOnce?: string;
  /** A warning after the output. */
  readonly warning?: () => Promise<string | undefined> | string | undefined;
}

/** Adds a command with `--json` that prints what `action` returns. */
export function addCommand<Args extends unknown[]>(
  parent: Command,
  terminal: Terminal,
  name: string,
  description: string,
  action: (...args: Args) => Promise<Output>,
): Command {
  const command = parent.command(name).description(description).option("--json", "as JSON");
  return command.action(
    running(terminal, async (...args: Args) => {
      const { value, text, warning, whenEmpty, shownOnce } = await action(...args);
      const { json } = command.opts();
      terminal.write(json ? asJson(value) : text);
      if (!json && whenEmpty !== undefined && Array.isArray(value) && value.length === 0) terminal.complain(whenEmpty);
      if (!json && shownOnce !== undefined) terminal.complain(`Keep the ${shownOnce} now: it is shown only this once.`, "yellow");
      const warned = await warning?.();
      if (warned !== undefined) terminal.complain(warned, "yellow");
    }),
  );
}

/** Adds a group, and returns how to add its commands. Each calls the management API as the user who is signed in. */
export function managementCommands(program: Command, terminal: Terminal, name: string, description: string) {
  const group = program.command(name).description(description).addHelpText("after", EXIT_CODES);
  return <Args extends unknown[]>(
    usage: string,
    purpose: string,
    action: (admin: AdminClient, ...args: Args) => Promise<Output>,
  ): Command => addCommand(group, terminal, usage, purpose, async (...args: Args) => action(await managing(terminal), ...args));
}

/** Asks at a terminal before a command does what cannot be undone. `--yes` answers for the user; a script is never asked. */
export const asksFirst = (command: Command, terminal: Terminal, question: string): Command =>
  command.option("-y, --yes", "do not ask first").hook("preAction", async () => {
    if (!terminal.interactive || command.opts().yes === true) return;
    const answer = await terminal.ask(`${question} This cannot be undone. Go on? [y/N] `);
    if (!/^y(?:es)?$/i.test(answer.trim())) throw new CommandFailure(EXIT.failed, "Nothing was changed.");
  });

/** All items of a paged list. @param page fetches the page at a cursor; undefined is the first page */
export async function everyPage<Page extends { readonly nextCursor: string | null }, Item>(
  page: (at: { readonly limit: number; readonly cursor?: string }) => Promise<Page>,
  itemsOf: (page: Page) => readonly Item[],
): Promise<readonly Item[]> {
  const all: Item[] = [];
  for (let cursor: string | undefined; ; ) {
    const next: Page = await page({ limit: 200, ...(cursor !== undefined && { cursor }) });
    all.push(...itemsOf(next));
    if (next.nextCursor === null) return all;
    cursor = next.nextCursor;
  }
}

/** `countersign provision FILE` on a running server, as an operator. @throws {CommandFailure} */
export async function provisionThroughServer(
  file: ManagementInputs["operator"]["provision"],
  terminal: Terminal,
  json = false,
): Promise<void> {
  const done = await (await managing(terminal)).operator.provision.mutate(file);
  const rows = Object.entries(done).map(([what, { created, changed, unchanged }]) => [what, created, changed, unchanged]);
  terminal.write(json ? asJson(done) : table(["", "CREATED", "CHANGED", "UNCHANGED"], rows));
}
