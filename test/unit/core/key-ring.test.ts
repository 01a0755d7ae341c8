import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { issuedTokens, signJwt } from "../../../src/core/signing/jws.ts";
import { judgeRing, noticeLeft, openKeys, type ServedKey } from "../../../src/core/signing/key-ring.ts";
import { signingKey } from "../../../src/core/signing/keys.ts";
import { openMldsaKey } from "../../../src/core/signing/ml-dsa.ts";
import { Refusal } from "../../../src/errors.ts";
import { clientTokenClaims } from "../../support/builders.ts";

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

describe("a withdrawn key", () => {
  const gone = (key: typeof old, age: number) => ({ jwk: key.jwk, age, withdrawn: true });

  test("never signs, and does not make its successor wait", () => {
    const judged = judgeRing({ accessToken: [young] }, [gone(old, 5_000), ...served([young, 10])]);
    expect(judged).toMatchObject({ kind: "signs", keys: { accessToken: young } });
    const without = judgeRing({ accessToken: [young, old], signsAtOnce: true }, [gone(young, 5_000), ...served([old, 10])]);
    expect(without).toMatchObject({ kind: "signs", keys: { accessToken: old } });
    expect(judgeRing({ accessToken: [young], signsAtOnce: true }, [gone(young, 5_000)]).kind).toBe("waits");
    expect(judgeRing({ accessToken: [old], rsa, signsAtOnce: true }, [...served([old, 9]), gone(rsa, 9)]).kind).toBe("waits");
  });

  test("is neither published nor verifies, though it is configured, and its tokens are remembered no more", async () => {
    let register: readonly ServedKey[] = served([old, 5_000], [young, 5_000]);
    const keys = await openKeys({ accessToken: [young, old] }, { publish: async () => register });
    const claims = clientTokenClaims("https://id.example.test");
    const token = await signJwt(claims, "at+jwt", old);
    const tokens = issuedTokens(claims.iss, keys);
    expect(tokens.accessToken(token)).toBeDefined();
    register = [gone(old, 5_000), ...served([young, 5_000])];
    await keys.refresh();
    expect(JSON.parse(keys.jwksJson()).keys.map(({ kid }: { kid: string }) => kid)).toEqual([young.jwk.kid]);
    expect([tokens.remembered(token), tokens.accessToken(token)]).toEqual([undefined, undefined]);
  });

  test.for([
    ["JWT_PRIVATE_KEY", old],
    ["JWT_RSA_PRIVATE_KEY", rsa],
    ["JWT_MLDSA_PRIVATE_KEY", mldsa],
  ] as const)("that has to sign stops the start, which names %s", async ([setting, { jwk }]) => {
    const register = { publish: async () => [{ jwk, age: 9, withdrawn: true }] };
    const ring = { accessToken: [old], rsa, mldsa: { key: mldsa, hybrid: true } } as const;
    await expect(openKeys(ring, register)).rejects.toThrow(`${setting}: a key that has to sign was withdrawn`);
  });

  test("that is withdrawn while it is being marked as in use does not sign", async () => {
    const marks: string[][] = [];
    const register = {
      publish: async (_: unknown, inUse: readonly string[]) => {
        marks.push([...inUse]);
        return marks.length === 1 ? served([young, 5_000], [old, 5_000]) : [gone(young, 5_000), ...served([old, 5_000])];
      },
    };
    const keys = await openKeys({ accessToken: [young, old] }, register);
    expect(keys.signing().accessToken).toBe(old);
    expect(marks).toEqual([[], [young.jwk.kid], [old.jwk.kid]]);
  });
});

test("a key that was not marked as in use for 75 s does not sign until it is: it may have been withdrawn after 90", async () => {
  let now = 1_000;
  let register: readonly ServedKey[] = served([old, 5_000]);
  const keys = await openKeys({ accessToken: [old] }, { publish: async () => register }, () => now);
  const reason = () => {
    try {
      return keys.signing().accessToken.jwk.kid;
    } catch (error) {
      return error instanceof Refusal ? error.reason : error;
    }
  };
  now += 75;
  expect(reason()).toBe(old.jwk.kid);
  now += 1;
  expect(reason()).toBe("signing_key_perhaps_withdrawn");
  await expect.poll(reason).toBe(old.jwk.kid);
  register = [{ jwk: old.jwk, age: 5_000, withdrawn: true }];
  now += 76;
  expect(reason()).toBe("signing_key_perhaps_withdrawn");
  await expect.poll(reason).toBe("signing_key_withdrawn");
});

test("a request waits for the register once a key may have been withdrawn, and then the key signs or does not", async () => {
  let now = 1_000;
  let register: readonly ServedKey[] = served([old, 5_000]);
  const keys = await openKeys({ accessToken: [old] }, { publish: async () => register }, () => now);
  now += 600;
  await keys.settled();
  expect(keys.signing().accessToken).toBe(old);
  now += 600;
  register = [{ jwk: old.jwk, age: 5_000, withdrawn: true }];
  await keys.settled();
  expect(() => keys.signing()).toThrow(expect.objectContaining({ reason: "signing_key_withdrawn" }));
});

test.for([
  ["does not answer", () => new Promise<never>(() => {})],
  ["fails", () => Promise.reject(new Error("the database is away"))],
] as const)("a request waits no longer than a moment for a register that %s, and the key does not sign", async ([, publish]) => {
  let now = 1_000;
  let isAway = false;
  const register = { publish: async () => (isAway ? publish() : served([old, 5_000])) };
  const keys = await openKeys({ accessToken: [old] }, register, () => now);
  now += 600;
  isAway = true;
  await keys.settled();
  expect(() => keys.signing()).toThrow(expect.objectContaining({ reason: "signing_key_perhaps_withdrawn" }));
});

test.for([
  ["does not end", () => new Promise<never>(() => {})],
  ["fails", () => Promise.reject(new Error("the database is away"))],
] as const)("a key that was withdrawn does not sign while the marking of the next one %s", async ([, mark]) => {
  let now = 1_000;
  let register: readonly ServedKey[] = served([young, 5_000], [old, 5_000]);
  const publish = async (_: unknown, inUse: readonly string[]) => (inUse.includes(old.jwk.kid) ? mark() : register);
  const keys = await openKeys({ accessToken: [young, old] }, { publish }, () => now);
  now += 94;
  register = [{ jwk: young.jwk, age: 5_000, withdrawn: true }, ...served([old, 5_000])];
  expect(() => keys.signing()).toThrow(Refusal);
  await expect.poll(() => keys.byId(young.jwk.kid)).toBeUndefined();
  expect(() => keys.signing()).toThrow(Refusal);
  expect(keys.current()).toBeUndefined();
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
