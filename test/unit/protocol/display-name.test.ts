import { expect, test } from "vitest";
import { displayNameFault, keptName } from "../../../src/protocol/display-name.ts";

test.for([
  ["Notes", undefined],
  ["ノート ‍", undefined],
  ["x".repeat(255), undefined],
  ["🦊".repeat(255), undefined],
  ["🦊".repeat(256), "must have a length of at most 255"],
  ["x".repeat(256), "must have a length of at most 255"],
  ["", "must not be empty"],
  [" \u00a0\u200b\u2060", "must not be blank"],
  ["\u2800", "must not be blank"],
  ["\u3164\u{e000}\u00ad", "must not be blank"],
  ["a\u202eb", "must not contain control or bidirectional characters"],
  ["a\nb", "must not contain control or bidirectional characters"],
  ["a\u0000b", "must not contain control or bidirectional characters"],
  ["a\u2028b", "must not contain control or bidirectional characters"],
  ["a\ud800b", "contains a character that cannot be stored"],
] as const)("the fault of the display name %j", ([name, fault]) => {
  expect(displayNameFault(name)).toBe(fault);
});

test.for([
  [" Ada\u0000 ", "Ada"],
  ["می\u200cخواهم", "می\u200cخواهم"],
  ["\u202e\u2066", ""],
  ["\u200b\u2800", ""],
  ["🦊".repeat(12), "🦊".repeat(10)],
  [`${"\u200b".repeat(10)}Ada`, "Ada"],
  ["Ada\u{e0041}\u{e0042}", "Ada"],
  [" 123456789 x", "123456789"],
  ["a\ud800", "a\ufffd"],
] as const)("of the name %j of a provider or a passkey, %j is kept", ([name, kept]) => {
  expect(keptName(name, 10)).toBe(kept);
});
