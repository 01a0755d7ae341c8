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

test("a command that is interrupted while it has the lock leaves none behind", async () => {
  const { terminal, leave } = aTerminal({ serverUrl: "https://auth.example", email: undefined, password: undefined });
  onTestFinished(leave);
  const script = `
    const { withSessionLock } = await import(${JSON.stringify(new URL("../../../src/cli/kept-sessions.ts", import.meta.url).href)});
    setInterval(() => undefined, 1_000);
    await withSessionLock({ configDir: process.argv[1] }, () => new Promise(() => console.log("locked")));`;
  const child = spawn(process.execPath, ["--input-type=module", "--eval", script, terminal.configDir], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  const lock = join(terminal.configDir, "sessions.lock");
  expect(existsSync(lock)).toBe(true);
  child.kill("SIGINT");
  expect(await once(child, "exit")).toEqual([null, "SIGINT"]);
  expect(existsSync(lock)).toBe(false);
});
