import { execFileSync } from "node:child_process";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";

const root = join(import.meta.dirname, "../..");
const documents = [
  ...globSync("*.md", { cwd: root }),
  ...globSync("{docs,deploy,admin,agent-sdk,guard-sdk,examples}/**/*.md", { cwd: root }),
].filter((path) => !/node_modules|CHANGELOG|decisions/.test(path));

/** The words that may follow each command of the command line, by its path. */
function offeredWords(): ReadonlyMap<string, readonly string[]> {
  const args = ["--conditions=countersign", "src/main.ts", "completion", "bash"];
  const script = execFileSync(process.execPath, args, { cwd: root, encoding: "utf8" });
  return new Map([...script.matchAll(/^ {4}'([^']*)'\) offered='([^']*)'/gm)].map(([, path = "", words = ""]) => [path, words.split(" ")]));
}

/** What is wrong with the words after `countersign`; undefined if nothing is. */
function faultOf(words: readonly string[], offered: ReadonlyMap<string, readonly string[]>): string | undefined {
  let path = "";
  for (const word of words) {
    const known = offered.get(path) ?? [];
    const longer = path === "" ? word : `${path} ${word}`;
    if (offered.has(longer)) path = longer;
    else if (word.startsWith("--")) {
      if (!known.includes(word.split("=", 1)[0] ?? "")) return `${path} has no ${word}`;
    } else if (path === "" || known.some((each) => offered.has(`${path} ${each}`))) return `there is no ${longer}`;
  }
  return undefined;
}

test("every command of the command line in the documents exists, with its options", () => {
  const offered = offeredWords();
  expect(offered.size).toBeGreaterThan(50);
  const faults = documents.flatMap((path) =>
    [...readFileSync(join(root, path), "utf8").matchAll(/(?<=(?:^|[`(\s/])countersign )[a-z-][^\n`|#)…]*/gm)].flatMap(([text]) => {
      const fault = faultOf(
        text
          .replaceAll(/"[^"]*"|'[^']*'/g, "value")
          .split(/\s+/)
          .filter((word) => /^(?:--)?[a-z]/.test(word)),
        offered,
      );
      return fault === undefined ? [] : [`${path}: countersign ${text.trim()}: ${fault}`];
    }),
  );
  expect(faults).toEqual([]);
});

test("JSON in the documents parses, from the first line to the last", () => {
  const blocks = documents.flatMap((path) =>
    [...readFileSync(join(root, path), "utf8").matchAll(/^```json\n([\s\S]*?)^```$/gm)].map(([, text = ""]) => ({ path, text })),
  );
  expect(blocks.length).toBeGreaterThan(10);
  for (const { path, text } of blocks) expect(() => JSON.parse(text), `${path}: ${text}`).not.toThrow();
});

test("the tarballs in the documents have the version of the packages", () => {
  const { version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const names = documents.flatMap(
    (path) => readFileSync(join(root, path), "utf8").match(/countersign-(?:agent-|guard-|admin-)?\d[\w.]*\.tgz/g) ?? [],
  );
  expect(names.length).toBeGreaterThan(3);
  expect(names.filter((name) => !name.endsWith(`-${version}.tgz`))).toEqual([]);
});
