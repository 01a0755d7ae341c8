import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { settingsReference } from "../../scripts/settings-reference.ts";
import { SETTING_NAMES } from "../../src/config/settings.ts";

const committed = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");

test("docs/settings.md is what `npm run generate:docs` writes", () => {
  expect(committed).toBe(settingsReference());
});

test("it has one row for every setting", () => {
  const rows = [...committed.matchAll(/^\| `([A-Z_]+)` \|/gm)].map((match) => match[1]);
  expect(rows.sort()).toEqual([...SETTING_NAMES].sort());
});
