import { expect, test } from "vitest";
import { asksForSigned } from "../../../src/protocol/introspection-answer.ts";

test.for([
  [undefined, false],
  ["application/json", false],
  ["*/*", false],
  ["application/*", false],
  ["application/token-introspection+jwt", true],
  ["Application/Token-Introspection+JWT", true],
  ["application/json;q=0.5, application/token-introspection+jwt;q=0.9", true],
  ["application/token-introspection+jwt;q=0", false],
  ["application/token-introspection+jwt; q=0.0, */*", false],
  ["application/token-introspection+jwt-not", false],
] as const)("Accept: %s asks for a signed answer: %s", ([accept, asks]) => {
  expect(asksForSigned(accept)).toBe(asks);
});
