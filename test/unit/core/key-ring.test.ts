import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { judgeRing, noticeLeft, openKeys } from "../../../src/core/signing/key-ring.ts";
import { signingKey } from "../../../src/core/signing/keys.ts";
import { openMldsaKey } from "../../../src/core/signing/ml-dsa.ts";

const pem = (kind: "ed25519" | "rsa") => {
  const { privateKey } = kind === "rsa" ? generateKeyPairSync("rsa", { modulusLength: 2048 }) : generateKeyPairSync("ed25519");
  return privateKey.export({ type: "pkcs8", format: "pem" }).toString();
};
const [old, young] = [signingKey(pem("ed25519")), signingKey(pem("ed25519"))];
const rsa = signingKey(pem("rsa"));
const mldsa = await openMldsaKey(Buffer.alloc(32, 1));
const otherMldsa = await openMldsaKey(Buffer.alloc(32, 2));

const served = (...keys: readonly (readonly [{ readonly jwk: typeof old.jwk | typeof mldsa.jwk }, number])[]) =>
  keys.map(([{ jwk }, age]) => ({ jwk, age }));

describe("R9: a key signs when it has been published for 300 s", () => {
  test.for([
    ["the first key of all", served([young, 0]), 0],
    ["a register that knows nothing", [], 0],
    ["beside an older one", served([old, 5_000], [young, 0]), 300],
    ["after a while", served([old, 5_000], [young, 299.5]), 1],
    ["in the end", served([old, 5_000], [young, 300]), 0],
    ["published together with another", served([old, 3], [young, 3]), 0],
    ["beside an older one of another kind", served([rsa, 5_000], [mldsa, 5_000], [young, 0]), 0],
    ["not published yet, beside another", served([old, 1]), 300],
  ] as const)("%s", ([, keys, seconds]) => {
    expect(noticeLeft(young.jwk, keys)).toBe(seconds);
  });
});

describe("what signs", () => {
  const before = served([old, 5_000], [young, 100]);
  test.for([
    ["the preferred key, once it may", { accessToken: [young, old] }, served([old, 5_000], [young, 300]), young],
    ["the one of before until then", { accessToken: [young, old] }, before, old],
    ["nothing, where that is not at hand", { accessToken: [young] }, before, 200],
    [
      "the preferred key all the same, where there is no other core that could sign",
      { accessToken: [young], signsAtOnce: true },
      before,
      young,
    ],
    ["the one of before until then, also there", { accessToken: [young, old], signsAtOnce: true }, before, old],
    ["nothing, while the RSA key waits", { accessToken: [old], rsa }, served([old, 9], [signingKey(pem("rsa")), 9], [rsa, 0]), 300],
    ["the RSA key at once where it is the first", { accessToken: [old], rsa }, served([old, 9], [rsa, 0]), old],
    [
      "nothing, while the ML-DSA key waits",
      { accessToken: [old], mldsa: { key: mldsa, hybrid: true } },
      served([old, 9], [otherMldsa, 9], [mldsa, 5]),
      295,
    ],
    [
      "an ML-DSA key that signs nothing delays no start",
      { accessToken: [old], mldsa: { key: mldsa, hybrid: false } },
      served([old, 9], [otherMldsa, 9], [mldsa, 5]),
      old,
    ],
  ] as const)("%s", ([, ring, keys, expected]) => {
    const judgement = judgeRing(ring, keys);
    if (typeof expected === "number") expect(judgement).toEqual({ kind: "waits", seconds: expected });
    else expect(judgement).toMatchObject({ kind: "signs", keys: { accessToken: expected } });
  });
});

test("what begins to sign is marked as in use before it has signed, and what waits is not", async () => {
  const marks: string[][] = [];
  let age = 0;
  const register = {
    publish: async (_: unknown, inUse: readonly string[]) => {
      marks.push([...inUse]);
      return served([old, 5_000], [young, age]);
    },
  };
  const keys = await openKeys({ accessToken: [young, old] }, register);
  expect(marks).toEqual([[], [old.jwk.kid]]);
  age = 300;
  await keys.refresh();
  expect(marks.slice(2)).toEqual([[old.jwk.kid], [young.jwk.kid]]);
  expect(keys.signing().accessToken).toBe(young);
  await keys.refresh();
  expect(marks.slice(4)).toEqual([[young.jwk.kid]]);
});
