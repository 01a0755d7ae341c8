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
    ["the first key", served([young, 0]), 0],
    ["an empty repository", [], 0],
    ["beside an older one", served([old, 5_000], [young, 0]), 300],
    ["after 299.5 s", served([old, 5_000], [young, 299.5]), 1],
    ["after 300 s", served([old, 5_000], [young, 300]), 0],
    ["published together with another", served([old, 3], [young, 3]), 0],
    ["beside an older one of another kind", served([rsa, 5_000], [mldsa, 5_000], [young, 0]), 0],
    ["not published yet, beside another", served([old, 1]), 300],
  ] as const)("%s", ([, keys, seconds]) => {
    expect(noticeLeft(young.jwk, keys)).toBe(seconds);
  });
});

describe("the signing key", () => {
  const before = served([old, 5_000], [young, 100]);
  test.for([
    ["is the preferred key after 300 s", { accessToken: [young, old] }, served([old, 5_000], [young, 300]), young],
    ["is the previous key until then", { accessToken: [young, old] }, before, old],
    ["is none, where the previous key is not configured", { accessToken: [young] }, before, 200],
    ["is the preferred key at once, where no other core could sign", { accessToken: [young], signsAtOnce: true }, before, young],
    ["is the previous key until then, also where no other core could sign", { accessToken: [young, old], signsAtOnce: true }, before, old],
    ["is none, while the RSA key waits", { accessToken: [old], rsa }, served([old, 9], [signingKey(pem("rsa")), 9], [rsa, 0]), 300],
    ["includes the RSA key at once where it is the first", { accessToken: [old], rsa }, served([old, 9], [rsa, 0]), old],
    [
      "is none, while the ML-DSA key waits",
      { accessToken: [old], mldsa: { key: mldsa, hybrid: true } },
      served([old, 9], [otherMldsa, 9], [mldsa, 5]),
      295,
    ],
    [
      "is not delayed by an ML-DSA key that does not sign",
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

test("a key is marked as in use before it first signs, and not while it waits", async () => {
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
