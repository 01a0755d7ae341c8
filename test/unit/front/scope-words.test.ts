import { expect, test } from "vitest";
import { BUILT_IN_SCOPES, type ScopeDescription } from "../../../src/accounts/account.ts";
import { scopeWords } from "../../../src/front/pages/views/words.ts";
import { LANGUAGES } from "../../../src/texts/languages.ts";

const described = (...scopes: ScopeDescription[]) => new Map(scopes.map((scope) => [scope.name, scope]));
const own = described(
  { name: "crm:read", title: { en: "Read customers", de: "Kunden lesen" }, detail: { en: "Names." } },
  { name: "openid", title: { de: "Sie erkennen" }, detail: {} },
);

test.for([
  ["en", "crm:read", "Read customers", "Names.", undefined, undefined],
  ["de", "crm:read", "Kunden lesen", "Names.", undefined, "en"],
  ["de", "openid", "Sie erkennen", "", undefined, undefined],
  ["en", "openid", "Sie erkennen", "", "de", undefined],
  ["en", "profile", "See your name", "Your first and last name, if you gave them.", undefined, undefined],
  ["de", "crm:write", "crm:write", "Eine Berechtigung bei crm.example und api.example/v1.", undefined, undefined],
] as const)("in %s, the scope %s is shown as %s: %s", ([language, scope, title, detail, titleIn, detailIn]) => {
  expect(scopeWords(language, scope, own, ["crm.example", "api.example/v1"])).toEqual({ title, detail, titleIn, detailIn });
});

test("an undescribed scope without a resource is a permission of the client itself", () => {
  expect(scopeWords("en", "crm:write", new Map())).toMatchObject({ title: "crm:write", detail: "A permission of the application itself." });
});

test("the built-in scopes are described in all languages", () => {
  for (const { title, detail } of BUILT_IN_SCOPES)
    for (const language of LANGUAGES) expect([title[language], detail[language]]).not.toContain(undefined);
});
