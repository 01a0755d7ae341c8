import { expect, test } from "vitest";
import { de } from "../../../console/src/texts/de.ts";
import { en } from "../../../console/src/texts/en.ts";
import { isolating } from "../../../console/src/texts/isolated.ts";
import { AUDIT_EVENTS } from "../../../src/audit.ts";

test("every event of the audit log is a sentence in each language", () => {
  for (const { audit } of [en, de]) expect(Object.keys(audit.did).toSorted()).toEqual([...AUDIT_EVENTS].toSorted());
});

test.for([
  ["Ada", "Cut the access of Ada"],
  ["Ada\u202eknaB", "Cut the access of \u2068Ada\u202eknaB\u2069"],
  ["\u05d0\u2069", "Cut the access of \u2068\u05d0\u2069"],
] as const)("the name %j leaves the order of its sentence alone", ([name, sentence]) => {
  expect(isolating(en).agents.cutOf(name)).toBe(sentence);
});
