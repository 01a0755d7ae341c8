import { expect, test } from "vitest";
import { ScopeDescriptionInput } from "../../../src/management/scope-inputs.ts";

const good = { name: "crm:read", title: { en: "Read customers" } };
const faultsOf = (value: object) =>
  ScopeDescriptionInput.safeParse({ ...good, ...value }).error?.issues.map(({ path }) => path.join(".")) ?? [];

test.for([
  ["one language is enough", {}, []],
  ["words are trimmed, and both languages may be there", { title: { en: " Read ", de: "Lesen" }, detail: { de: "Alles." } }, []],
  ["no language", { title: {} }, ["title"]],
  ["another language", { title: { en: "Read", fr: "Lire" } }, ["title"]],
  ["blank", { title: { en: "  " } }, ["title.en"]],
  ["80 characters at most in a title", { title: { en: "x".repeat(81) } }, ["title.en"]],
  ["300 at most in a detail", { detail: { en: "x".repeat(301) } }, ["detail.en"]],
  ["a line break", { detail: { en: "Safe.\nReally." } }, ["detail.en"]],
  ["a turned direction", { title: { de: "\u202eneseL" } }, ["title.de"]],
  ["an invisible character", { title: { de: "Le\u200bsen" } }, ["title.de"]],
  ["half a character", { title: { de: "\ud800" } }, ["title.de"]],
  ["no scope token", { name: "crm read" }, ["name"]],
  ["a member that is unknown", { titel: {} }, [""]],
] as const)("%s", ([, value, faults]) => {
  expect(faultsOf(value)).toEqual(faults);
});

test("what is left out of a detail is nothing, and words are kept without the spaces around them", () => {
  expect(ScopeDescriptionInput.parse({ ...good, title: { en: " Read " } })).toEqual({
    name: "crm:read",
    title: { en: "Read" },
    detail: {},
  });
});
