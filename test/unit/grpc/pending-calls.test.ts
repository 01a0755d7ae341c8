import { setTimeout as pause } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { pendingCalls } from "../../../src/grpc/pending-calls.ts";

test("a call whose time is over before it is sent ends at once, without a warning of Node in the log", async () => {
  const warnings: string[] = [];
  const listener = ({ name }: Error) => void warnings.push(name);
  process.on("warning", listener);
  onTestFinished(() => void process.off("warning", listener));
  const calls = pendingCalls(
    () => undefined,
    () => undefined,
  );
  const { answer } = calls.add(1, { name: "publicKeys", request: {}, budget: -4.2 }, () => undefined);
  await expect(answer).rejects.toMatchObject({ code: "temporarily_unavailable", reason: "core_timeout" });
  await pause(0);
  expect(warnings).toEqual([]);
});
