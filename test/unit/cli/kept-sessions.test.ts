import { mkdirSync, utimesSync } from "node:fs";
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
