import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { parseForm } from "../../../src/protocol/form.ts";
import { presentationOf, readResponse, walletErrorReason } from "../../../src/wallet/query.ts";

test.for([
  ["vp_token=x&state=s", { kind: "presentation", vpToken: "x" }],
  ["error=access_denied&state=s", { kind: "error", error: "access_denied" }],
  ["vp_token=x&error=access_denied", undefined],
  ["state=s", undefined],
  ["vp_token=&state=s", undefined],
] as const)("parses the response %s", ([form, answer]) => {
  expect(readResponse(parseForm(form))).toEqual(answer);
});

test("known errors of the standard have their own reason, and others share one", () => {
  const words = ["access_denied", "vp_formats_not_supported", "wallet_unavailable", "x\r\ny"].map(walletErrorReason);
  expect(words).toEqual(["wallet_access_denied", "wallet_vp_formats_not_supported", "wallet_unavailable", "wallet_error"]);
});

describe("OID4VP §8.1: vp_token is an object of the query's ids, each with a list of presentations", () => {
  test("accepts one presentation for the query", () => {
    expect(presentationOf('{"link":["a~b"]}')).toBe("a~b");
  });
  test.for([
    "",
    "a~b",
    '"a~b"',
    "null",
    "[]",
    "{}",
    '{"link":"a~b"}',
    '{"link":[]}',
    '{"link":["a","b"]}',
    '{"other":["a"]}',
    '{"link":["a"],"other":["b"]}',
  ])("refuses %s", (text) => {
    expect(() => presentationOf(text)).toThrow(new Refusal("access_denied", "vp_token_malformed"));
  });
});
