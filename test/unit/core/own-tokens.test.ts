import { createHmac, generateKeyPairSync, type KeyObject } from "node:crypto";
import fc from "fast-check";
import { createLocalJWKSet, jwtVerify, SignJWT } from "jose";
import { beforeAll, expect, test } from "vitest";
import { headerSegment, issuedTokens, promisesSecond, signHybridJwt, signJwt, signNow } from "../../../src/core/signing/jws.ts";
import { type Keys, openKeys } from "../../../src/core/signing/key-ring.ts";
import { publicJwk, type SigningKey, signingKey } from "../../../src/core/signing/keys.ts";
import { openMldsaKey } from "../../../src/core/signing/ml-dsa.ts";
import { parseJwt } from "../../../src/protocol/jws.ts";
import { clientTokenClaims } from "../../support/builders.ts";

const ISSUER = "https://issuer.example.test";
const pem = (key: KeyObject) => key.export({ type: "pkcs8", format: "pem" }).toString();
const ed25519 = (): SigningKey => signingKey(pem(generateKeyPairSync("ed25519").privateKey));

const own = ed25519();
const retired = ed25519();
const rsa = signingKey(pem(generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey));
const claims = clientTokenClaims(ISSUER);
let keys: Keys;

beforeAll(async () => {
  keys = await openKeys({ accessToken: [own], rsa, published: [retired.jwk] }, { publish: async () => [] });
});

const verified = (token: string, type: "at+jwt" | "JWT" = "at+jwt", keyring = keys) => {
  const issued = issuedTokens(ISSUER, keyring);
  return type === "JWT" ? issued.idToken(token) : issued.accessToken(token);
};
const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const handMade = (header: object, key: SigningKey = own, payload: object = claims): string => {
  const input = `${encode(header)}.${encode(payload)}`;
  return `${input}.${signNow(input, key).toString("base64url")}`;
};

test("an access token and an RS256 ID token issued here verify", async () => {
  expect(verified(await signJwt(claims, "at+jwt", own))).toEqual(claims);
  expect(verified(await signJwt(claims, "JWT", rsa), "JWT")).toEqual(claims);
});

test("jose verifies tokens issued here, and tokens that jose signs with the same keys verify here", async () => {
  const keySet = createLocalJWKSet({ keys: [own.jwk, rsa.jwk] as { kty: string }[] });
  const currentDate = new Date(claims.iat * 1000);
  for (const [key, type] of [
    [own, "at+jwt"],
    [rsa, "JWT"],
  ] as const) {
    const token = await signJwt(claims, type, key);
    expect((await jwtVerify(token, keySet, { issuer: ISSUER, typ: type, algorithms: [key.jwk.alg], currentDate })).payload).toEqual(claims);
    const { alg, kid } = key.jwk;
    expect(
      verified(await new SignJWT({ ...claims, aud: "client" }).setProtectedHeader({ alg, typ: type, kid }).sign(key.privateKey), type),
    ).toEqual(claims);
  }
});

test("contract: a token of a retired key verifies", async () => {
  expect(verified(await signJwt(claims, "at+jwt", retired))).toEqual(claims);
});

const FOREIGN: readonly (readonly [string, () => string | Promise<string>])[] = [
  ["an ID token as access token", () => signJwt(claims, "JWT", own)],
  ["an access token signed with the RSA key", () => signJwt(claims, "at+jwt", rsa)],
  ["a key of another server", () => signJwt(claims, "at+jwt", ed25519())],
  ["another issuer", () => signJwt({ ...claims, iss: `${ISSUER}/` }, "at+jwt", own)],
  ["alg none", () => `${encode({ alg: "none", typ: "at+jwt", kid: own.jwk.kid })}.${encode(claims)}.`],
  [
    "HS256 keyed with the public key",
    () => {
      const input = `${encode({ alg: "HS256", typ: "at+jwt", kid: own.jwk.kid })}.${encode(claims)}`;
      const secret = own.publicKey.export({ type: "spki", format: "pem" });
      return `${input}.${createHmac("sha256", secret).update(input).digest("base64url")}`;
    },
  ],
  ["a header with jwk", () => handMade({ alg: "EdDSA", typ: "at+jwt", kid: own.jwk.kid, jwk: {} })],
  ["a header with crit", () => handMade({ alg: "EdDSA", typ: "at+jwt", kid: own.jwk.kid, crit: ["exp"] })],
  ["a header without kid", () => handMade({ alg: "EdDSA", typ: "at+jwt" })],
  ["claims that are an array", () => handMade({ alg: "EdDSA", typ: "at+jwt", kid: own.jwk.kid }, own, [claims])],
  ["more than 16 KiB", () => signJwt({ ...claims, pad: "x".repeat(16_384) }, "at+jwt", own)],
  ["four parts", async () => `${await signJwt(claims, "at+jwt", own)}.x`],
  ["a trailing newline", async () => `${await signJwt(claims, "at+jwt", own)}\n`],
  ["an empty text", () => ""],
];

test.for(FOREIGN)("RFC 8725 §3: %s does not verify", async ([, make]) => {
  expect(verified(await make())).toBeUndefined();
});

test("a token with header members in another order verifies", () => {
  expect(verified(handMade({ kid: own.jwk.kid, typ: "at+jwt", alg: "EdDSA" }))).toEqual(claims);
});

test("a token with another last character of the signature does not verify", async () => {
  const token = await signJwt(claims, "at+jwt", own);
  const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  const others = [...alphabet].filter((letter) => letter !== token.at(-1)).map((letter) => token.slice(0, -1) + letter);
  expect(others.filter((other) => verified(other) !== undefined)).toEqual([]);
});

test("a token with any one character changed does not verify", async () => {
  const token = await signJwt(claims, "at+jwt", own);
  fc.assert(
    fc.property(fc.nat(token.length - 1), fc.constantFrom(..."Aa0-_."), (at, letter) => {
      fc.pre(token[at] !== letter);
      expect(verified(token.slice(0, at) + letter + token.slice(at + 1))).toBeUndefined();
    }),
  );
});

test("parsing arbitrary text does not throw", () => {
  fc.assert(fc.property(fc.string(), (text) => parseJwt(text) === undefined || true));
});

test("RFC 8037 §A.3: the kid is the key's thumbprint", () => {
  const pkcs8 = Buffer.concat([
    Buffer.from("302e020100300506032b657004220420", "hex"),
    Buffer.from("nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A", "base64url"),
  ]);
  const key = signingKey(`-----BEGIN PRIVATE KEY-----\n${pkcs8.toString("base64")}\n-----END PRIVATE KEY-----`);
  expect(key.jwk).toMatchObject({ x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", kid: "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k" });
  // RFC 8037 §A.4
  const input = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc";
  expect(signNow(input, key).toString("base64url")).toBe(
    "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg",
  );
});

test("docs/protocol.md#jwk-set: the JWK Set has every key, without private members", () => {
  const { keys: published } = JSON.parse(keys.jwksJson());
  expect(published.map(({ kid }: { kid: string }) => kid)).toEqual([own.jwk.kid, rsa.jwk.kid, retired.jwk.kid]);
  expect(published[0]).toEqual({
    kty: "OKP",
    crv: "Ed25519",
    x: own.jwk.kty === "OKP" && own.jwk.x,
    use: "sig",
    alg: "EdDSA",
    kid: own.jwk.kid,
  });
  for (const jwk of published) for (const name of ["d", "p", "q", "dp", "dq", "qi", "priv", "k"]) expect(jwk).not.toHaveProperty(name);
});

test("docs/protocol.md#hybrid-signing: hybrid and classical tokens verify before and after hybrid signing is enabled, and after a change of the second key", async () => {
  const [first, second] = await Promise.all([1, 2].map((byte) => openMldsaKey(Buffer.alloc(32, byte))));
  if (first === undefined || second === undefined) throw new Error("no keys");
  const register = { publish: async () => [] };
  const [off, on, changed] = await Promise.all([
    openKeys({ accessToken: [own], rsa, mldsa: { key: first, hybrid: false } }, register),
    openKeys({ accessToken: [own], rsa, mldsa: { key: first, hybrid: true } }, register),
    openKeys({ accessToken: [own], rsa, published: [first.jwk], mldsa: { key: second, hybrid: true } }, register),
  ]);
  expect([off.hybrid, on.hybrid]).toEqual([undefined, first]);
  const classical = await signJwt(claims, "at+jwt", own);
  const { token, detached } = await signHybridJwt(claims, "at+jwt", own, first);
  for (const keyring of [keys, off, on, changed])
    for (const one of [classical, token]) expect(verified(one, "at+jwt", keyring)).toEqual(claims);
  expect(parseJwt(token)?.header).toEqual({ alg: "EdDSA", typ: "at+jwt", kid: own.jwk.kid, pqc_alg: "ML-DSA-65", pqc_kid: first.jwk.kid });
  expect(detached).toHaveLength(3309);
  const plain = headerSegment(own, "at+jwt");
  expect([classical, token].map((one) => promisesSecond(one, [plain]))).toEqual([false, true]);
  // An ID token never has the second header, and a token signed by the second key alone does not verify.
  expect(verified(await signJwt(claims, "JWT", rsa), "JWT")).toEqual(claims);
  const input = `${encode({ alg: "ML-DSA-65", typ: "at+jwt", kid: first.jwk.kid })}.${encode(claims)}`;
  const alone = `${input}.${Buffer.from(await first.sign(input)).toString("base64url")}`;
  for (const type of ["at+jwt", "JWT"] as const) expect(verified(alone, type, on)).toBeUndefined();
  const kids = (document: string) => JSON.parse(document).keys.map(({ kty, kid }: { kty: string; kid: string }) => [kty, kid]);
  expect(kids(changed.jwksJson()).slice(2)).toEqual([
    ["AKP", second.jwk.kid],
    ["AKP", first.jwk.kid],
  ]);
});

test("an RSA key of 1024 bits is refused", () => {
  expect(() => publicJwk(generateKeyPairSync("rsa", { modulusLength: 1024 }).publicKey)).toThrow("2048 bits");
});

// Thirteen thousand signatures take longer than the mutation run leaves a test.
test("verified tokens are remembered up to a size, which long tokens do not exceed", { timeout: 120_000 }, async () => {
  const isKept = async (characters: number, others: number): Promise<boolean> => {
    const tokens = issuedTokens(ISSUER, keys);
    const verify = async (jti: string) => {
      const token = await signJwt({ ...claims, jti, aud: "x".repeat(characters) }, "at+jwt", own);
      expect(tokens.accessToken(token)).toBeDefined();
      return token;
    };
    const first = await verify("first");
    for (let from = 0; from < others; from += 500) await Promise.all(Array.from({ length: 500 }, (_, n) => verify(`${from + n}`)));
    return tokens.remembered(first) !== undefined;
  };
  expect(await isKept(300, 9_000)).toBe(true);
  expect(await isKept(4_000, 4_000)).toBe(false);
});
