import { spawn } from "node:child_process";
import { once } from "node:events";
import fs, { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { withSessionLock } from "../../../src/cli/kept-sessions.ts";
import { aTerminal } from "../../support/terminal.ts";

function aLock() {
  const { terminal, leave } = aTerminal({ serverUrl: "https://auth.example", email: undefined, password: undefined });
  onTestFinished(leave);
  const lock = join(terminal.configDir, "sessions.lock");
  /** Makes the lock one that was taken so many seconds from now. */
  const takenAt = (seconds: number) => {
    const taken = Date.now() / 1_000 + seconds;
    for (const each of [lock, ...readdirSync(lock).map((name) => join(lock, name))]) utimesSync(each, taken, taken);
  };
  const leftBehind = (seconds: number) => {
    mkdirSync(join(lock, "of-a-dead-command"), { recursive: true });
    takenAt(seconds);
  };
  return { terminal, takenAt, leftBehind };
}

test.for([-3_600, 3_600])("a lock that a command left behind %i seconds away from now keeps no other command waiting", async (seconds) => {
  const { terminal, leftBehind } = aLock();
  leftBehind(seconds);
  expect(await withSessionLock(terminal, async () => "renewed")).toBe("renewed");
});

test("what a killed command left beside its files is removed by a later one, and nothing else is", async () => {
  const { terminal } = aLock();
  const { configDir } = terminal;
  const uuid = "0b5c1f6e-6a53-4c55-9c39-0c1c1b0a7d11";
  const names = [`sessions.lock.${uuid}`, "sessions.json.4711", "clients.json.4711", "sessions.json.old"];
  const make = (name: string, seconds: number) => {
    const path = join(configDir, name);
    if (name.includes("lock")) mkdirSync(join(path, uuid), { recursive: true });
    else writeFileSync(path, "{}");
    utimesSync(path, Date.now() / 1_000 + seconds, Date.now() / 1_000 + seconds);
  };
  mkdirSync(configDir, { recursive: true });
  for (const name of names) make(name, -3_600);
  make("sessions.json.4712", 0); // of a command that is running
  await withSessionLock(terminal, () => undefined);
  expect(readdirSync(configDir).sort()).toEqual(["sessions.json.4712", "sessions.json.old"]);
});

test("commands that find the same dead lock at once work one after the other", async () => {
  const { terminal, leftBehind } = aLock();
  leftBehind(-3_600);
  let working = 0;
  let most = 0;
  const command = () =>
    withSessionLock(terminal, async () => {
      most = Math.max(most, ++working);
      await setTimeout(150);
      working--;
    });
  const { rmSync } = fs;
  const others: Promise<void>[] = [];
  // Two other commands come between the look of the first at the lock, and its removal.
  fs.rmSync = (...removal) => {
    fs.rmSync = rmSync;
    syncBuiltinESMExports();
    others.push(command(), command());
    rmSync(...removal);
  };
  syncBuiltinESMExports();
  await command();
  await Promise.all(others);
  expect([others.length, most]).toEqual([2, 1]);
});

test("a command that took too long does not release the lock of the next one", async () => {
  const { terminal, takenAt } = aLock();
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const slow = withSessionLock(terminal, () => first.promise);
  takenAt(-3_600);
  const secondHasIt = Promise.withResolvers<void>();
  const next = withSessionLock(terminal, () => {
    secondHasIt.resolve();
    return second.promise;
  });
  await secondHasIt.promise;
  first.resolve();
  await slow;
  let thirdHasIt = false;
  const third = withSessionLock(terminal, () => {
    thirdHasIt = true;
  });
  expect(thirdHasIt).toBe(false);
  second.resolve();
  await Promise.all([next, third]);
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
