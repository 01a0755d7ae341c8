import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { importEd25519, importPortably, sha256 } from "../../../guard-sdk/src/signature.ts";

interface Vectors {
  numberOfTests: number;
  testGroups: { publicKey: { pk: string }; tests: { tcId: number; comment: string; msg: string; sig: string; result: string }[] }[];
}

const vectors: Vectors = JSON.parse(readFileSync(new URL("../../vectors/ed25519_test.json", import.meta.url), "utf8"));
const bytes = (hex: string) => new Uint8Array(Buffer.from(hex, "hex"));

describe.for([
  ["node:crypto", importEd25519],
  ["WebCrypto", importPortably],
] as const)("Wycheproof Ed25519 with %s", ([, importKey]) => {
  test("verifies exactly the valid signatures", async () => {
    const verdicts: { case: string; guard: string; expected: string }[] = [];
    for (const { publicKey, tests } of vectors.testGroups) {
      const key = await importKey(Buffer.from(publicKey.pk, "hex").toString("base64url"));
      for (const { tcId, comment, msg, sig, result } of tests) {
        const good = await key.verifies(bytes(msg), bytes(sig));
        verdicts.push({ case: `${tcId} ${comment}`, guard: good ? "valid" : "invalid", expected: result });
      }
    }
    expect(verdicts).toHaveLength(vectors.numberOfTests);
    expect(verdicts.filter(({ guard, expected }) => guard !== expected)).toEqual([]);
  });

  test.for(["", "AA", "not base64url!"])("%j is refused as a key", async (x) => {
    await expect((async () => importKey(x))()).rejects.toThrow();
  });
});

test("a token digest is stable and differs between tokens", async () => {
  expect(await sha256("a")).toBe(await sha256("a"));
  expect(await sha256("a")).not.toBe(await sha256("b"));
});
