import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { getPriority } from "node:os";
import argon2 from "argon2";
import { describe, expect, test, vi } from "vitest";
import { fairQueue } from "../../../src/accounts/fair-queue.ts";
import { HASHING, passwordHashing } from "../../../src/accounts/password-hash.ts";

const hashing = passwordHashing({ randomBytes });
const ADDRESS = "192.0.2.1";
const passwords = {
  hash: (password: string) => hashing.hash(password, ADDRESS),
  verify: (encoded: string | null, password: string) => hashing.verify(encoded, password, ADDRESS),
};

/** The ids of the processes that hash for this worker: children of its thread. A test that loads the modules again leaves one of its own. */
async function hashingProcesses(): Promise<readonly number[]> {
  const ids = readFileSync("/proc/thread-self/children", "utf8").split(" ").filter(Boolean).map(Number);
  const programs = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, "utf8")));
  return ids.filter((_, index) => programs[index]?.includes("hashing-process"));
}

describe("argon2id with 19 MiB, two passes and one lane", () => {
  test("a hash contains its parameters and verifies", async () => {
    const encoded = await passwords.hash("correct horse battery");
    expect(encoded).toMatch(/^\$argon2id\$v=19\$m=19456,p=1,t=2\$/);
    expect(await passwords.verify(encoded, "correct horse battery")).toEqual({ kind: "right", outdated: false });
    expect(await passwords.verify(encoded, "correct horse batterY")).toEqual({ kind: "wrong" });
  });

  test.skipIf(process.platform !== "linux")(
    "is computed by a process that gives way to the server, and again by another one when it was killed",
    async () => {
      await passwords.hash("correct horse battery");
      const hashers = await hashingProcesses();
      const hasher = hashers.at(-1);
      // proc_pid_stat(5): after the name in parentheses, niceness is the seventeenth field.
      const [, fields = ""] = (await readFile(`/proc/${hasher}/stat`, "utf8")).split(") ");
      expect(Number(fields.split(" ")[16])).toBe(Math.min(19, getPriority() + 10));
      expect(await readFile(`/proc/${hasher}/environ`, "utf8")).toMatch(/^UV_THREADPOOL_SIZE=2\0(NODE_CHANNEL_\w+=\w+\0)*$/);
      for (const id of hashers) process.kill(id, "SIGSTOP");
      const lost = passwords.hash("correct horse battery");
      for (const id of hashers) process.kill(id, "SIGKILL");
      await expect(lost).rejects.toMatchObject({ code: "temporarily_unavailable" });
      expect(await passwords.hash("correct horse battery")).toMatch(/^\$argon2id\$/);
      expect(hashers).not.toContain((await hashingProcesses()).at(-1));
    },
  );

  test("uses the given cost, and reports a hash of the production cost as outdated", async () => {
    const cheap = passwordHashing({ randomBytes, cost: { memoryCost: 8, timeCost: 1, parallelism: 1 } });
    expect(await cheap.hash("correct horse battery", ADDRESS)).toMatch(/^\$argon2id\$v=19\$m=8,p=1,t=1\$/);
    const encoded = await passwords.hash("correct horse battery");
    expect(await cheap.verify(encoded, "correct horse battery", ADDRESS)).toEqual({ kind: "right", outdated: true });
  });

  test("composed and decomposed forms of a letter are the same password", async () => {
    const encoded = await passwords.hash("cafe\u0301 au lait");
    expect(await passwords.verify(encoded, "caf\u00e9 au lait")).toMatchObject({ kind: "right" });
  });

  test("a password that another server hashed as it was typed is right when it is typed the same way", async () => {
    const typed = "cafe\u0301 au lait";
    const foreign = await argon2.hash(typed, { memoryCost: 8192, timeCost: 1, parallelism: 1 });
    expect(await passwords.verify(foreign, typed)).toEqual({ kind: "right", outdated: true });
  });

  test("a hash with other parameters verifies and is reported as outdated", async () => {
    const old = await argon2.hash("correct horse battery", { memoryCost: 8192, timeCost: 1, parallelism: 1 });
    expect(await passwords.verify(old, "correct horse battery")).toEqual({ kind: "right", outdated: true });
  });

  test("without a stored hash the verdict is wrong, and a hash is computed nevertheless", async () => {
    const turns: string[] = [];
    const counting = passwordHashing({
      randomBytes,
      queue: (key, job) => {
        turns.push(key);
        return job();
      },
    });
    for (const encoded of [undefined, null]) expect(await counting.verify(encoded, "", ADDRESS)).toEqual({ kind: "wrong" });
    expect(turns).toEqual([ADDRESS, ADDRESS]);
  });

  test("R6: an address alone has the whole queue: 34 sign-ups at once are two that run and 32 that wait", async () => {
    const cheap = passwordHashing({ randomBytes, cost: { memoryCost: 8, timeCost: 2, parallelism: 1 } });
    const outcomes = await Promise.allSettled(Array.from({ length: 35 }, () => cheap.hash("correct horse battery", ADDRESS)));
    expect(outcomes.map(({ status }) => status)).toEqual([...Array(34).fill("fulfilled"), "rejected"]);
  });

  test("R6: what finds a place in the queue gets its turn, although a hash takes 180 ms", async ({ onTestFinished }) => {
    vi.useFakeTimers();
    onTestFinished(() => void vi.useRealTimers());
    const queue = fairQueue(HASHING);
    const pause = () => new Promise<void>((resolve) => setTimeout(resolve, 180));
    const outcomes = Promise.allSettled(Array.from({ length: 34 }, () => queue(ADDRESS, pause)));
    await vi.advanceTimersByTimeAsync(17 * 180);
    expect((await outcomes).map(({ status }) => status)).toEqual(Array(34).fill("fulfilled"));
  });
});
