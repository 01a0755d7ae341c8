import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AUDIT_DESCRIPTIONS, eventsReference } from "../../scripts/events-reference.ts";
import { LOG_EVENTS } from "../../scripts/log-events.ts";
import { AUDIT_EVENTS } from "../../src/audit.ts";

const root = join(import.meta.dirname, "../..");
const source = globSync("src/**/*.ts", { cwd: root })
  .filter((path) => !path.startsWith("src/gen/"))
  .map((path) => readFileSync(join(root, path), "utf8"))
  .join("\n");

test("docs/events.md is the output of `npm run generate:docs`", () => {
  expect(readFileSync(join(root, "docs/events.md"), "utf8")).toBe(eventsReference());
});

test("docs/events.md describes every audit event, in the order of the catalogue", () => {
  expect(Object.keys(AUDIT_DESCRIPTIONS)).toEqual(AUDIT_EVENTS);
});

test("every event that the source logs is in the catalogue with its level, and the catalogue has no other", () => {
  const calls = [
    ...source.matchAll(
      /\blog\??\.(debug|info|warn|error)(?:\?\.)?\(\s*(?:[^",;()]+ \? "(\w+)" : |[^",;()]+ === "\w+" \? "(\w+)" : )?"(\w+)"/g,
    ),
  ].flatMap(([, level, ...events]) => events.filter((event) => event !== undefined).map((event) => `${event} ${level}`));
  expect(calls.length).toBeGreaterThan(20);
  expect([...new Set(calls)].filter((call) => `${call.split(" ")[0]} ${LOG_EVENTS[call.split(" ", 1)[0] ?? ""]?.level}` !== call)).toEqual(
    [],
  );
  expect(Object.keys(LOG_EVENTS).filter((event) => !source.includes(`"${event}"`))).toEqual([]);
});
