import { expect, test } from "vitest";
import { parseChallenges } from "../../../agent-sdk/src/challenge.ts";

const read = (header: string | null) => parseChallenges(header).map(({ scheme, parameters }) => [scheme, Object.fromEntries(parameters)]);

test.for<[string, string | null, unknown]>([
  ["no header", null, []],
  ["an empty header", "", []],
  ["a scheme alone", "Bearer", [["bearer", {}]]],
  ["one challenge", 'Bearer realm="a, b", scope=x', [["bearer", { realm: "a, b", scope: "x" }]]],
  [
    "two challenges of a guard",
    'Bearer scope="a b", resource_metadata="https://r/m", DPoP algs="ES256 EdDSA", scope="a b"',
    [
      ["bearer", { scope: "a b", resource_metadata: "https://r/m" }],
      ["dpop", { algs: "ES256 EdDSA", scope: "a b" }],
    ],
  ],
  [
    "a credential in place of parameters",
    'Negotiate YWJjZA==, Basic realm="r"',
    [
      ["negotiate", {}],
      ["basic", { realm: "r" }],
    ],
  ],
  [
    "schemes without parameters",
    "Negotiate, NTLM ,Bearer",
    [
      ["negotiate", {}],
      ["ntlm", {}],
      ["bearer", {}],
    ],
  ],
  ["escaped characters", 'Bearer error_description="say \\"no\\" \\\\"', [["bearer", { error_description: 'say "no" \\' }]]],
  ["names in any case, the first of two", "BEARER Error=a, eRROR=b", [["bearer", { error: "a" }]]],
  ["spaces around the equals sign", 'Bearer error = "invalid_token"', [["bearer", { error: "invalid_token" }]]],
  ["what is good before what is malformed", 'Bearer error="a", =x, DPoP', [["bearer", { error: "a" }]]],
  ["an open quotation", 'Bearer error="a', [["bearer", {}]]],
])("reads %s", ([, header, expected]) => {
  expect(read(header)).toEqual(expected);
});
