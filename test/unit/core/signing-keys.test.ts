import { generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { parseJws, parseObject, promisesSecond } from "../../../src/core/signing/jws.ts";
import { openKeys } from "../../../src/core/signing/key-ring.ts";
import { publicKeysOf, signingKey } from "../../../src/core/signing/keys.ts";
import { mldsaPublicHalf } from "../../../src/core/signing/ml-dsa.ts";

const encoded = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const jws = `${encoded({ alg: "EdDSA" })}.${encoded({})}.AAAA`;
const aKey = () => signingKey(generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" }).toString());

test.for([
  ["one part", "e30"],
  ["two parts", "e30.e30"],
  ["four parts", `${jws}.AAAA`],
  ["a header that is not JSON", "AAAA.e30.AAAA"],
  ["a header that is a list", `${encoded([])}.e30.AAAA`],
  ["a header that is null", `${encoded(null)}.e30.AAAA`],
  ["a header that is a string", `${encoded("a")}.e30.AAAA`],
  ["a payload that is not base64url", `${encoded({})}.e30=.AAAA`],
  ["a signature that is not base64url", `${encoded({})}.e30.A+AA`],
] as const)("RFC 7515 §5.2: %s is not parsed as a JWS", ([, text]) => expect(parseJws(text)).toBeUndefined());

test("a JWS is parsed up to the length limit", () => {
  expect(parseJws(jws, jws.length)?.header).toEqual({ alg: "EdDSA" });
  expect(parseJws(jws, jws.length - 1)).toBeUndefined();
});

test("only objects are parsed from JSON", () => {
  const read = (value: unknown) => parseObject(Buffer.from(JSON.stringify(value)));
  expect([read({ a: 1 }), read([]), read(null), read("a"), read(1)]).toEqual([{ a: 1 }, undefined, undefined, undefined, undefined]);
  expect(parseObject(Buffer.from("{"))).toBeUndefined();
});

test("a header with pqc_alg promises a second signature, unless it is one of the given headers", () => {
  const [plain, hybrid] = [encoded({ alg: "EdDSA" }), encoded({ alg: "EdDSA", pqc_alg: "ML-DSA-65" })];
  const promised = (header: string, known: readonly string[]) => promisesSecond(`${header}.e30.AAAA`, known);
  expect([promised(hybrid, []), promised(hybrid, [hybrid]), promised(plain, []), promised("AAAA", [])]).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test("a core with a key that is too new is unavailable, with the seconds until it signs", async () => {
  const [elder, own] = [aKey(), aKey()];
  const served = [
    { jwk: elder.jwk, age: 1000 },
    { jwk: own.jwk, age: 100 },
  ];
  const keys = await openKeys({ accessToken: [own] }, { publish: async () => served });
  expect(keys.current()).toBeUndefined();
  const description = "The signing key is new: it signs when it has been published for 300 seconds.";
  const waiting = { code: "temporarily_unavailable", reason: "signing_key_not_published_long_enough" };
  expect(() => keys.signing()).toThrow(expect.objectContaining({ ...waiting, detail: { description, retryAfter: 200 } }));
  const alone = await openKeys({ accessToken: [own] }, { publish: async () => [] });
  expect(alone.current()).toEqual({ accessToken: own, idToken: own, hybrid: undefined });
});

test("text without PEM has no public keys, and a private key without a seed has no printed public key", async () => {
  expect(publicKeysOf("text")).toEqual([]);
  await expect(mldsaPublicHalf("text")).rejects.toThrow("no ML-DSA-65 private key with its seed");
});
