import { createPublicKey, generateKeyPairSync } from "node:crypto";
import { expect, test } from "vitest";
import { promisesSecond } from "../../../src/core/signing/jws.ts";
import { openKeys } from "../../../src/core/signing/key-ring.ts";
import { publicJwk, publicKeysOf, signingKey } from "../../../src/core/signing/keys.ts";
import { mldsaPublicHalf } from "../../../src/core/signing/ml-dsa.ts";
import { parseJws, parseObject } from "../../../src/protocol/jws.ts";

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

/** The key of RFC 7638 §3.1, with its thumbprint. */
const RSA = {
  kty: "RSA",
  n: "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdAZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-kEgU8awapJzKnqDKgw",
  e: "AQAB",
};

test.for([
  [
    "RFC 8037, appendix A.3",
    { kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo" },
    { use: "sig", alg: "EdDSA", kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" },
  ],
  ["RFC 7638 §3.1", RSA, { use: "sig", alg: "RS256", kid: "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs" }],
] as const)("a public key is named by its thumbprint, as in %s", ([, jwk, described]) => {
  expect(publicJwk(createPublicKey({ key: jwk, format: "jwk" }))).toEqual({ ...jwk, ...described });
});

test.for([
  ["RSA of 2047 bits", generateKeyPairSync("rsa", { modulusLength: 2047 }).publicKey],
  ["P-256", generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey],
  ["Ed448", generateKeyPairSync("ed448").publicKey],
  ["X25519", generateKeyPairSync("x25519").publicKey],
] as const)("a key of %s is refused", ([, key]) => {
  expect(() => publicJwk(key)).toThrow("a signing key must be Ed25519, or RSA with at least 2048 bits");
});

test("text without PEM has no public keys, and a private key without a seed has no printed public key", async () => {
  expect(publicKeysOf("text")).toEqual([]);
  await expect(mldsaPublicHalf("text")).rejects.toThrow("no ML-DSA-65 private key with its seed");
});
