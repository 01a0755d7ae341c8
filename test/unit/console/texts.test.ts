import { expect, test } from "vitest";
import { de } from "../../../console/src/texts/de.ts";
import { en } from "../../../console/src/texts/en.ts";
import { isolating } from "../../../console/src/texts/isolated.ts";
import { AUDIT_EVENTS } from "../../../src/audit.ts";
import { shownSettings } from "../../../src/config/settings.ts";
import { CATALOGUE } from "../../../src/errors.ts";

test("every event of the audit log is a sentence in each language", () => {
  for (const { audit } of [en, de]) expect(Object.keys(audit.did).toSorted()).toEqual([...AUDIT_EVENTS].toSorted());
});

test("what the server states in English has a German text: sections of settings, what is in force without them, refusals", () => {
  const settings = shownSettings(new Map());
  const withUnset = settings.filter(({ unset }) => unset !== null).map(({ name }) => name);
  expect(Object.keys(de.settings.unset).toSorted()).toEqual(withUnset.toSorted());
  expect(Object.keys(de.settings.groups)).toEqual([...new Set(settings.map(({ group }) => group))]);
  expect(Object.keys(CATALOGUE)).toEqual(expect.arrayContaining(Object.keys(de.failure.codes)));
});

test.for([
  ["Ada", "Cut the access of Ada"],
  ["Ada\u202eknaB", "Cut the access of \u2068Ada\u202eknaB\u2069"],
  ["\u05d0\u2069", "Cut the access of \u2068\u05d0\u2069"],
] as const)("the name %j leaves the order of its sentence alone", ([name, sentence]) => {
  expect(isolating(en).agents.cutOf(name)).toBe(sentence);
});
