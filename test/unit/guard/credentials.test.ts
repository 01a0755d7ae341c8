import { expect, test } from "vitest";
import { readToken, schemesFor } from "../../../guard-sdk/src/credentials.ts";
import { refusalOf } from "../../support/guard-refusal.ts";

test.for([
  ["a bearer token", ["Bearer abc.def"], "", "abc.def"],
  ["a scheme in another case", ["bEaReR abc"], "", "abc"],
  ["more than one space", ["Bearer   abc"], "", "abc"],
  ["every character of b64token", ["Bearer aZ09-._~+/=="], "", "aZ09-._~+/=="],
  ["another query parameter", ["Bearer abc"], "?access=token", "abc"],
] as const)("accepts %s", ([, authorization, query, token]) => {
  expect(readToken({ authorization, query })).toEqual({ scheme: "Bearer", token });
});

test.for([
  ["no header", [], "", "no_credentials", "header_missing"],
  ["an empty field", [" "], "", "no_credentials", "header_empty"],
  ["another scheme", ["Basic YTpi"], "", "no_credentials", "scheme_unsupported"],
  ["another scheme with parameters", ['Digest username="a", realm="b"'], "", "no_credentials", "scheme_unsupported"],
  ["a token in the query alone", [], "?access_token=abc", "no_credentials", "header_missing"],
  ["the scheme alone", ["Bearer"], "", "invalid_request", "header_malformed"],
  ["the scheme and a space", ["Bearer "], "", "invalid_request", "header_malformed"],
  ["a tab instead of the space", ["Bearer\tabc"], "", "invalid_request", "header_malformed"],
  ["two tokens", ["Bearer abc def"], "", "invalid_request", "header_malformed"],
  ["a quoted token", ['Bearer "abc"'], "", "invalid_request", "header_malformed"],
  ["padding in the middle", ["Bearer a=b"], "", "invalid_request", "header_malformed"],
  ["no scheme", ["=abc"], "", "invalid_request", "header_malformed"],
  ["two fields", ["Bearer abc", "Bearer abc"], "", "invalid_request", "credentials_repeated"],
  ["two fields of two schemes", ["Basic YTpi", "Bearer abc"], "", "invalid_request", "credentials_repeated"],
  ["two fields joined by the runtime", ["Bearer abc, Bearer abc"], "", "invalid_request", "credentials_repeated"],
  ["two joined schemes", ["Basic YTpi, Bearer abc"], "", "invalid_request", "credentials_repeated"],
  ["header and query", ["Bearer abc"], "?x=1&access_token=abc", "invalid_request", "credentials_repeated"],
  ["header and encoded query", ["Bearer abc"], "?%61ccess_token=", "invalid_request", "credentials_repeated"],
] as const)("refuses %s", async ([, authorization, query, code, reason]) => {
  expect(await refusalOf(() => readToken({ authorization, query }))).toEqual([code, reason]);
});

test("RFC 9449 §7.1: the scheme DPoP is read where it is accepted, and is another scheme elsewhere", async () => {
  const inbound = { authorization: ["DPoP abc"], query: "" };
  expect(readToken(inbound, "accepted")).toEqual({ scheme: "DPoP", token: "abc" });
  expect(await refusalOf(() => readToken(inbound))).toEqual(["no_credentials", "scheme_unsupported"]);
  const joined = { authorization: ["DPoP abc, Bearer abc"], query: "" };
  expect(await refusalOf(() => readToken(joined, "accepted"))).toEqual(["invalid_request", "credentials_repeated"]);
});

test.for([
  [undefined, "DPoP abc", ["Bearer"]],
  ["accepted", "", ["Bearer", "DPoP"]],
  ["accepted", "Bearer abc", ["Bearer"]],
  ["accepted", "DPoP abc", ["DPoP"]],
  ["required", "Bearer abc", ["DPoP"]],
] as const)("with dpop %s, a challenge to %j names %j", ([dpop, field, schemes]) => {
  expect(schemesFor({ authorization: field === "" ? [] : [field], query: "" }, dpop)).toEqual(schemes);
});
