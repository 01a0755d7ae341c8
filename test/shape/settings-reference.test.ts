import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { settingsReference } from "../../scripts/settings-reference.ts";
import { SETTING_NAMES } from "../../src/config/settings.ts";
import { unknownSettings } from "../../src/config/unknown-settings.ts";

const committed = readFileSync(new URL("../../docs/settings.md", import.meta.url), "utf8");

test("docs/settings.md is the output of `npm run generate:docs`", () => {
  expect(committed).toBe(settingsReference());
});

test("docs/settings.md has one row for every setting", () => {
  const rows = [...committed.matchAll(/^\| `([A-Z_]+)` \|/gm)].map((match) => match[1]);
  expect(rows.sort()).toEqual([...SETTING_NAMES].sort());
});

test("no setting in the examples is rejected by the server as unknown", () => {
  const examples = join(import.meta.dirname, "../../examples");
  const files = readdirSync(examples, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes("node_modules"))
    .map((entry) => join(entry.parentPath, entry.name));
  const names = new Set(
    files.flatMap((file) => readFileSync(file, "utf8").match(/\b[A-Z][A-Z0-9_]+(?==)|\b[A-Z][A-Z0-9]*_[A-Z0-9_]+\b/g) ?? []),
  );
  expect([...names]).toEqual(expect.arrayContaining(["GRPC_ADDRESS", "GRPC_PLAINTEXT", "RESOURCE", "CLIENT_SECRET"]));
  expect(unknownSettings([...names])).toEqual([]);
});
