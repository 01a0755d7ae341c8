import { expect, test } from "vitest";
import { ScopeDescriptionInput } from "../../../src/management/record-inputs.ts";

const good = { name: "crm:read", title: { en: "Read customers" } };
const faultsOf = (value: object) =>
  ScopeDescriptionInput.safeParse({ ...good, ...value }).error?.issues.map(({ path }) => path.join(".")) ?? [];

test.for([
  ["one language is enough", {}, []],
  ["text is trimmed, and both languages are accepted", { title: { en: " Read ", de: "Lesen" }, detail: { de: "Alles." } }, []],
  ["no language", { title: {} }, ["title"]],
  ["another language", { title: { en: "Read", fr: "Lire" } }, ["title"]],
  ["blank", { title: { en: "  " } }, ["title.en"]],
  ["a title of 81 characters", { title: { en: "x".repeat(81) } }, ["title.en"]],
  ["a detail of 301 characters", { detail: { en: "x".repeat(301) } }, ["detail.en"]],
  ["a line break", { detail: { en: "Safe.\nReally." } }, ["detail.en"]],
  ["a bidirectional override", { title: { de: "\u202eneseL" } }, ["title.de"]],
  ["an invisible character", { title: { de: "Le\u200bsen" } }, ["title.de"]],
  ["a lone surrogate", { title: { de: "\ud800" } }, ["title.de"]],
  ["a name that is not a scope", { name: "crm read" }, ["name"]],
  ["an unknown member", { titel: {} }, [""]],
] as const)("%s", ([, value, faults]) => {
  expect(faultsOf(value)).toEqual(faults);
});

test("an omitted detail is empty, and text is trimmed", () => {
  expect(ScopeDescriptionInput.parse({ ...good, title: { en: " Read " } })).toEqual({
    name: "crm:read",
    title: { en: "Read" },
    detail: {},
  });
});
