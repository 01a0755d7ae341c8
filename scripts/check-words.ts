/**
 * Fails where a word stands that docs/glossary.md replaces. Identifiers are read word by word, so that `openHearing` is found too.
 * Usage: node scripts/check-words.ts [path …]; without a path, CODE and DOCUMENTS.
 */
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "..");
const GLOSSARY = "docs/glossary.md";
const CODE = ["src", "admin", "console", "agent-sdk", "guard-sdk", "test"];
const DOCUMENTS = ["docs", "deploy/*.md", "examples/*.md", "README.md", "CONTRIBUTING.md", "SECURITY.md"];

/** The left column of the table below a heading, word by word. */
function wordsUnder(heading: string): readonly string[] {
  const section = readFileSync(join(root, GLOSSARY), "utf8").split(`### ${heading}\n`)[1]?.split("\n#")[0] ?? "";
  const rows = [...section.matchAll(/^\| ([^|]+) \|/gm)].map(([, cell]) => cell ?? "");
  const words = rows.filter((cell) => cell !== "not" && !cell.startsWith("---")).flatMap((cell) => cell.trim().split(", "));
  if (words.length === 0) throw new Error(`${GLOSSARY} has no words under "${heading}"`);
  return words;
}

const asPattern = (words: readonly string[]): RegExp => new RegExp(`(?<![a-z])(?:${words.join("|")})(?![a-z])`, "g");
const everywhere = asPattern(wordsUnder("Anywhere"));
const inCode = asPattern([...wordsUnder("Anywhere"), ...wordsUnder("In code and tests")]);

/** "openHearing" and "OPEN_HEARING" as "open hearing". */
const asWords = (line: string): string =>
  line
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replaceAll(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .replaceAll("_", " ");

const given = process.argv.slice(2);
const files = execFileSync(
  "git",
  ["ls-files", "--cached", "--others", "--exclude-standard", "--", ...(given.length > 0 ? given : [...CODE, ...DOCUMENTS])],
  {
    cwd: root,
    encoding: "utf8",
  },
)
  .split("\n")
  .filter((path) => /\.(?:tsx?|md|js|css|html)$/.test(path) && !/\/(?:gen|built)\//.test(path) && path !== GLOSSARY);

const found = files.flatMap((path) => {
  const pattern = CODE.some((room) => path.startsWith(`${room}/`)) ? inCode : everywhere;
  return readFileSync(join(root, path), "utf8")
    .split("\n")
    .flatMap((line, index) => [...new Set(asWords(line).match(pattern) ?? [])].map((word) => `${path}:${index + 1}: ${word}`));
});

if (found.length > 0) {
  console.error(`${found.join("\n")}\n\n${found.length} lines have words that ${GLOSSARY} replaces.`);
  process.exit(1);
}
