import { expect, test } from "vitest";
import type * as passwordHash from "../../../src/accounts/password-hash.ts";

/** The module as another instance, by its query, so that no process runs yet. */
const ANOTHER = "../../../src/accounts/password-hash.ts?another";
const cost = { memoryCost: 8, timeCost: 1, parallelism: 1 };

test("a hash for which no process can be started is temporarily_unavailable, and the next one is tried again", async () => {
  const { hashInProcess }: typeof passwordHash = await import(ANOTHER);
  const job = { kind: "hash", normalized: "correct horse", salt: new Uint8Array(16), cost } as const;
  const { execPath } = process;
  try {
    process.execPath = "/nonexistent";
    await expect(hashInProcess(job)).rejects.toMatchObject({ code: "temporarily_unavailable", detail: { retryAfter: 1 } });
  } finally {
    process.execPath = execPath;
  }
  expect(await hashInProcess(job)).toMatch(/^\$argon2id\$/);
});
