import { readFileSync } from "node:fs";
import { join } from "node:path";

const root = join(import.meta.dirname, "../..");

export interface Block {
  readonly language: string;
  /** The file that its first line names. */
  readonly name: string | undefined;
  readonly code: string;
  /** The heading that it stands under, as in a link: "from-a-checkout". */
  readonly section: string;
}

const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\w\- ]/g, "")
    .replaceAll(" ", "-");

/** The fenced blocks of a document, in their order; their first line may name a file: `# server.py`, `// server.ts`. */
export function blocksOf(path: string): readonly Block[] {
  const text = readFileSync(join(root, path), "utf8");
  const parts = /^#+ (?<heading>.+)$|^```(?<language>\w+)\n(?:(?:#|\/\/) (?<name>[\w./-]+\.\w+)\n)?(?<code>[\s\S]*?)^```$/gm;
  const blocks: Block[] = [];
  let section = "";
  for (const { groups = {} } of text.matchAll(parts)) {
    const { heading, language, name, code } = groups;
    if (heading !== undefined) section = anchorOf(heading);
    else blocks.push({ language: language ?? "", name, code: code ?? "", section });
  }
  return blocks;
}

/**
 * The commands of a section, line by line with continued lines joined, without remarks.
 * @param replacements what is different in a test, such as ports; each must occur
 * @throws {Error} for a replacement that does not occur
 */
export function commandsOf(path: string, section: string, replacements: Readonly<Record<string, string>> = {}): readonly string[] {
  const found = blocksOf(path).filter((block) => block.language === "sh" && block.section === section);
  const text = filled(found.map(({ code }) => code).join(""), replacements);
  return text
    .replaceAll(/\\\n\s*/g, " ")
    .replaceAll(/\|\n\s*/g, "| ")
    .split("\n")
    .map((line) => line.replace(/(?:^|\s+)# .*$/, "").trim())
    .filter((line) => line !== "");
}

/** A text with every replacement made. @throws {Error} for one that does not occur */
export function filled(text: string, replacements: Readonly<Record<string, string>>): string {
  return Object.entries(replacements).reduce((result, [from, to]) => {
    if (!result.includes(from)) throw new Error(`${from} does not occur in: ${text}`);
    return result.replaceAll(from, to);
  }, text);
}
