import { describe, expect, test } from "vitest";
import { parseToken } from "../../../guard-sdk/src/token.ts";
import { refusalOf } from "../../support/guard-refusal.ts";

const encode = (value: unknown) => Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
const HEADER = { alg: "EdDSA", typ: "at+jwt", kid: "k" };
const SIGNATURE = Buffer.alloc(64, 7).toString("base64url");
const token = (header: unknown = HEADER, payload: unknown = { sub: "ada" }, signature = SIGNATURE) =>
  `${encode(header)}.${encode(payload)}.${signature}`;

test("parses key id, claims, signed bytes and signature", () => {
  const text = token();
  const { kid, claims, input, signature } = parseToken(text);
  expect({ kid, claims }).toEqual({ kid: "k", claims: { sub: "ada" } });
  expect(Buffer.from(input).toString()).toBe(text.slice(0, text.lastIndexOf(".")));
  expect(Buffer.from(signature)).toEqual(Buffer.alloc(64, 7));
});

test.for(["at+jwt", "application/at+jwt", "AT+JWT"])("typ %s is accepted as an access token", (typ) => {
  expect(parseToken(token({ ...HEADER, typ })).kid).toBe("k");
});

test("members of hybrid headers are accepted", () => {
  expect(parseToken(token({ ...HEADER, pqc_alg: "ML-DSA-65", pqc_kid: "p" })).kid).toBe("k");
});

describe("refuses a header", () => {
  test.for([
    [{ alg: "none" }, "algorithm_unsupported"],
    [{ alg: "HS256" }, "algorithm_unsupported"],
    [{ alg: "eddsa" }, "algorithm_unsupported"],
    [{ alg: "Ed25519" }, "algorithm_unsupported"],
    [{ alg: ["EdDSA"] }, "algorithm_unsupported"],
    [{ typ: "JWT" }, "type_unsupported"],
    [{ typ: undefined }, "type_unsupported"],
    [{ typ: "id+jwt" }, "type_unsupported"],
    [{ kid: 1 }, "token_malformed"],
    [{ crit: ["exp"] }, "header_forbidden"],
    [{ jwk: {} }, "header_forbidden"],
    [{ jku: "https://evil.test/keys" }, "header_forbidden"],
    [{ x5u: "https://evil.test/cert" }, "header_forbidden"],
    [{ x5c: [] }, "header_forbidden"],
    [{ zip: "DEF" }, "header_forbidden"],
    [{ crit: null }, "header_forbidden"],
  ] as const)("with %j", async ([change, reason]) => {
    expect(await refusalOf(() => parseToken(token({ ...HEADER, ...change })))).toEqual(["invalid_token", reason]);
  });
});

describe("refuses malformed tokens", () => {
  const good = token();
  test.for([
    ["empty", "", "token_malformed"],
    ["one part", encode(HEADER), "token_malformed"],
    ["two parts", good.slice(0, good.lastIndexOf(".")), "token_malformed"],
    ["four parts", `${good}.x`, "token_malformed"],
    ["five parts, like a JWE", `${good}.x.y`, "token_malformed"],
    ["an empty signature", token(HEADER, {}, ""), "signature_invalid"],
    ["a short signature", token(HEADER, {}, SIGNATURE.slice(1)), "signature_invalid"],
    ["a signature with stray bits in its last character", token(HEADER, {}, `${SIGNATURE.slice(0, -1)}x`), "signature_invalid"],
    ["a padded part", good.replace(".", "=."), "token_malformed"],
    ["plain base64", `${good.slice(0, 3)}+${good.slice(4)}`, "token_malformed"],
    ["a newline at the end", `${good}\n`, "signature_invalid"],
    ["a part of impossible length", `${encode(HEADER)}.AAAAA.${SIGNATURE}`, "token_malformed"],
    ["stray bits in the payload", `${encode(HEADER)}.e31.${SIGNATURE}`, "token_malformed"],
    ["a payload that is not JSON", token(HEADER, "{"), "token_malformed"],
    ["a payload that is a list", token(HEADER, []), "token_malformed"],
    ["a payload that is null", token(HEADER, null), "token_malformed"],
    ["invalid UTF-8", `${encode(HEADER)}.${Buffer.from([0x22, 0xff, 0x22]).toString("base64url")}.${SIGNATURE}`, "token_malformed"],
    ["a byte order mark", token(HEADER, "\ufeff{}"), "token_malformed"],
    ["2 MiB", token(HEADER, { x: "y".repeat(2 ** 21) }), "token_too_long"],
  ] as const)("%s", async ([, text, reason]) => {
    expect(await refusalOf(() => parseToken(text))).toEqual(["invalid_token", reason]);
  });
});
