import { spawnSync } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { Command } from "commander";
import { expect, test } from "vitest";
import { completeHelp, registerServerCommands } from "../../../src/cli/commands.ts";
import { completionScript } from "../../../src/cli/completion.ts";
import { aTerminal } from "../../support/terminal.ts";

function aProgram(): Command {
  const { terminal, leave } = aTerminal({ serverUrl: "http://localhost:3000", email: undefined, password: undefined });
  leave(); // no command runs
  const program = new Command("countersign");
  registerServerCommands(program, terminal, () => undefined);
  completeHelp(program);
  return program;
}

/** What bash offers for the last of these words. */
function offered(...words: readonly string[]): readonly string[] {
  const script = `${completionScript(aProgram(), "bash")}
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _countersign; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync("bash", ["-c", script, "bash", ...words], { encoding: "utf8" });
  expect(stderr).toBe("");
  return stdout.split("\n").filter(Boolean);
}

test.for<[readonly string[], readonly string[]]>([
  [["countersign", "cl"], ["clients"]],
  [
    ["countersign", "clients", "d"],
    ["disable", "delete"],
  ],
  [["countersign", "clients", "delete", "--y"], ["--yes"]],
  [["countersign", "--json", "delegations", "cut", "--ag"], ["--agent"]],
  [["countersign", "clients", "delete", "my-app", "--op"], ["--operator"]],
  [["countersign", "nothing", "known"], []],
])("bash completes %s", ([words, expected]) => {
  expect(offered(...words)).toEqual(expected);
});

test("fish offers each word with its description, and files only after commands that may take one", () => {
  const script = completionScript(aProgram(), "fish");
  expect(script).toMatch(/^complete -c countersign -f -n '.+ = "clients"' -a 'delete' -d 'delete a client/m);
  expect(script).toMatch(/^complete -c countersign -n '.+ = "resources add"' -a '--scope'/m);
});

const leavesOf = (command: Command): readonly Command[] => (command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf));

test.for(leavesOf(aProgram()).map((command) => [`${command.parent?.name()} ${command.name()}`, command] as const))(
  "the help of %s has examples",
  ([, command]) => {
    let help = "";
    command.configureOutput({ writeOut: (text) => (help += text) }).outputHelp();
    expect(help).toMatch(/^Examples:\n {2}\S/m);
  },
);

test.for([
  ["/dev/full", 1],
  ["/dev/null", 0],
] as const)("with its output in %s, the command exits with %i", ([path, code]) => {
  const output = openSync(path, "w");
  const args = ["--conditions=countersign", "src/main.ts", "completion", "bash"];
  expect(spawnSync(process.execPath, args, { stdio: ["ignore", output, "ignore"] }).status).toBe(code);
  closeSync(output);
});
