import { deflateSync } from "node:zlib";
import { StatusList } from "@sd-jwt/jwt-status-list";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { GuardedFetch } from "../../../src/clients/guarded-fetch.ts";
import { Refusal } from "../../../src/errors.ts";
import { statusAt, statusLists } from "../../../src/wallet/status-list.ts";
import { nowSeconds, signedJwt, walletKey } from "../../support/wallet.ts";

const ISSUER = "https://issuer.example.test";
const URI = `${ISSUER}/statuses`;
const key = walletKey("ES256", "k1");

test("Token Status List §4.1: bits are counted from the lowest bit of the first byte", () => {
  const list = Uint8Array.of(0xb9, 0xa3);
  expect(Array.from({ length: 17 }, (_, index) => statusAt(list, 1, index))).toEqual([
    1,
    0,
    0,
    1,
    1,
    1,
    0,
    1,
    1,
    1,
    0,
    0,
    0,
    1,
    0,
    1,
    undefined,
  ]);
  expect(Array.from({ length: 5 }, (_, index) => statusAt(Uint8Array.of(0xc9), 2, index))).toEqual([1, 2, 0, 3, undefined]);
});

test("a list encoded by a library is decoded to the same values", () => {
  fc.assert(
    fc.property(fc.constantFrom(1, 2, 4, 8), fc.array(fc.nat(), { minLength: 1, maxLength: 40 }), (bits, numbers) => {
      const values = numbers.map((number) => number % 2 ** bits);
      const list = new StatusList(values, bits as 1).encodeStatusList();
      expect(values.map((_, index) => statusAt(list, bits, index))).toEqual(values);
    }),
  );
});

describe("the status list token", () => {
  const lst = (bytes: Uint8Array) => deflateSync(bytes).toString("base64url");
  const claims = { sub: URI, iat: nowSeconds(), exp: nowSeconds() + 600, status_list: { bits: 1, lst: lst(Uint8Array.of(0b10)) } };
  const header = { typ: "statuslist+jwt", kid: "k1" };
  const statusOf = async (token: string, index = 1) => {
    const fetch: Pick<GuardedFetch, "text"> = { text: async () => token };
    const trust = { keys: { current: async () => [key.jwk], refreshed: async () => [key.jwk] }, roots: [] };
    const lists = statusLists(fetch as GuardedFetch, trust); // the only method of a fetch that it uses
    return lists.statusOf({ uri: URI, index }, ISSUER, nowSeconds()).catch((error: unknown) => {
      if (error instanceof Refusal) return error.reason;
      throw error;
    });
  };

  test("reports the status", async () => {
    const token = signedJwt(header, claims, key);
    expect([await statusOf(token, 0), await statusOf(token, 1), await statusOf(token, 8)]).toEqual([0, 1, "status_index_beyond_list"]);
  });

  const cases: [what: string, token: string, found: string][] = [
    ["of another type", signedJwt({ ...header, typ: "JWT" }, claims, key), "status_list_malformed"],
    ["with alg none", signedJwt({ ...header, alg: "none" }, claims, key), "status_list_malformed"],
    ["for another URI", signedJwt(header, { ...claims, sub: `${URI}/2` }, key), "status_list_of_another_address"],
    ["that has expired", signedJwt(header, { ...claims, exp: nowSeconds() - 600 }, key), "status_list_expired"],
    ["without the time of its issue", signedJwt(header, { ...claims, iat: undefined }, key), "status_list_malformed"],
    ["that is not valid yet", signedJwt(header, { ...claims, nbf: nowSeconds() + 600 }, key), "status_list_not_yet_valid"],
    ["signed by another key", signedJwt(header, claims, walletKey("ES256", "k1")), "issuer_signature_wrong"],
    ["without a list", signedJwt(header, { ...claims, status_list: undefined }, key), "status_list_malformed"],
    [
      "with three bits per status",
      signedJwt(header, { ...claims, status_list: { bits: 3, lst: claims.status_list.lst } }, key),
      "status_list_malformed",
    ],
    ["that cannot be decompressed", signedJwt(header, { ...claims, status_list: { bits: 1, lst: "AAAA" } }, key), "status_list_malformed"],
    [
      "that decompresses beyond the limit",
      signedJwt(header, { ...claims, status_list: { bits: 1, lst: lst(new Uint8Array(9 * 1_048_576)) } }, key),
      "status_list_malformed",
    ],
    ["that is not a JWT", "x", "status_list_malformed"],
  ];
  test.for(cases)("is refused when it is %s", async ([, token, found]) => {
    expect(await statusOf(token)).toBe(found);
  });
});
