import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Refusal } from "../../../src/errors.ts";
import { parseForm, parseParameters } from "../../../src/protocol/form.ts";

const reasonOf = (run: () => unknown): string | undefined => {
  try {
    run();
  } catch (error) {
    return error instanceof Refusal ? `${error.code} ${error.reason}` : String(error);
  }
};

describe("parsing a form", () => {
  test("reads what URLSearchParams writes", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1, unit: "grapheme" }), fc.string({ minLength: 1, unit: "grapheme" })), (values) => {
        fc.pre(!JSON.stringify(values).includes("\\u0000"));
        const form = parseForm(new URLSearchParams(values).toString());
        for (const [name, value] of Object.entries(values)) expect(form.get(name)).toBe(value);
      }),
    );
  });

  test.for([
    ["a=1&b=2", "a", "1"],
    ["a=x+y%20z", "a", "x y z"],
    ["a=b=c", "a", "b=c"],
    ["a", "a", undefined],
    ["a=", "a", undefined],
    ["&&a=1&", "a", "1"],
    ["%61=1", "a", "1"],
    ["a=%C3%A9", "a", "é"],
    ["constructor=1", "constructor", "1"],
    ["b=1", "__proto__", undefined],
  ] as const)("in the form %s, %s is %s", ([text, name, value]) => {
    expect(parseForm(text).get(name)).toBe(value);
  });

  test.for([
    ["a=1&a=2", "invalid_request parameter_repeated"],
    ["a=&a=2", "invalid_request parameter_repeated"],
    ["a=1&%61=2", "invalid_request parameter_repeated"],
    ["a=%", "invalid_request bad_percent_encoding"],
    ["a=%4", "invalid_request bad_percent_encoding"],
    ["a=%zz", "invalid_request bad_percent_encoding"],
    ["a=%ff", "invalid_request bad_percent_encoding"],
    ["a=%c0%80", "invalid_request bad_percent_encoding"],
    ["a=%00", "invalid_request nul_in_parameter"],
    ["%00=a", "invalid_request nul_in_parameter"],
    [`${"x&".repeat(201)}`, "invalid_request too_many_parameters"],
    [`${Array.from({ length: 1199 }, (_, i) => `p${i}=x`).join("&")}&grant_type=x`, "invalid_request too_many_parameters"],
  ] as const)("%s is refused", ([text, reason]) => {
    expect(reasonOf(() => parseForm(text))).toBe(reason);
  });

  test("resource and audience may be repeated, and empty values are dropped", () => {
    const form = parseForm("resource=a&resource=&resource=b&audience=c&audience=d");
    expect(form.all("resource")).toEqual(["a", "b"]);
    expect(form.all("audience")).toEqual(["c", "d"]);
  });

  test("parameters keep every occurrence in order", () => {
    expect([...parseParameters("a=1&b=&a=2")]).toEqual([
      ["a", ["1", "2"]],
      ["b", [""]],
    ]);
  });
});
