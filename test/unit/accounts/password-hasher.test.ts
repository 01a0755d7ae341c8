import { expect, test, vi } from "vitest";

const cost = { memoryCost: 8, timeCost: 1, parallelism: 1 };

test("a hash for which no process can be started is temporarily_unavailable, and the next one is tried again", async () => {
  vi.resetModules(); // so that no process runs yet
  const { hashInProcess } = await import("../../../src/accounts/password-hash.ts");
  const job = { kind: "hash", normalized: "correct horse", salt: new Uint8Array(16), cost } as const;
  const { execPath } = process;
  process.execPath = "/nonexistent";
  await expect(hashInProcess(job)).rejects.toMatchObject({ code: "temporarily_unavailable", detail: { retryAfter: 1 } });
  process.execPath = execPath;
  expect(await hashInProcess(job)).toMatch(/^\$argon2id\$/);
});
