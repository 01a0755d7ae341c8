import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { systemTerminal } from "../../../src/cli/terminal.ts";

test("without a terminal, the error names the question and how to answer it", async () => {
  const server = { serverUrl: "https://auth.example/", email: undefined, password: undefined };
  const answer = systemTerminal(() => server, undefined).ask("Password of the new account: ", {
    hidden: true,
    instead: "Use --password-file.",
  });
  await expect(answer).rejects.toThrow('There is no terminal to ask for "Password of the new account". Use --password-file.');
});

test("reads standard input that comes only after the command has started", async () => {
  const script = `
    import { writeSync } from "node:fs";
    import { contentOf } from "./src/cli/failure.ts";
    import { systemTerminal } from "./src/cli/terminal.ts";
    systemTerminal(() => undefined, undefined);
    writeSync(2, "started");
    writeSync(1, contentOf("-"));`;
  const child = spawn(process.execPath, ["--conditions=countersign", "--input-type=module", "--eval", script]);
  const output = text(child.stdout);
  await once(child.stderr, "data");
  child.stdin.end("late");
  expect(await output).toBe("late");
});
