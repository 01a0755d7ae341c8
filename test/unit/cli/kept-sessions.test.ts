import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { withSessionLock } from "../../../src/cli/kept-sessions.ts";
import { aTerminal } from "../../support/terminal.ts";

test.for([-3_600, 3_600])("a lock that a command left behind %i seconds away from now keeps no other command waiting", async (seconds) => {
  const { terminal, leave } = aTerminal({ serverUrl: "https://auth.example", email: undefined, password: undefined });
  onTestFinished(leave);
  const lock = join(terminal.configDir, "sessions.lock");
  mkdirSync(lock, { recursive: true });
  const made = Date.now() / 1_000 + seconds;
  utimesSync(lock, made, made);
  expect(await withSessionLock(terminal, async () => "renewed")).toBe("renewed");
});

/** A command that has the lock, and leaves it when something is written to it. */
async function aLockedCommand() {
  const { terminal, leave } = aTerminal({ serverUrl: "https://auth.example", email: undefined, password: undefined });
  onTestFinished(leave);
  const script = `
    const { withSessionLock } = await import(${JSON.stringify(new URL("../../../src/cli/kept-sessions.ts", import.meta.url).href)});
    const { once } = await import("node:events");
    process.on("SIGUSR2", () => console.log("lives"));
    await withSessionLock({ configDir: process.argv[1] }, async () => {
      console.log("locked");
      await once(process.stdin, "data");
      console.log("written");
    });
    console.log("went on");
    setInterval(() => undefined, 1_000);`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script, terminal.configDir], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  const isSaid = (word: string) => expect.poll(() => said).toContain(word);
  await isSaid("locked");
  child.kill("SIGINT");
  child.kill("SIGUSR2");
  await isSaid("lives");
  return { child, lock: join(terminal.configDir, "sessions.lock"), isSaid };
}

test("a command that is interrupted while it has the lock ends when its work is done, and leaves none behind", async () => {
  const { child, lock, isSaid } = await aLockedCommand();
  expect(existsSync(lock)).toBe(true);
  child.stdin.write("go on");
  expect(await once(child, "exit")).toEqual([null, "SIGINT"]);
  await isSaid("written");
  expect(existsSync(lock)).toBe(false);
});

test("a second interrupt ends a command whose work does not end", async () => {
  const { child, lock } = await aLockedCommand();
  child.kill("SIGTERM");
  expect(await once(child, "exit")).toEqual([null, "SIGTERM"]);
  expect(existsSync(lock)).toBe(false);
});
