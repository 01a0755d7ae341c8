import { generateKeyPairSync } from "node:crypto";
import { describe, expect, test } from "vitest";
import { CLIENT_ASSERTION_ALGORITHMS } from "../../../src/clients/client.ts";
import { clientOfDocument } from "../../../src/clients/metadata-document.ts";
import { keyFault } from "../../../src/clients/public-keys.ts";
import { operatorAttributes } from "../../../src/management/inputs.ts";
import { keyFor } from "../../support/assertions.ts";

const rsa = (modulusLength: number, publicExponent = 65_537) =>
  generateKeyPairSync("rsa", { modulusLength, publicExponent }).publicKey.export({ format: "jwk" });
const ed = keyFor("EdDSA").jwk;
const p256 = keyFor("ES256").jwk;
const okp = (hex: string) => ({ kty: "OKP", crv: "Ed25519", x: Buffer.from(hex, "hex").toString("base64url") });
const zero = "00".repeat(32);

/** Each with a part of its fault message. */
const BAD: readonly (readonly [what: string, key: Record<string, unknown>, said: string])[] = [
  ["RSA of 1024 bits", rsa(1024), "1024 bits"],
  ["RSA of 2047 bits", rsa(2047), "2047 bits"],
  ["RSA of 8200 bits", { kty: "RSA", n: Buffer.alloc(1025, 0xff).toString("base64url"), e: "AQAB" }, "8200 bits"],
  ["an RSA exponent of 1", { ...rsa(2048), e: "AQ" }, "exponent"],
  ["an RSA exponent of 33 bits", { ...rsa(2048), e: "AQAAAAE" }, "exponent"],
  ["an RSA key without an exponent", { kty: "RSA", n: rsa(2048).n }, "not a valid public key"],
  ["RS256 on an elliptic curve", { ...p256, alg: "RS256" }, "alg"],
  ["ES384 on P-256", { ...p256, alg: "ES384" }, "alg"],
  ["ES256 on Ed25519", { ...ed, alg: "ES256" }, "alg"],
  ["EdDSA on RSA", { ...rsa(2048), alg: "EdDSA" }, "alg"],
  ["HS256", { ...rsa(2048), alg: "HS256" }, "alg"],
  ["an encryption algorithm", { ...rsa(2048), alg: "RSA-OAEP" }, "alg"],
  ["use enc", { ...ed, use: "enc" }, "use"],
  ["key_ops without verify", { ...ed, key_ops: ["sign"] }, "key_ops"],
  ["key_ops that are not a list", { ...ed, key_ops: "verify" }, "key_ops"],
  ["X25519", generateKeyPairSync("x25519").publicKey.export({ format: "jwk" }), "crv"],
  ["secp256k1", generateKeyPairSync("ec", { namedCurve: "secp256k1" }).publicKey.export({ format: "jwk" }), "crv"],
  ["a point off P-256", { ...p256, y: Buffer.alloc(32, 7).toString("base64url") }, "not a valid public key"],
  ["a coordinate that is missing", { ...p256, y: undefined }, "not a valid public key"],
  ["31 bytes of Ed25519", okp("00".repeat(31)), "not a valid public key"],
  ["Ed25519 of order 4", okp(zero), "low order"],
  ["Ed25519 of order 1", okp(`01${"00".repeat(31)}`), "low order"],
  ["Ed25519 of order 8", okp("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a"), "low order"],
  ["Ed25519 that is not canonical", okp(`ee${"ff".repeat(30)}7f`), "not a point"],
  ["Ed25519 off the curve", okp(`02${"00".repeat(31)}`), "not a point"],
  ["a symmetric key", { kty: "oct", k: "c2VjcmV0" }, "private or symmetric"],
  ["a private key", { ...ed, d: "nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A" }, "private or symmetric"],
];

describe("unusable verification keys", () => {
  test.for(BAD)("reports %s", ([, key, said]) => expect(keyFault(key)).toContain(said));

  test("an unknown key type is refused", () => expect(keyFault({ kty: "AKP", alg: "ML-DSA-65", pub: "x" })).toContain("kty"));

  test.for(CLIENT_ASSERTION_ALGORITHMS)("a key for %s is accepted, with or without alg", (alg) => {
    const { jwk } = keyFor(alg, "k1", { use: "sig", key_ops: ["verify"] });
    expect([keyFault(jwk), keyFault({ ...jwk, alg })]).toEqual([undefined, undefined]);
  });

  test.for(BAD)("are refused by the API and in a file, with their index: %s", ([, key, said]) => {
    const parsed = operatorAttributes.jwks.safeParse({ keys: [ed, key] });
    expect(parsed.error?.issues).toMatchObject([{ path: ["keys", 1], message: expect.stringContaining(said) }]);
  });

  test.for(BAD.filter(([, { d, k }]) => d === undefined && k === undefined))("are refused in a metadata document: %s", ([, key, said]) => {
    const url = "https://client.example.test/client.json";
    const document = { client_id: url, client_name: "n", redirect_uris: ["https://client.example.test/cb"], jwks: { keys: [ed, key] } };
    expect(() => clientOfDocument(document, url, { realmId: "r", allowedScopes: [], now: 0 })).toThrow(
      expect.objectContaining({
        code: "invalid_client",
        reason: "document_key_unusable",
        detail: { description: expect.stringMatching(new RegExp(`jwks\\.keys\\.1 .*${said}`)) },
      }),
    );
  });

  test("a metadata document may contain keys of types that other servers use", () => {
    const url = "https://client.example.test/client.json";
    const keys = [ed, { kty: "AKP", alg: "ML-DSA-65", pub: "x" }];
    const document = { client_id: url, client_name: "n", redirect_uris: ["https://client.example.test/cb"], jwks: { keys } };
    expect(clientOfDocument(document, url, { realmId: "r", allowedScopes: [], now: 0 }).jwks).toEqual({ keys });
  });
});
