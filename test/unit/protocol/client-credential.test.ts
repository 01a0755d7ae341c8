import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { assertNoCredentialInQuery, parseBearer, parseClientCredential, parseForm } from "../../../src/protocol/form.ts";

const basic = (pair: string | Buffer) => `Basic ${Buffer.from(pair).toString("base64")}`;
const parse = (authorization: string | undefined, form: string) => parseClientCredential(authorization, parseForm(form), "192.0.2.1");
const codeOf = (run: () => unknown): string => {
  try {
    run();
    return "accepted";
  } catch (error) {
    return error instanceof Refusal ? error.code : String(error);
  }
};

describe("credentials of a token request", () => {
  test.for([
    ["nothing", undefined, "", {}],
    ["a public client", undefined, "client_id=c", { clientId: "c" }],
    ["a secret in the body", undefined, "client_id=c&client_secret=s", { clientId: "c", clientSecret: "s" }],
    ["an empty secret in the body", undefined, "client_id=c&client_secret=", { clientId: "c" }],
    ["Basic", basic("c:s"), "", { basic: { clientId: "c", clientSecret: "s" } }],
    ["Basic in any case", basic("c:s").replace("Basic", "bASIC"), "", { basic: { clientId: "c", clientSecret: "s" } }],
    ["Basic with a colon in the secret", basic("c:s:t"), "", { basic: { clientId: "c", clientSecret: "s:t" } }],
    ["Basic, form-encoded", basic("urn%3Ax%3Ay:a+b%25"), "", { basic: { clientId: "urn:x:y", clientSecret: "a b%" } }],
    ["Basic and the same client_id", basic("c:s"), "client_id=c", { clientId: "c", basic: { clientId: "c", clientSecret: "s" } }],
    ["Basic and another client_id", basic("c:s"), "client_id=d", { clientId: "d", basic: { clientId: "c", clientSecret: "s" } }],
    ["Basic without a secret", basic("c:"), "", { clientId: "c" }],
    ["Basic without a secret, and its client_id", basic("c:"), "client_id=c", { clientId: "c" }],
    [
      "Basic without a secret, and another client_id",
      basic("c:"),
      "client_id=d",
      { clientId: "d", basic: { clientId: "c", clientSecret: "" } },
    ],
    [
      "Basic without a secret and a secret in the body",
      basic("c:"),
      "client_secret=s",
      { basic: { clientId: "c", clientSecret: "" }, clientSecret: "s" },
    ],
    ["Basic and a secret in the body", basic("c:s"), "client_secret=s", { basic: { clientId: "c", clientSecret: "s" }, clientSecret: "s" }],
    [
      "Basic and an assertion",
      basic("c:s"),
      "client_assertion=a&client_assertion_type=t",
      { basic: { clientId: "c", clientSecret: "s" }, assertion: { clientAssertion: "a", clientAssertionType: "t" } },
    ],
    [
      "an assertion and a secret",
      undefined,
      "client_secret=s&client_assertion=a",
      { clientSecret: "s", assertion: { clientAssertion: "a", clientAssertionType: "" } },
    ],
    ["an assertion type alone", undefined, "client_assertion_type=t", { assertion: { clientAssertion: "", clientAssertionType: "t" } }],
  ] as const)("%s", ([, authorization, form, expected]) => {
    expect(JSON.parse(JSON.stringify(parse(authorization, form)))).toEqual({ address: "192.0.2.1", ...expected });
  });

  test.for([
    ["Bearer x"],
    ["Basic"],
    ["Basic "],
    ["Basic ???"],
    ["Basic YTpi YTpi"],
    [basic("no colon")],
    [basic(":s")],
    [basic("c:%zz")],
    [basic("c:\0")],
    [basic("c%00:s")],
    [basic(Buffer.from([0x63, 0x3a, 0xff]))],
    ["Digest username=c"],
  ] as const)("%s is refused with invalid_client", ([authorization]) => {
    expect(codeOf(() => parse(authorization, ""))).toBe("invalid_client");
  });

  test("a header of any length is read once: a million spaces are refused at once", () => {
    expect(codeOf(() => parse(`Basic ${" ".repeat(1_000_000)}!`, ""))).toBe("invalid_client");
  });
});

describe("credentials in the query", () => {
  test.for([
    ["", "accepted"],
    ["foo=bar&client_id=c&state=token", "accepted"],
    ["client_secret=s", "invalid_request"],
    ["x=y&client%5Fsecret=s", "invalid_request"],
    ["a=%zz&token=t", "invalid_request"],
    ["client_assertion", "invalid_request"],
    ["access_token=t", "invalid_request"],
    ["code=c", "invalid_request"],
    ["my_token=t&code_challenge=x", "accepted"],
  ] as const)("the query %s: %s", ([query, code]) => {
    expect(codeOf(() => assertNoCredentialInQuery(query))).toBe(code);
  });
});

describe("bearer tokens", () => {
  test.for([
    [undefined, undefined],
    ["Basic x", undefined],
    ["Bearer abc.def-_~+/==", "abc.def-_~+/=="],
    ["bearer  x", "x"],
  ] as const)("the header %s yields the token %s", ([header, token]) => {
    expect(parseBearer(header)).toBe(token);
  });

  test.for([["Bearer"], ["Bearer "], ["Bearer a b"], ["Bearer a,b"], ['Bearer "a"'], ["DPoP"], ["dpop a b"]] as const)(
    "%s is refused with invalid_request",
    ([header]) => {
      expect(codeOf(() => parseBearer(header))).toBe("invalid_request");
    },
  );
});
