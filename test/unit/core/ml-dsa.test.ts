import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, verify } from "node:crypto";
import { readFileSync } from "node:fs";
import { ml_dsa65 } from "@noble/post-quantum/ml-dsa.js";
import { expect, test } from "vitest";
import { publicKeysOf } from "../../../src/core/signing/keys.ts";
import { mldsaPublicHalf, openMldsaKey } from "../../../src/core/signing/ml-dsa.ts";
import { mldsaPrivatePem, readMldsaPrivate, readMldsaPublic } from "../../../src/ml-dsa-key.ts";

const sha256 = (bytes: Uint8Array) => createHash("sha256").update(bytes).digest("hex");
const ZERO = Buffer.alloc(32);

interface Group {
  readonly privateSeed: string;
  readonly publicKey: string;
  readonly tests: readonly {
    readonly msg?: string;
    readonly ctx?: string;
    readonly sig?: string;
    readonly result: string;
    readonly flags: string[];
  }[];
}
const { testGroups } = JSON.parse(readFileSync(new URL("../../vectors/mldsa_65_sign_seed_subset_test.json", import.meta.url), "utf8")) as {
  testGroups: readonly Group[];
};

test.for([false, true])("RFC 9964: the example key has the example thumbprint; portable: %s", async (portable) => {
  const { jwk } = await openMldsaKey(ZERO, portable);
  expect(Object.keys(jwk).sort()).toEqual(["alg", "kid", "kty", "pub", "use"]);
  expect(jwk.kid).toBe("Suiu29qbfuaBaR4Ats-c6XQBePB_OpAxAwcTR_0KXVM");
  const pub = Buffer.from(jwk.pub, "base64url");
  expect([pub.length, sha256(pub)]).toEqual([1952, "085ba380ff386dd52e42349c6eb88489d6058ea541a4e3fb0dce9a3fd1f7a911"]);
});

test("RFC 9964: the portable code makes the example signature, which the native code verifies", async () => {
  const header = { alg: "ML-DSA-65", kid: "Suiu29qbfuaBaR4Ats-c6XQBePB_OpAxAwcTR_0KXVM" };
  const payload = "It’s a dangerous business, Frodo, going out your door.";
  const input = Buffer.from([JSON.stringify(header), payload].map((part) => Buffer.from(part).toString("base64url")).join("."));
  const { secretKey } = ml_dsa65.keygen(ZERO);
  const signature = ml_dsa65.sign(input, secretKey, { extraEntropy: false });
  expect([signature.length, sha256(signature)]).toEqual([3309, "2d3d1ba6581e89392226d707e2fe24e3326f80b9f7c6865707be9bd6f89d6ec6"]);
  const { jwk } = await openMldsaKey(ZERO);
  expect(verify(null, input, createPublicKey({ key: { ...jwk }, format: "jwk" }), signature)).toBe(true);
});

test.for([
  [false, false],
  [false, true],
  [true, false],
  [true, true],
])("a signature verifies for its text only; signed by portable code: %s, verified by portable code: %s", async ([made, checked]) => {
  const key = await openMldsaKey(Buffer.alloc(32, 7), made);
  const signature = await key.sign("header.payload");
  expect(signature).toHaveLength(3309);
  const pub = Buffer.from(key.jwk.pub, "base64url");
  const holds = (text: string) =>
    checked
      ? ml_dsa65.verify(signature, Buffer.from(text), pub)
      : verify(null, Buffer.from(text), createPublicKey({ key: { ...key.jwk }, format: "jwk" }), signature);
  expect([holds("header.payload"), holds("header.payloae")]).toEqual([true, false]);
  // Hedged: the same text has another signature each time (FIPS 204 §3.4).
  expect(Buffer.from(await key.sign("header.payload")).equals(signature)).toBe(false);
});

test("Wycheproof: seeds yield their public keys natively and portably, and the portable code makes the signatures", async () => {
  let signatures = 0;
  for (const { privateSeed, publicKey, tests } of testGroups) {
    const seed = Buffer.from(privateSeed, "hex");
    if (seed.length !== 32) continue;
    for (const portable of [false, true]) {
      expect(Buffer.from((await openMldsaKey(seed, portable)).jwk.pub, "base64url").toString("hex")).toBe(publicKey);
    }
    const { secretKey } = ml_dsa65.keygen(seed);
    for (const { msg, ctx = "", sig, result, flags } of tests) {
      if (result !== "valid" || msg === undefined || sig === undefined || flags.includes("Internal") || flags.includes("Randomized"))
        continue;
      const made = ml_dsa65.sign(Buffer.from(msg, "hex"), secretKey, { extraEntropy: false, context: Buffer.from(ctx, "hex") });
      expect(Buffer.from(made).toString("hex")).toBe(sig);
      signatures++;
    }
  }
  expect(signatures).toBeGreaterThan(5);
});

test("a private key is read from PKCS#8 with its seed and from a JWK, and from no other form", () => {
  const { privateKey, publicKey } = generateKeyPairSync("ml-dsa-65");
  const jwk = privateKey.export({ format: "jwk" }) as { priv: string; pub: string };
  const seed = Buffer.from(jwk.priv, "base64url");
  const both = privateKey.export({ type: "pkcs8", format: "pem" }).toString();
  const alone = mldsaPrivatePem(seed);
  for (const text of [both, alone, JSON.stringify(jwk), alone + publicKey.export({ type: "spki", format: "pem" })])
    expect(readMldsaPrivate(text)?.seed).toEqual(seed);
  expect(createPrivateKey(alone).equals(privateKey)).toBe(true);
  const spki = publicKey.export({ type: "spki", format: "pem" }).toString();
  expect(readMldsaPublic(spki)?.toString("base64url")).toBe(jwk.pub);
  const bad = [
    spki,
    "",
    "{",
    "null",
    alone.replace("PRIVATE", "PUBLIC"),
    generateKeyPairSync("ml-dsa-44").privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    JSON.stringify({ ...jwk, priv: jwk.priv.slice(2) }),
    JSON.stringify({ ...jwk, pub: jwk.pub.slice(4) }),
    JSON.stringify({ ...jwk, alg: "ML-DSA-44" }),
    JSON.stringify({ ...jwk, priv: undefined }),
  ];
  expect(bad.filter((text) => readMldsaPrivate(text) !== undefined)).toEqual([]);
});

test("the printed public key is accepted by JWT_RETIRED_PUBLIC_KEYS beside classical keys", async () => {
  const pem = await mldsaPublicHalf(mldsaPrivatePem(ZERO));
  const classical = generateKeyPairSync("ed25519").publicKey.export({ type: "spki", format: "pem" }).toString();
  expect(publicKeysOf(classical + pem).map(({ kty }) => kty)).toEqual(["OKP", "AKP"]);
  expect(publicKeysOf(pem)[0]).toEqual((await openMldsaKey(ZERO)).jwk);
});

test("signing leaves the event loop free between signatures, and a full signing queue is reported before anything is consumed", async () => {
  for (const portable of [false, true]) {
    const key = await openMldsaKey(ZERO, portable);
    key.assertOpen();
    let turns = 0;
    let done = 0;
    const signing = Array.from({ length: 12 }, async (_, n) => {
      await key.sign(`${n}`);
      done++;
    });
    while (done < signing.length) {
      await new Promise((resolve) => setImmediate(resolve));
      turns++;
    }
    expect(turns).toBeGreaterThanOrEqual(signing.length);
  }
  const key = await openMldsaKey(ZERO);
  const signing = Array.from({ length: 110 }, (_, n) => key.sign(`${n}`));
  expect(() => key.assertOpen()).toThrow(expect.objectContaining({ code: "temporarily_unavailable", reason: "pqc_signing_queue_full" }));
  expect(await Promise.all(signing)).toHaveLength(110);
  key.assertOpen();
});
