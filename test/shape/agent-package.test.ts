import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const source = join(import.meta.dirname, "../../agent-sdk/src");
const imports = readdirSync(source).flatMap((file) =>
  [...readFileSync(join(source, file), "utf8").matchAll(/\bfrom\s+"([^"]+)"|\bimport\(/g)].map(([, name = "import()"]) => ({ file, name })),
);

test("the agent library has no dependencies, and only its entry for platforms needs Node", () => {
  const foreign = imports.filter(({ name }) => !name.startsWith("./"));
  expect(foreign.map(({ file, name }) => `${file}: ${name}`).toSorted()).toEqual([
    "workload.ts: node:child_process",
    "workload.ts: node:fs/promises",
  ]);
  expect(imports.filter(({ name }) => name === "./workload.ts")).toEqual([]);
  const code = readdirSync(source).filter(
    (file) => file !== "workload.ts" && /\bBuffer\b|\bprocess\.\w/.test(readFileSync(join(source, file), "utf8")),
  );
  expect(code).toEqual([]);
});
